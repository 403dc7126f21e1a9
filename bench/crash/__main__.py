"""Kills the process of a run of payments again and again, for each system, and compares with what the bank has booked.

    python -m bench.crash [--runs 12] [--steps 10] [--kills 4] [--seed 1] [--only SYSTEM]... [--quick] [--json FILE]

Every run has `--kills` kills: before a payment is booked, after it was booked and before the answer, after the
answer, and while the process starts again. A system that is not to be had is left out, which is said.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.crash.driver import MOMENTS, Books, Driver, kills_of
from bench.crash.systems import Setup, missing, systems
from bench.measure import machine, say

NOTE = (
    "Each run pays {steps} times, at a bank of the benchmark's own that appends every payment to a file and syncs it. "
    "Its process gets {kills} SIGKILLs: {moments}. "
    "Each time it is started again as the system's documentation has it, until the run is over."
)
WHEN = {
    "before": "before a payment is booked",
    "during": "after one was booked and before the answer",
    "after": "within 12 ms after an answer",
    "restarting": "while it starts again",
}
FAIR = (
    "No system can know by itself whether a payment in flight was booked. The documented answer of all three engines is "
    "to run it again, and to advise payments that may be repeated: “keys” shows each with an idempotency key that the "
    "bank honours. Without such a bank the choice is between repeating, and saying that it is not known; failsoft says "
    "so, and asks where the tool has a `verify`. “One attempt” is Temporal told not to retry."
)
TIMES = (
    "Time to recover is from the kill to the next payment that had not been made before: the start of a Python process, "
    "and whatever the system does then. Temporal's activities have a time-out of 2 s here, which is what it waits for; "
    "its server is the test server, in memory. PostgreSQL runs without syncing to the disk."
)


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry for each setup: the setup, its books, and what it needed."""
    found = []
    for name, module in systems().items():
        if options.only and name.removeprefix("with_") not in options.only:
            continue
        lacking = missing(module)
        if lacking:
            say(f"crash: {name} left out, it needs {', '.join(lacking)}")
            continue
        for setup in module.SETUPS:
            if options.quick and not setup.is_quick:
                continue
            try:
                books = one_setup(module, setup, options)
            except (LookupError, TimeoutError) as exc:
                say(f"crash: {setup.title} left out: {exc}")
                continue
            found.append({"setup": setup, "books": books, "packages": module.PACKAGES})
    return found


def one_setup(module: Any, setup: Setup, options: argparse.Namespace) -> Books:
    """All runs of one setup."""
    rng = random.Random(options.seed)  # every setup meets the same kills
    # Not below a deep folder: a socket's path is short.
    with (
        tempfile.TemporaryDirectory(prefix="failsoft-crash-", dir=options.dir) as home,
        module.beside(setup, Path(home)) as beside,
    ):
        driver = Driver(module, setup, Path(home), beside)
        with driver.bank:
            for number in range(options.runs):
                plan, restart = kills_of(rng, options.steps, options.kills)
                driver.run(f"run-{number}", options.steps, plan, restart)
                b = driver.books
                say(
                    f"crash: {setup.title}: run {number + 1} of {options.runs}, {b.killed} kills, "
                    f"{b.repeated} repeated, {b.forgotten} forgotten, {b.doubts} in doubt"
                )
    for remark in driver.books.remarks:
        say(f"crash: {setup.title}: {remark}")
    return driver.books


def rows_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures for the page; counts are shares of the kills, so that runs of different length can be compared."""
    rows = []
    for table, unit, of in (
        ("payments made twice, of 100 kills", "payments", lambda b: _of_100(b.repeated, b.killed)),
        ("payments forgotten, of 100 kills", "payments", lambda b: _of_100(b.forgotten, b.killed)),
        ("payments told as in doubt, of 100 kills", "told", lambda b: _of_100(b.doubts, b.killed)),
        ("runs that did not end", "runs", lambda b: b.unfinished),
        ("time to recover", "s", lambda b: _median(b.recovery_s)),
    ):
        for each in found:
            row = {"table": table, "case": each["setup"].title, "unit": unit, "value": of(each["books"])}
            spread = _spread(each["books"].recovery_s) if unit == "s" else 0.0
            rows.append({**row, "noise": spread})
    return rows


def _of_100(count: int, kills: int) -> float:
    return count / kills * 100 if kills else 0.0


def note_of(steps: int, kills: int) -> str:
    """What a run is."""
    moments = ", ".join(WHEN[moment] for moment in MOMENTS[:kills])
    return NOTE.format(steps=steps, kills=kills, moments=moments)


def _median(values: list[float]) -> float:
    return statistics.median(values) if values else 0.0


def _spread(values: list[float]) -> float:
    """Half the distance between the quartiles, as a share of the median."""
    if len(values) < 4:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle


_COLUMNS = ("kills", *MOMENTS, "repeated", "forgotten", "in doubt", "cleared", "recover, s", "longest, s")


def grid_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that was counted, a line for each setup."""
    lines = {}
    for each in found:
        books = each["books"]
        lines[each["setup"].title] = [
            books.killed,
            *(books.kills[moment] for moment in MOMENTS),
            books.repeated,
            books.forgotten,
            books.doubts,
            books.cleared,
            round(_median(books.recovery_s), 2),
            round(max(books.recovery_s, default=0.0), 2),
        ]
    return {"title": "all that was counted", "columns": list(_COLUMNS), "lines": lines}


def setups_of(found: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What each setup follows, and what that promises."""
    return [
        {"system": each["setup"].title, "promise": each["setup"].promise, "page": each["setup"].page}
        for each in found
    ]


def show(grid: dict[str, Any]) -> None:
    """Print for people."""
    print(f"\n{'':40}" + "".join(f"{column:>11}" for column in grid["columns"]))
    for name, values in grid["lines"].items():
        print(f"{name:40}" + "".join(f"{value:11}" for value in values))


def main() -> int:
    """Run, print, store; the exit status is 1 where a run did not end as it should."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.crash",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=12, help="for each setup")
    parser.add_argument("--steps", type=int, default=10, help="in a run")
    parser.add_argument("--kills", type=int, default=4, help="in a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="SYSTEM", help="failsoft, dbos, restate, temporal")
    parser.add_argument("--quick", action="store_true", help="without the setups on PostgreSQL")
    parser.add_argument("--dir", default=None, help="on which disk")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options)
    grid = grid_of(found)
    show(grid)
    if options.json:
        stored = {
            "machine": machine(*sorted({name for each in found for name in each["packages"]})),
            "rows": rows_of(found),
            "grids": [grid],
            "setups": setups_of(found),
            "remarks": [remark for each in found for remark in each["books"].remarks],
            "notes": [note_of(options.steps, options.kills), FAIR, TIMES],
        }
        options.json.write_text(json.dumps(stored, indent=1, ensure_ascii=False), encoding="utf-8")
    return 1 if any(each["books"].remarks for each in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
