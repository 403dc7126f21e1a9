"""The door for synchronous code: one background loop in a daemon thread, shared by every harness of the process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["background_loop", "run_sync"]

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop behind the synchronous door; started when first asked for."""
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            started = threading.Event()
            loop = asyncio.new_event_loop()

            def serve() -> None:
                asyncio.set_event_loop(loop)
                loop.call_soon(started.set)
                loop.run_forever()

            threading.Thread(target=serve, name="failsoft-loop", daemon=True).start()
            started.wait()
            _loop = loop
        return _loop


def run_sync(
    work: Callable[[], Coroutine[Any, Any, T]],
    *,
    loop: asyncio.AbstractEventLoop | None = None,
    grace_s: float = 1.0,
) -> T:
    """Run a coroutine on the background loop, or on `loop`, and wait for its value.

    Context variables of the caller are carried. On Ctrl-C the work is cancelled and gets `grace_s` seconds to settle.

    Raises:
        UsageError: Called on the thread of the very loop that would have to do the work: waiting would stop it for ever.
    """
    target = background_loop() if loop is None else loop
    try:
        running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is target:
        raise UsageError(
            "the synchronous door was used on the thread of its own event loop, which would wait for itself for ever\n\n"
            "hint: in async code write `await harness.call(...)` instead of `harness.call_sync(...)`"
        )
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    tasks: list[asyncio.Task[None]] = []

    async def deliver() -> None:
        try:
            outcome.set_result(await work())
        except BaseException as exc:
            outcome.set_exception(exc)

    def begin() -> None:
        tasks.append(target.create_task(deliver()))

    target.call_soon_threadsafe(begin, context=contextvars.copy_context())
    try:
        return outcome.result()
    except KeyboardInterrupt:
        target.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        concurrent.futures.wait([outcome], timeout=grace_s)
        raise
