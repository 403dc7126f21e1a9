"""Synchronous hooks (approvals, checks of doubts, fallback functions) in threads of their own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]


async def in_thread(hook: Callable[..., Any], /, *args: Any, **values: Any) -> Any:
    """What a synchronous hook answers; context variables are carried.

    A daemon thread for each call and not `asyncio.to_thread`: its few threads are shared with the whole program, so that
    some people who take their time would hold up everybody, and a hook that never answers would hold up the exit.

    Raises:
        BaseException: What the hook raised; the caller's cancel, which leaves the thread to itself.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(value: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((value, error))

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(hook, *args, **values)
        except BaseException as exc:
            error = exc
        try:
            loop.call_soon_threadsafe(deliver, value, error)
        except RuntimeError:
            pass  # its loop is closed: nobody waits there any more

    threading.Thread(target=work, name="failsoft-hook", daemon=True).start()
    value, error = await ended
    if error is not None:
        raise error
    return value
