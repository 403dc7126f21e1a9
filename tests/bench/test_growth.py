"""The sweep over sizes: which lines are drawn, and that the page shows lines and bars of one suite side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.growth import TURNS, curves_of
from bench.in_turns import Suite
from bench.page import write_page


def row(table: str, case: str, ratio: float) -> dict[str, Any]:
    """A stored row."""
    figures = {"ns": 50 * ratio, "ratio": ratio, "unit": "ns", "value": 50 * ratio}
    return {"table": table, "case": case, "floor": "x", **figures}


ROWS = [
    row("calm", "window 10", 1.0),
    row("calm", "window 100", 1.5),
    row("known", "keys 1", 1.0),
    row("known", "keys 10", 1.25),
    *(row(table, "keys 1", 2.0) for table in TURNS),
]
SUITES = [Suite("calm", "window 10"), *(Suite(title, "keys 1") for title in ("known", *TURNS))]


def test_sizes_become_lines() -> None:
    """Windows stand in one picture, keys and calls in the next, as ratios; keys in turn in nanoseconds."""
    windows, things, turns = curves_of(ROWS, SUITES)
    assert windows["lines"] == {"calm": [(10, 1.0), (100, 1.5)]}
    assert things["lines"] == {"known": [(1, 1.0), (10, 1.25)]}
    assert turns["lines"] == {table: [(1, 100.0)] for table in TURNS}


def test_a_table_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve that names its tables takes only their bars' place; one that names none takes all."""
    for drawing in ("bars", "curves"):
        monkeypatch.setattr(f"bench.page.{drawing}", lambda *args, **options: "<svg/>")
    result: dict[str, Any] = {
        "suite": "s",
        "title": "t",
        "machine": {"python": "3"},
        "rows": [*ROWS, row("closed", "a", 1.0), row("closed", "b", 2.0)],
        "curves": curves_of(ROWS, SUITES),
    }
    page = tmp_path / "page.html"
    write_page(page, [result])
    text = page.read_text(encoding="utf-8")
    heads = ["Closed", *(curve["title"] for curve in result["curves"])]
    assert [text.count(f"<h3>{head}</h3>") for head in heads] == [1, 1, 1, 1]
    assert "<h3>Calm</h3>" not in text
    assert "calm: window 100" in text, "the figures of a curve can be unfolded"
    for curve in result["curves"]:
        del curve["tables"]
    write_page(page, [result])
    assert "<h3>Closed</h3>" not in page.read_text(encoding="utf-8")
