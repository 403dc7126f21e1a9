"""Ctrl-C and SIGTERM, for programs whose main task works through a harness.

once    no new calls; running ones get the grace, then are stopped and settled; then the block is cancelled
twice   the block is cancelled now
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from failsoft.harness.harness import Harness

__all__ = ["graceful"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def graceful(harness: Harness) -> AsyncIterator[None]:
    """Within the block, the first Ctrl-C or SIGTERM ends the harness in order, the second at once.

    Does nothing outside of the main thread and on Windows, where an event loop takes no signals.

    Raises:
        KeyboardInterrupt: The block was cancelled by a signal.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stopping: list[asyncio.Task[None]] = []
    cancels = 0

    def cancel() -> None:
        nonlocal cancels
        if not cancels:
            cancels = 1
            task.cancel()

    async def stop() -> None:
        await harness.stop()
        cancel()

    def on_signal() -> None:
        if stopping:
            cancel()
        else:
            stopping.append(loop.create_task(stop()))

    handled = [number for number in _SIGNALS if _handle(loop, number, on_signal)]
    try:
        yield
    except asyncio.CancelledError as exc:
        if cancels and task.uncancel() == 0:
            raise KeyboardInterrupt from exc
        raise
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
        for each in stopping:
            each.cancel()


def _handle(loop: asyncio.AbstractEventLoop, number: int, fn: object) -> bool:
    try:
        loop.add_signal_handler(number, fn)  # type: ignore[arg-type]
    except (NotImplementedError, RuntimeError, ValueError):
        return False
    return True
