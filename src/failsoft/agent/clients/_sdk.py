"""What the clients on official SDKs share: loading the SDK, one SDK client per event loop, reading its answers."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from failsoft.classify import classify_response
from failsoft.core.errors import ModelError, UsageError
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "PerLoop",
    "answer_body",
    "broken_streams",
    "cut_answer",
    "load",
    "ready_made",
    "unreadable_answer",
]


def load(module: str, extra: str) -> Any:
    """An optional package, imported when it is first needed.

    Raises:
        UsageError: It is not installed; the message says which extra brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise UsageError(f"{module} is not installed\n\nhint: pip install 'failsoft[{extra}]'") from exc


# Besides, an SDK that is too old to know a parameter does not refuse it there.
_AS_THEY_ARE = ("tools", "system", "instructions", "cache_control")
# None of the SDKs' own errors is one of these: they come from putting together events that do not fit.
_STUMBLES = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError)


def ready_made(parameters: Mapping[str, Any], empty: str) -> dict[str, Any]:
    """The parameters for `create`, with conversation and tools handed over as they are, by `extra_body`.

    They are in the provider's shapes already. The SDKs translate Python names in them one by one, which is nine tenths
    of the time of a turn at 130 messages (29 of 32 ms; `bench/agent.py`), and changes nothing.

    Args:
        parameters: All of them.
        empty: Name of the required parameter that holds the conversation.
    """
    body = {name: parameters[name] for name in (empty, *_AS_THEY_ARE) if name in parameters}
    kept = {name: value for name, value in parameters.items() if name not in body}
    return {**kept, empty: [], "extra_body": {**body, **kept.get("extra_body", {})}}


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


def answer_body(response: Any) -> dict[str, Any]:
    """The body of a response that the SDK took for a success, exactly as it was sent.

    Raises:
        AgentError: It is no JSON object, or it is an error behind a good status.
    """
    try:
        found = json.loads(response.content)
    except ValueError as exc:
        raise unreadable_answer() from exc
    if not isinstance(found, dict):
        raise unreadable_answer()
    if found.get("error"):
        error = classify_response(response.status_code, response.headers, found, method="POST")
        if error is not None:
            raise error
    return found


def unreadable_answer(detail: str = "") -> ModelError:
    """The model's endpoint answered something that is no answer."""
    return ModelError(
        f"The model's endpoint gave an answer that cannot be read. {detail}".strip(),
        reason="malformed_answer",
        retryable=True,
        effect=Effect.NONE,
    )


@contextmanager
def broken_streams() -> Iterator[None]:
    """What the SDKs let through of a stream that is none: unreadable events, or no events at all.

    Raises:
        ModelError: Instead of theirs; asking again may help.
    """
    try:
        yield
    except _STUMBLES as exc:
        if "authentication" in str(exc):
            raise
        raise unreadable_answer() from exc


def cut_answer() -> ModelError:
    """A stream ended before the answer did."""
    return ModelError(
        "The model's answer broke off.", reason="stream_cut", retryable=True, effect=Effect.NONE
    )
