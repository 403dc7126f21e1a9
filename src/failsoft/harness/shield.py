"""Waiting that a cancel must not cut short: for settling, and never longer than the grace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["shielded"]

T = TypeVar("T")


async def shielded(work: Coroutine[Any, Any, T], grace_s: float) -> T:
    """Finish `work` although the caller is cancelled meanwhile; the cancel is passed on afterwards.

    Raises:
        asyncio.CancelledError: The caller's cancel, once `work` has ended or `grace_s` seconds are over.
        TimeoutError: `work` did not end within `grace_s` seconds; it goes on in the background.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    end = loop.time() + grace_s
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        left = end - loop.time()
        if left <= 0:
            break
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as exc:
            cancelled = exc
    if not task.done():
        task.add_done_callback(_observe)
    if cancelled is not None:
        if task.done():
            _observe(task)
        raise cancelled
    if not task.done():
        raise TimeoutError(f"not settled within {grace_s} s")
    return task.result()


def _observe(task: asyncio.Future[Any]) -> None:
    """Take the exception of work that nobody waits for, so that it is not reported as never retrieved."""
    if not task.cancelled():
        task.exception()
