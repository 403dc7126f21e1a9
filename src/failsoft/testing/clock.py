"""Virtual time: an event loop that jumps to its next timer instead of waiting for it.

An hour of back-off passes in a millisecond, and every wait is exact.
Not for tests with real threads or processes: the loop jumps over the time they would need.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["VirtualClock", "VirtualLoop", "run_virtual"]

T = TypeVar("T")


class VirtualClock:
    """A clock that stands still until its loop jumps or a test advances it.

    Args:
        start: Monotonic seconds at the beginning.
        wall: Wall time in seconds since the epoch at the beginning.
    """

    def __init__(self, start: float = 1000.0, wall: float = 1_800_000_000.0) -> None:
        self._now = start
        self._offset = wall - start
        self.is_virtual = (
            False  # until a loop jumps with it: a clock moved by hand waits for threads and disks
        )

    def monotonic(self) -> float:
        """Virtual seconds."""
        return self._now

    def wall(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop; a jump on a `VirtualLoop`."""
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Move time forward by hand.

        Raises:
            ValueError: If `seconds` is negative: monotonic time never goes back.
        """
        if seconds < 0:
            raise ValueError(f"monotonic time cannot go back, got {seconds!r} s")
        self._now += seconds


class _JumpingSelector(selectors.DefaultSelector):
    """Looks for I/O without waiting; where there is none, time jumps to the next timer."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:  # no timer at all: only something outside can go on
            waited: list[tuple[selectors.SelectorKey, int]] = super().select(None)
            return waited
        self._clock.advance(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a `VirtualClock`."""

    is_virtual = True

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_JumpingSelector(clock))
        clock.is_virtual = True
        self._virtual = clock

    def time(self) -> float:
        """Virtual seconds."""
        return self._virtual.monotonic()


def run_virtual(main: Callable[[VirtualClock], Coroutine[Any, Any, T]]) -> T:
    """Run `main(clock)` to its end in virtual time and return its value.

    Give the same clock to the harness: `Harness(tools, clock=clock, store="memory")`, with async tools. A store on disk
    is refused there, and tools in threads or processes are warned of: time would run away from them.
    """
    clock = VirtualClock()
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main(clock))
