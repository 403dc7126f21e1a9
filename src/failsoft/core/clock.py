"""Time, handed in: durations are monotonic, wall time is for display and shared stores."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What the runtime needs of time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait, cancellable."""
        ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
    sleep = staticmethod(asyncio.sleep)

    def __repr__(self) -> str:
        return "SystemClock()"
