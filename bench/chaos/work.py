"""One unit of the suite: one system with one seed, all tasks at all rates.

Three short cuts leave the figures as they are: a task that meets neither a fault nor a spoiled call is run once for all
seeds; a run holds for all rates at which everything that it asked of the schedule would have been answered the same; and
the bold planner's run is the careful one's unless it came to where the two part.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.chaos import systems
from bench.chaos.faults import Schedule, Transport
from bench.chaos.judge import Score, Witness, judged
from bench.chaos.planner import Planner
from bench.chaos.world import load_worlds
from failsoft.testing.clock import VirtualClock, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from bench.chaos.world import Task, World

__all__ = ["PLANNERS", "Bench"]

PLANNERS = ("careful", "bold")
# What still runs when a task has ended comes to its end before its world is judged.
SETTLE_S = 120


class InlineLoop(VirtualLoop):
    """Runs at once what would go to a thread: a loop that jumps over time cannot wait for threads."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """A future that is done already."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as exc:
            future.set_exception(exc)
        return future


class Bench:
    """The tasks, and the systems that they are run through, in one process.

    Args:
        limit: Only every so many-th task; None for all.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._worlds = load_worlds()
        found = [(world, task) for world in self._worlds for task in world.tasks()]
        self.tasks = found if limit is None else found[:: max(1, len(found) // limit)][:limit]
        self.systems: dict[str, ModuleType] = {}
        self._faultless: dict[tuple[str, str, str], Score] = {}
        self._prepared: dict[tuple[str, str], Any] = {}

    def unit(self, name: str, seed: int, rates: tuple[int, ...], planners: tuple[str, ...]) -> dict[str, Any]:
        """Scores of one system with one seed, by planner and rate."""
        if name not in self.systems:
            self.systems[name] = importlib.import_module(f"{systems.__name__}.{name}")
        system = self.systems[name]
        scores = {planner: {str(rate): Score() for rate in rates} for planner in planners}
        clock = VirtualClock()
        with asyncio.Runner(loop_factory=lambda: InlineLoop(clock)) as runner:
            for world, task in self.tasks:
                found: list[tuple[str, Score]] = []
                same_up_to = -1.0
                for rate in sorted(rates):
                    if rate / 100 > same_up_to:
                        schedule = Schedule(rate / 100, seed, task.id)
                        found = self._both(runner, system, world, task, schedule, planners, clock)
                        same_up_to = schedule.same_up_to
                    for planner, score in found:
                        for miss in score.misses:
                            miss.update(seed=seed, rate=rate)
                        scores[planner][str(rate)].add(score)
                    found = [(planner, _again(score)) for planner, score in found]
        return {
            planner: {rate: asdict(score) for rate, score in by_rate.items()}
            for planner, by_rate in scores.items()
        }

    def _both(
        self,
        runner: asyncio.Runner,
        system: ModuleType,
        world: World,
        task: Task,
        schedule: Schedule,
        planners: tuple[str, ...],
        clock: VirtualClock,
    ) -> list[tuple[str, Score]]:
        """One task at one rate with each planner."""
        is_quiet = _meets_nothing(task, schedule)
        found: list[tuple[str, Score]] = []
        same: Score | None = None
        for planner in planners:
            kept = (system.__name__, task.id, planner)
            if is_quiet and kept in self._faultless:
                found.append((planner, _again(self._faultless[kept])))
                continue
            if same is not None:
                score = same
            else:
                score, was_puzzled = self._timed(runner, system, world, task, schedule, planner, clock)
                same = None if was_puzzled else _again(score)
            found.append((planner, score))
            if is_quiet:
                self._faultless[kept] = _again(score)
        return found

    def _timed(
        self,
        runner: asyncio.Runner,
        system: ModuleType,
        world: World,
        task: Task,
        schedule: Schedule,
        planner: str,
        clock: VirtualClock,
    ) -> tuple[Score, bool]:
        random.seed(schedule.key)  # the systems' jitter
        began, at = time.process_time(), clock.monotonic()
        score, was_puzzled = runner.run(self._run(system, world, task, schedule, planner == "bold", clock))
        score.virtual_s = clock.monotonic() - at - SETTLE_S
        score.cpu_s, score.runs = time.process_time() - began, 1
        return score, was_puzzled

    async def _run(
        self,
        system: ModuleType,
        world: World,
        task: Task,
        schedule: Schedule,
        is_bold: bool,
        clock: VirtualClock,
    ) -> tuple[Score, bool]:
        """One task through one system, in a world that begins afresh."""
        world.restart()
        transport = world.transport = Transport(world, schedule, clock.monotonic)
        witness = Witness(world)
        call = await system.build(self._given(system, world), clock)
        planner = Planner(
            call,
            bold=is_bold,
            garbled=schedule.garbled,
            secret=schedule.secret,
            hear=witness.hear,
        )
        beliefs = await planner.do(task)
        await asyncio.sleep(SETTLE_S)
        score = judged(task, world, beliefs, planner, witness)
        for miss in score.misses:
            miss["met"] = transport.met
        return score, planner.was_puzzled

    def _given(self, system: ModuleType, world: World) -> Any:
        """The tools, or what the system has made of them once for all tasks of this domain."""
        tools = list(world.tools.values())
        if not hasattr(system, "prepare"):
            return tools
        kept = (system.__name__, f"{world.suite}:{world.domain}")
        if kept not in self._prepared:
            self._prepared[kept] = system.prepare(tools)
        return self._prepared[kept]


def _meets_nothing(task: Task, schedule: Schedule) -> bool:
    """Whether the run without faults is this task's run: no request meets a fault, no call is spoiled."""
    sent: dict[str, int] = {}
    for number, step in enumerate(task.steps):
        sent[step.effect] = sent.get(step.effect, 0) + 1
        if schedule.fault(step.effect, sent[step.effect]) is not None:
            return False
        call = (step.name, json.dumps(step.arguments))
        if schedule.garbled(*call, f"{number} 0") != call:
            return False
    return True


def _again(score: Score) -> Score:
    """A score that is used once more, without having cost anything."""
    kept = Score()
    kept.add(score)
    kept.cpu_s, kept.runs = 0.0, 0
    return kept
