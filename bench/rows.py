"""How the figures of each benchmark become rows of one kind.

A row: `table`, `case`, `unit`, `value`, and where there is a floor `floor` and `ratio`; `noise` where it was measured.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "agent",
    "arguments",
    "as_they_are",
    "errors",
    "fleet",
    "isolation",
    "ledger",
    "mcp",
    "policies",
    "redaction",
    "repair",
]

Rows = list[dict[str, Any]]


def as_they_are(found: Any) -> Rows:
    """Rows that the module has made."""
    return list(found["rows"])


def policies(found: Any) -> Rows:
    """Decisions, and memory for each key."""
    rows = []
    for row in found["rows"]:
        unit = "B" if "bytes" in row else "ns"
        rows.append({**row, "unit": unit, "value": row.get("bytes", row.get("ns"))})
    return rows


def arguments(found: Any) -> Rows:
    """Reading valid calls, and long broken ones."""
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


def ledger(found: Any) -> Rows:
    """A protected call's writes."""
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


def errors(found: Any) -> Rows:
    """One failure classified."""
    figures = found["figures"]
    floor = next(name for name in figures if name.startswith("floor: isinstance"))
    return [
        _row("classifying a failure", name, "µs", value, floor, figures[floor])
        for name, value in figures.items()
    ]


def redaction(found: Any) -> Rows:
    """Megabytes a second, and the worst text."""
    rows = [_row("redaction", name, "MB/s", value) for name, value in found["figures"].items()]
    return [*rows, _row("redaction, the worst text of 1 MB", "worst", "s", found["worst_s"])]


def isolation(found: Any) -> Rows:
    """Round trips, and recoveries."""
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


def agent(found: Any) -> Rows:
    """One turn."""
    times = found["ms_per_turn"]
    table = "one turn of an agent, processor time"
    return [_row(table, name, "ms", cpu, "floor", times["floor"][1]) for name, (_, cpu) in times.items()]


def fleet(found: Any) -> Rows:
    """Decisions, calls, and the store's own script."""
    return [_row("breakers and rates of a fleet", row["case"], "µs", row["us"]) for row in found["rows"]]


def mcp(found: Any) -> Rows:
    """What stands before a server: the time of a call, calls a second with many under way, and its memory meanwhile."""
    rows, floor = [], "direct"
    for key, how in (("rows", "over pipes"), ("http", "over HTTP")):
        ways = found.get(key)
        if not ways:
            continue
        base = ways[floor]["median_ms"]
        one = f"one call of an MCP server {how}, one after another"
        many = f"calls of an MCP server {how}, 32 under way"
        rows += [_row(one, name, "ms", way["median_ms"], floor, base) for name, way in ways.items()]
        rows += [_row(many, name, "calls/s", way["calls_per_s"]) for name, way in ways.items()]
    for how, memory in found.get("memory_mb", {}).items():
        table = f"memory of the proxy {how}"
        steps = len(memory) - 1
        rows += [
            _row(table, f"after {number * found['long'] // steps:,} calls", "MB", value)
            for number, value in enumerate(memory)
        ]
    return rows


def repair(found: Any) -> Rows:
    """What came of spoiled calls; the lines are the same for all, so that there is no noise but in the time."""
    tables = (
        ("spoiled calls with one meaning: read as meant", "%", "recovered_percent"),
        ("spoiled calls: run with something else, of 1,000", "calls", "wrong_per_1000"),
        ("spoiled calls: time for one", "µs", "us"),
    )
    return [
        _row(table, row["reading"], unit, row[field])
        for table, unit, field in tables
        for row in found["rows"]
    ]


def _row(
    table: str, case: str, unit: str, value: float, floor: str | None = None, base: float | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"table": table, "case": case, "unit": unit, "value": value}
    if floor is not None and base:
        row |= {"floor": floor, "ratio": value / base}
    return row
