"""How things are timed here: cases in turns, ratios within a round, medians over rounds and processes.

In each round every case runs once for a few milliseconds, in a shuffled order, so that a slow moment hits all alike.
A ratio is taken within its round, to the floor of that round; the figure is the median of the ratios.
The noise of a figure is half the range of the medians of its parts (one a process), as a share of the figure.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

__all__ = ["ROOT", "Table", "environment", "figures", "in_processes", "machine", "say", "show", "timed"]

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_NS = 2_000_000
Samples = dict[str, list[float]]


@dataclass
class Table:
    """Cases that are compared with each other.

    Args:
        title: What is compared.
        floor: The case to which ratios are taken.
        unit: What a value is given in: `µs` or `ms`, for each call.
        wall: Whether wall time counts; otherwise the thread's processor time, which other work on the machine blurs less.
        per: Calls that one run of a case's loop makes.
        cases: Name to a function that makes its argument's number of runs.
    """

    title: str
    floor: str
    unit: str = "µs"
    wall: bool = False
    per: int = 1
    cases: dict[str, Callable[[int], Awaitable[None]]] = field(default_factory=dict)

    def case(self, name: str) -> Callable[[Callable[[int], Awaitable[None]]], None]:
        """Add the decorated function under a name."""

        def add(loop: Callable[[int], Awaitable[None]]) -> None:
            self.cases[name] = loop

        return add


async def timed(table: Table, rounds: int, seed: int | None = None) -> Samples:
    """One sample of each case a round: nanoseconds for each call."""
    clock = time.perf_counter_ns if table.wall else time.thread_time_ns
    counts = {name: await _count(loop, clock) for name, loop in table.cases.items()}
    samples: Samples = {name: [] for name in counts}
    order, rng = list(counts), random.Random(seed)
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            await asyncio.sleep(0)  # the loop drops the timers of the case before
            n, began = counts[name], clock()
            await table.cases[name](n)
            samples[name].append((clock() - began) / (n * table.per))
    gc.unfreeze()
    return samples


async def _count(loop: Callable[[int], Awaitable[None]], clock: Callable[[], int]) -> int:
    """How many runs make a sample; runs it often enough to have warmed up."""
    n = 1
    while True:
        took = []
        for _ in range(3):
            await asyncio.sleep(0)
            began = clock()
            await loop(n)
            took.append(clock() - began)
        if min(took) >= SAMPLE_NS / 2:
            return max(1, round(n * SAMPLE_NS / min(took)))
        n *= 2


def in_processes(
    module: str, arguments: Iterable[str], processes: int, python: str = sys.executable
) -> list[dict[str, Any]]:
    """What a module prints as JSON, from as many fresh processes, one after another."""
    found = []
    for number in range(processes):
        command = [python, "-m", module, *arguments]
        said = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
        found.append(json.loads(said.stdout))
        say(f"{module}: process {number + 1} of {processes}")
    return found


def environment() -> dict[str, str]:
    """The environment of a child: failsoft from this tree, and quiet."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    # Bytecode is kept, and apart from the tree: without it an import would count the compiler.
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(ROOT / ".bench" / "bytecode")}
    return {**os.environ, **cache, "PYTHONPATH": path, "FAILSOFT_LOG": "error"}


def figures(table: str, floor: str | None, parts: list[Samples], unit: str = "µs") -> list[dict[str, Any]]:
    """Rows for people and for comparing: one a case.

    Args:
        table: The title.
        floor: The case to which ratios are taken; None for no ratios.
        parts: Nanoseconds for each call, a list for each case, one part a process.
        unit: `ns`, `µs` or `ms`.
    """
    scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6}[unit]
    rows = []
    for name in parts[0]:
        values = [part[name] for part in parts]
        row: dict[str, Any] = {
            "table": table,
            "case": name,
            "unit": unit,
            "value": statistics.median(chain.from_iterable(values)) / scale,
            "quiet": min(_decile(each) for each in values) / scale,
        }
        compared = values
        if floor is not None:
            compared = [[a / b for a, b in zip(part[name], part[floor], strict=True)] for part in parts]
            row["floor"], row["ratio"] = floor, statistics.median(chain.from_iterable(compared))
        row["noise"] = _noise(compared)
        rows.append(row)
    return rows


def _decile(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


def _noise(parts: list[list[float]]) -> float:
    """Half the range of the parts' medians, as a share; thirds of the rounds where there is one part."""
    if len(parts) == 1:
        third = max(1, len(parts[0]) // 3)
        parts = [parts[0][i : i + third] for i in range(0, third * 3, third)]
    medians = [statistics.median(part) for part in parts if part]
    middle = statistics.median(medians)
    return (max(medians) - min(medians)) / 2 / middle if middle else 0.0


def machine(*packages: str) -> dict[str, Any]:
    """Where the figures are from."""
    versions = {}
    for name in ("pydantic", "pydantic_core", *packages):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def show(rows: list[dict[str, Any]]) -> None:
    """Print the tables."""
    title = None
    for row in rows:
        if row["table"] != title:
            title = row["table"]
            print(f"\n{title}" + (f"   (x: to {row['floor']!r})" if "floor" in row else ""))
            print(f"  {'':58}{'median':>10}{'quiet':>10}      {'x':>7}")
        ratio = f"{row['ratio']:7.3f}" if "ratio" in row else " " * 7
        ratio += f" ±{row['noise']:4.0%}" if row.get("noise") else ""
        quiet = f"{row['quiet']:10.2f}" if "quiet" in row else " " * 10
        print(f"  {row['case']:58}{row['value']:10.2f}{quiet} {row['unit']:5} {ratio}")


def say(text: str) -> None:
    """Progress, for people."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
