"""What the clients on official SDKs share: loading the SDK, one SDK client per event loop, reading its answers."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from failsoft.core.errors import ModelError, UsageError
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PerLoop", "cut_answer", "load", "loads", "unreadable_answer"]


def load(module: str, extra: str) -> Any:
    """An optional package, imported when it is first needed.

    Raises:
        UsageError: It is not installed; the message says which extra brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise UsageError(f"{module} is not installed\n\nhint: pip install 'failsoft[{extra}]'") from exc


class PerLoop:
    """One SDK client per event loop: its connections belong to the loop that they were opened on.

    Args:
        make: Makes an SDK client.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self) -> Any:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            found = self._clients.get(loop)
        if found is None:
            found = self._make()  # outside of the lock: it reads files and may take a while
            with self._lock:
                found = self._clients.setdefault(loop, found)
        return found

    async def aclose(self) -> None:
        """Close the running loop's client."""
        with self._lock:
            found = self._clients.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found.close()


def loads(body: bytes) -> dict[str, Any]:
    """A response body as the object that it must be.

    Raises:
        ModelError: It is none; asking again may help.
    """
    try:
        found = json.loads(body)
    except ValueError as exc:
        raise unreadable_answer() from exc
    if not isinstance(found, dict):
        raise unreadable_answer()
    return found


def unreadable_answer(detail: str = "") -> ModelError:
    """The model's endpoint answered something that is no answer."""
    return ModelError(
        f"The model's endpoint gave an answer that cannot be read. {detail}".strip(),
        reason="malformed_answer",
        retryable=True,
        effect=Effect.NONE,
    )


def cut_answer() -> ModelError:
    """A stream ended before the answer did."""
    return ModelError(
        "The model's answer broke off.", reason="stream_cut", retryable=True, effect=Effect.NONE
    )
