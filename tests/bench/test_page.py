"""The page and its words: made of the stored figures and of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.page import write_page
from bench.pictures import write_pictures
from bench.plots import bars, curves, standalone
from bench.style import COLOURS
from bench.suites import SUITES
from bench.words import headlines, is_ours, sentence

MACHINE = {
    "python": "3.11",
    "system": "Linux",
    "processor": "p",
    "cores": 2,
    "load": 1.0,
    "versions": {"a": "1"},
}


def row(table: str, case: str, value: float, unit: str = "µs", **more: Any) -> dict[str, Any]:
    """A stored row."""
    return {"table": table, "case": case, "unit": unit, "value": value, "noise": 0.1, **more}


def result(suite: str, rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A stored result."""
    return {"suite": suite, "title": suite, "day": "2026-01-01", "machine": MACHINE, "rows": rows, **more}


CRASH_GRID = {
    "title": "all that was counted",
    "columns": ["kills", "repeated", "forgotten"],
    "lines": {
        "failsoft, SQLite, verify": [40, 0, 0],
        "DBOS, SQLite": [40, 20, 0],
        "DBOS, SQLite, keys": [40, 0, 0],
    },
}


def page_of(folder: Path, *results: dict[str, Any]) -> str:
    """The page's text."""
    write_page(folder / "index.html", list(results))
    return (folder / "index.html").read_text("utf-8")


def test_a_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    """No script, no style sheet, no picture from elsewhere; both colour schemes are in it."""
    text = page_of(tmp_path, result("errors", [row("t", "failsoft", 1.0), row("t", "other", 2.0)]))
    assert "<script" not in text
    assert "<link" not in text
    assert "src=" not in text
    assert "prefers-color-scheme: dark" in text
    assert "<svg" in text


def test_what_is_stored_is_text_on_the_page(tmp_path: Path) -> None:
    """Names of cases cannot become markup."""
    rows = [row("t", "<script>alert(1)</script>", 1.0), row("t", "b & c", 2.0)]
    text = page_of(tmp_path, result("errors", rows, notes=["<img src=x>"], misses=[{"task": "<b>"}]))
    assert "<script" not in text
    assert "<img" not in text
    assert "b &amp; c" in text


def test_colours_follow_the_reader() -> None:
    """A picture has no colour of its own, so that it is read on light and on dark paper."""
    for text in (
        bars([row("t", "failsoft", 1.0), row("t", "b", 90.0)], "alt"),
        curves({"failsoft": [(0, 1), (1, 2)], "b": [(0, 1), (1, 3)]}, "x", "y", "alt"),
    ):
        assert "var(--ours)" in text
        assert "#010203" not in text
        assert 'aria-label="alt"' in text
    assert "var(--paper)" in standalone(text, COLOURS)


def test_counts_of_nothing_are_drawn() -> None:
    """A zero is no reason for a logarithmic axis, and noise without bound does not leave the picture."""
    assert "logarithmic" not in bars([row("t", "a", 0.0), row("t", "b", 9_000.0)], "alt")
    assert "<svg" in bars([row("t", "a", 1.0), row("t", "b", 90.0, noise=1.0)], "alt")


def test_first_figures_are_those_of_the_rows() -> None:
    """A headline repeats a stored figure, beside the peers' own."""
    table = "careful planner: exact final states, % of tasks"
    rows = [
        row(table, f"30 % faults: {name}", value, "%") for name, value in (("failsoft", 99.5), ("x", 60.0))
    ]
    found = headlines([result("chaos", rows), result("crash", [], grids=[CRASH_GRID])])
    assert [(each.suite, each.figure) for each in found] == [("chaos", "99.5 %"), ("crash", "0")]
    assert "x): 60.0 %" in found[0].text
    assert "50%" in found[1].text
    assert headlines([]) == []


def test_pictures_for_elsewhere_bring_their_own_colours(tmp_path: Path) -> None:
    """Each is a file that is read alone; what has no figures is not drawn."""
    rows = [row("payments made twice, of 100 kills", name, 50.0) for name in CRASH_GRID["lines"]]
    crash = result("crash", rows, grids=[{**CRASH_GRID, "columns": ["kills", "repeated", "in doubt"]}])
    assert [file.name for file in write_pictures(tmp_path, [crash])] == ["killed.svg"]
    text = (tmp_path / "killed.svg").read_text("utf-8")
    assert text.startswith("<svg ")
    assert "prefers-color-scheme: dark" in text
    assert "DBOS, SQLite, keys" in text


@pytest.mark.parametrize(
    ("case", "ours"),
    [("failsoft, whole", True), ("30 % faults: failsoft", True), ("by hand", False), ("failsofter", False)],
)
def test_our_rows_are_known_by_the_name(case: str, ours: bool) -> None:
    """The name stands as a word anywhere in the case."""
    assert is_ours(case) is ours


def test_suites_have_names_of_their_own_and_quick_modes() -> None:
    """Each suite can be asked for by name, and takes part in the quick mode."""
    assert len({suite.name for suite in SUITES}) == len(SUITES)
    assert all(suite.quick is not None for suite in SUITES)
    assert sentence("payments made twice, of 100 kills")
    assert sentence("never heard of") == ""
