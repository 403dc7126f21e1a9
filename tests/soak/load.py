"""Many calls, a fifth of which hang and a twentieth of which crash, at a steady pace."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failsoft import Harness, Policy
from tests.soak.census import Census, take
from tests.soak.tools import TOOLS

__all__ = ["Answer", "Soak", "soak"]

_AT_ONCE = 64
_HANGS, _CRASHES = 0.20, 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call was, and what its caller was told."""

    n: int
    tool: str
    how: str
    ok: bool
    kind: str
    reason: str
    effect: str


@dataclass
class Soak:
    """What came of it."""

    asked: int
    answers: dict[int, Answer] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)
    counts: list[Census] = field(default_factory=list)
    before: Census | None = None
    after: Census | None = None
    took_s: float = 0.0

    def outcomes(self) -> dict[str, int]:
        """How often what was answered."""
        return dict(Counter(each.kind or "ok" for each in self.answers.values()).most_common())


async def soak(folder: Path, *, calls: int, seconds: float, seed: int, say: Callable[[str], object]) -> Soak:
    """Run it; the folder gets the ledger and the file of effects."""
    (folder / "world").touch()
    result = Soak(asked=calls)
    await asyncio.to_thread(int)  # the event loop's own pool, which is no part of what is counted
    gc.collect()
    result.before = take(0)
    harness = Harness(
        [each for each, _ in TOOLS],
        policy=Policy(retry=None, breaker=None),
        store=f"sqlite:///{folder}/ledger.db",
        name="soak",
        config=None,
    )
    async with harness:
        for runner in harness._runners.processes.values():
            await runner.warm()
        began = time.monotonic()
        counting = asyncio.create_task(_count(harness, result, began, seconds, say))
        await _ask_all(harness, result, folder, began, seconds, random.Random(seed))
        end = time.monotonic() + 10
        while harness.stats().zombies and time.monotonic() < end:
            await asyncio.sleep(0.05)
        result.took_s = time.monotonic() - began
        counting.cancel()
    gc.collect()
    await asyncio.sleep(0.2)
    result.after = take(result.took_s)
    return result


async def _ask_all(
    harness: Harness, result: Soak, folder: Path, began: float, seconds: float, rng: random.Random
) -> None:
    names = [each.name for each, share in TOOLS for _ in range(share)]
    places = asyncio.Semaphore(_AT_ONCE)
    tasks: set[asyncio.Task[None]] = set()

    async def ask(n: int, name: str, how: str) -> None:
        try:
            answer = await harness.call(
                name, {"n": n, "how": how, "world": str(folder / "world")}, id=str(n), run="soak"
            )
            error = answer.error
            told = ("", "", "") if error is None else (str(error.kind), error.reason, str(error.effect))
            result.answers[n] = Answer(n, name, how, answer.ok, *told)
        except Exception as exc:
            result.raised.append(f"{n} {name} {how}: {exc!r}")
        finally:
            places.release()

    for n in range(result.asked):
        await places.acquire()
        await asyncio.sleep(max(0.0, began + seconds * n / result.asked - time.monotonic()))
        task = asyncio.create_task(ask(n, rng.choice(names), _how(rng)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    while tasks:
        await asyncio.wait(tasks)


def _how(rng: random.Random) -> str:
    drawn = rng.random()
    if drawn < _HANGS:
        return rng.choice(["hang", "hang_late"])
    if drawn < _HANGS + _CRASHES:
        return rng.choice(["crash", "crash_late"])
    return "work"


async def _count(
    harness: Harness, result: Soak, began: float, seconds: float, say: Callable[[str], object]
) -> Any:
    every_s = max(0.25, seconds / 120)
    for number in itertools.count(1):
        await asyncio.sleep(max(0.0, began + number * every_s - time.monotonic()))
        stats = harness.stats()
        now = take(
            time.monotonic() - began,
            zombies=stats.zombies,
            in_flight=stats.in_flight,
            answered=len(result.answers),
        )
        result.counts.append(now)
        if number % 10 == 0:
            say(
                f"{now.at_s:6.0f} s  {now.answered}/{result.asked} answered  {now.processes} processes  "
                f"{now.threads} threads  {now.descriptors} descriptors  {now.memory_mb:.0f} MB  {now.zombies} zombies"
            )
