"""Cases timed in turns, so that a slow moment hits all alike, in the processor time of the thread."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import statistics
import time
import timeit
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RNG", "Suite", "async_loop", "nop", "sync_loop"]

TARGET_NS = 2_000_000
RNG = random.Random(1)


def nop() -> None:
    """What is protected."""


def sync_loop(stmt: str, **names: Any) -> Callable[[int], int]:
    """Nanoseconds of `n` runs of a statement."""
    timer = timeit.Timer(stmt, timer=time.thread_time_ns, globals={"nop": nop, **names})
    return lambda n: int(timer.timeit(n))


def async_loop(factory: Callable[[], Any]) -> Callable[[int], int]:
    """Nanoseconds of `n` awaits, on a loop that is already running."""

    async def run(n: int) -> int:
        began = time.thread_time_ns()
        for _ in itertools.repeat(None, n):
            await factory()
        return time.thread_time_ns() - began

    runner = asyncio.Runner()
    return lambda n: runner.run(run(n))


class Suite:
    """Cases of one table, timed in turns; ratios are to the case named `floor`."""

    def __init__(self, title: str, floor: str) -> None:
        self.title, self.floor = title, floor
        self.cases: dict[str, tuple[Callable[[int], int], int]] = {}

    def add(self, name: str, loop: Callable[[int], int]) -> None:
        """Add a case and find out how many runs fill the time."""
        n = 1
        while loop(n) < TARGET_NS / 2:
            n *= 2
        self.cases[name] = (loop, n)

    def run(self, rounds: int) -> list[dict[str, Any]]:
        """The medians of every case."""
        took: dict[str, list[float]] = {name: [] for name in self.cases}
        gc.collect()
        gc.disable()
        for _ in range(rounds):
            for name in random.sample(list(self.cases), len(self.cases)):
                loop, n = self.cases[name]
                took[name].append(loop(n) / n)
        gc.enable()
        floor = took.get(self.floor) or took[next(iter(took))]
        return [
            {
                "table": self.title,
                "case": name,
                "ns": round(statistics.median(times), 1),
                "ratio": round(statistics.median(a / b for a, b in zip(times, floor, strict=True)), 3),
                "floor": self.floor,
            }
            for name, times in took.items()
        ]
