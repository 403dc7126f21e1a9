"""Spoiled calls, as the benchmark makes them, over calls written here."""

from __future__ import annotations

import collections
from typing import Any

from bench.corrupt import lines_of
from bench.corruptions import HARMFUL, HARMLESS
from bench.repair import REFUSED, by_failsoft, judged

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "note": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "urgent": {"type": "boolean"},
        "limit": {"type": "integer"},
    },
    "required": ["city", "count", "tags", "urgent"],
    "additionalProperties": False,
}
CALLS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        SCHEMA,
        {
            "city": "Lima",
            "note": 'it\'s "here", é',
            "count": 3,
            "price": 1.5,
            "tags": ["a", "b, c"],
            "urgent": True,
        },
    ),
    (SCHEMA, {"count": -1, "tags": [], "urgent": False, "where": {"lat": -12.05}, "city": "St. John's\n2"}),
]


def test_spoiled_calls_are_recovered_or_refused() -> None:
    """Every harmless corruption is recovered exactly, and nothing runs after any other."""
    counts = collections.Counter[tuple[str, str]]()
    for line in lines_of(CALLS, 2_000, seed=3):
        value = by_failsoft(line["schema"], line["raw"], line["truncated"])
        verdict = judged(line, value)
        counts[line["corruption"], verdict] += 1
        assert verdict == ("recovered" if line["harmless"] else "refused"), line
        assert (value is REFUSED) is not line["harmless"]
    assert {name for name, _ in counts} == {*HARMLESS, *HARMFUL}
    assert min(len(HARMLESS), len(HARMFUL)) >= 20
