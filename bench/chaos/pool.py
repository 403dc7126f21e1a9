"""Runs units in processes, and keeps each in a file as soon as it is done, so that a run that was stopped goes on.

A line of the file is one unit: one system with one seed. It counts as done only for the same code of the suite, of
failsoft and of the system's packages, the same rates, planners and tasks.
"""

from __future__ import annotations

import collections
import gc
import hashlib
import importlib.metadata
import json
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from bench.chaos.judge import Score
from bench.chaos.work import Bench
from bench.measure import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Plan", "Scores", "gathered", "measured"]

KEPT = ROOT / ".bench" / "chaos" / "units.jsonl"
# What presents the figures does not change them.
_PRESENTS = {"__main__.py", "pool.py", "report.py"}
Scores = dict[str, dict[tuple[str, int], Score]]
Unit = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run.

    Args:
        systems: Names of modules.
        seeds: How many, from 0 on.
        rates: Per cent of requests that meet a fault.
        planners: Of `careful` and `bold`.
        tasks: Only so many tasks, spread over all; None for all.
        jobs: Processes.
    """

    systems: tuple[str, ...]
    seeds: int
    rates: tuple[int, ...]
    planners: tuple[str, ...]
    tasks: int | None
    jobs: int


def measured(
    plan: Plan, packages: dict[str, tuple[str, ...]], file: Path = KEPT, fresh: bool = False
) -> Scores:
    """Scores by planner, system and rate; units that the file has are not run again.

    Args:
        plan: What to run.
        packages: Of each system: what it is made of.
        file: Where units are kept.
        fresh: Whether to forget what the file has.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    if fresh:
        file.unlink(missing_ok=True)
    keys = {
        (name, seed): _key(plan, name, seed, packages[name])
        for seed in range(plan.seeds)
        for name in plan.systems
    }
    kept = _kept(file, set(keys.values()))
    todo = [unit for unit, key in keys.items() if key not in kept]
    if len(todo) < len(keys):
        say(f"chaos: {len(keys) - len(todo)} of {len(keys)} units were done before")
    began = time.monotonic()
    with file.open("a", encoding="utf-8") as lines:
        for number, (unit, found) in enumerate(_run(plan, todo), 1):
            kept[keys[unit]] = found
            lines.write(
                json.dumps({"key": keys[unit], "system": unit[0], "seed": unit[1], "scores": found}) + "\n"
            )
            lines.flush()
            left_s = (time.monotonic() - began) / number * (len(todo) - number)
            say(f"chaos: {number}/{len(todo)} {unit[0]}, seed {unit[1]}; about {left_s:.0f} s left")
    return gathered({unit: kept[key] for unit, key in keys.items()})


def gathered(units: dict[tuple[str, int], dict[str, Any]]) -> Scores:
    """The sums over the seeds."""
    scores: Scores = {}
    for (name, _), found in units.items():
        for planner, by_rate in found.items():
            for rate, score in by_rate.items():
                scores.setdefault(planner, {}).setdefault((name, int(rate)), Score()).add(Score(**score))
    return scores


def _run(plan: Plan, todo: list[Unit]) -> Iterator[tuple[Unit, dict[str, Any]]]:
    if plan.jobs == 1 or len(todo) < 2:
        bench = Bench(plan.tasks)
        for unit in todo:
            yield unit, bench.unit(*unit, plan.rates, plan.planners)
        return
    fresh = multiprocessing.get_context("spawn")
    workers: dict[Any, str] = {}
    left = list(todo)
    for _ in range(min(plan.jobs, len(todo))):
        mine, theirs = fresh.Pipe()
        fresh.Process(target=_work, args=(theirs, plan), daemon=True).start()
        theirs.close()
        workers[mine] = ""
        _give(mine, workers, left)
    while workers:
        for ready in wait(list(workers)):
            unit, found = ready.recv()  # type: ignore[union-attr]
            if not _give(ready, workers, left):
                del workers[ready]
            yield unit, found


def _give(worker: Any, workers: dict[Any, str], left: list[Unit]) -> bool:
    """Hand out the next unit: of the worker's own system if there is one, which it has warmed up, else of the one that
    has most to do for each of its workers.
    """
    if not left:
        worker.send(None)
        return False
    busy = collections.Counter(workers.values())
    counts = collections.Counter(name for name, _ in left)
    own = workers[worker]
    name = own if counts[own] else max(counts, key=lambda each: counts[each] / (busy[each] + 1))
    workers[worker] = name
    unit = next(unit for unit in left if unit[0] == name)
    left.remove(unit)
    worker.send(unit)
    return True


def _work(pipe: Any, plan: Plan) -> None:
    """A process of the pool: units until there are none. It ends with its parent, whose end of the pipe closes."""
    bench = Bench(plan.tasks)
    gc.collect()
    gc.freeze()  # what is loaded stays
    try:
        while (unit := pipe.recv()) is not None:
            pipe.send((unit, bench.unit(*unit, plan.rates, plan.planners)))
    except (EOFError, BrokenPipeError):
        return


def _kept(file: Path, wanted: set[str]) -> dict[str, dict[str, Any]]:
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            unit = json.loads(line)
        except ValueError:
            continue  # the line that was being written when the run was stopped
        if unit["key"] in wanted:
            found[unit["key"]] = unit["scores"]
    return found


def _key(plan: Plan, name: str, seed: int, packages: tuple[str, ...]) -> str:
    what = hashlib.sha256(repr((plan.rates, plan.planners, plan.tasks)).encode())
    here = ROOT / "bench" / "chaos"
    paths = [path for path in sorted(here.glob("*.py")) if path.name not in _PRESENTS]
    paths += sorted((here / "systems").glob("_*.py"))
    paths.append(here / "systems" / f"{name}.py")
    if "failsoft" in packages:
        paths += sorted((ROOT / "src" / "failsoft").rglob("*.py"))
    for path in paths:
        what.update(path.read_bytes())
    for package in packages:
        what.update(importlib.metadata.version(package).encode())
    return f"{name} {seed} {what.hexdigest()[:16]}"
