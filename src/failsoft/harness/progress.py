"""Progress on its way to the listener: on the loop of the call, and never able to break it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.calls import Progress
    from failsoft.harness.live import LiveCall

__all__ = ["delivered_in_loop"]


def delivered_in_loop(call: LiveCall, listener: Callable[[Progress], object]) -> Callable[[Progress], object]:
    """The listener, called on the loop of the call whatever thread reports, and never able to break it."""
    loop = asyncio.get_running_loop()

    def safe(step: Progress) -> None:
        try:
            listener(step)
        except Exception as exc:
            call.shared.log_once(
                ("progress", call.name), "the progress listener of %s raised %r", call.name, exc
            )

    def deliver(step: Progress) -> None:
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is loop:
            safe(step)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(safe, step)

    return deliver
