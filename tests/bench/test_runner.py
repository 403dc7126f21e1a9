"""`./run bench`: a suite that fails does not take the others with it, and what was measured is kept."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as runner
from bench.compare import compare
from bench.rows import as_they_are, mcp, repair
from bench.suites import Suite

MODULE = """
import json, sys
row = {"table": "t", "case": "failsoft", "unit": "s", "value": 1.0}
if sys.argv[1] != "broken":
    with open(sys.argv[2], "w") as file:
        json.dump({"rows": [row, {**row, "case": "b"}], "machine": {"versions": {"peer": "7"}}}, file)
sys.exit(0 if sys.argv[1] == "good" else 3)
"""


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Suite, ...]:
    """A good suite, one that breaks, and one that measures and is not content."""
    (tmp_path / "made_up_suite.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = tuple(
        Suite(
            name=name, title=name, module="made_up_suite", rows=as_they_are, quick=(name, "{file}"), repeats=1
        )
        for name in ("broken", "good", "sad")
    )
    monkeypatch.setattr(runner, "SUITES", found)
    return found


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return runner.main()


def test_a_broken_suite_is_shown_and_the_others_are_kept(
    suites: tuple[Suite, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The status is 1, the message names the suite, and results and page of the others are there."""
    folder = tmp_path / "results"
    assert run(monkeypatch, "--quick", "--results", str(folder)) == 1
    said = capsys.readouterr().err
    assert "broken: FAILED: SuiteError: exit status 3" in said
    assert "without figures: broken" in said
    assert "sad: did not meet its own aims" in said
    assert sorted(file.name for file in folder.iterdir()) == ["good.json", "index.html", "sad.json"]
    good = json.loads((folder / "good.json").read_text())
    assert (good["suite"], good["quick"], good["machine"]["versions"]["peer"]) == ("good", True, "7")


def test_the_page_can_be_drawn_again(
    suites: tuple[Suite, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--page` measures nothing; files that are no results of a suite are left alone."""
    (tmp_path / "other.json").write_text("{}")
    assert run(monkeypatch, "--page", "--results", str(tmp_path)) == 0
    assert "<h1>" in (tmp_path / "index.html").read_text("utf-8")


def test_results_are_compared_by_name(
    suites: tuple[Suite, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Figures of a run stand beside the stored ones."""
    for folder in ("a", "b"):
        compared = ("--compare", str(tmp_path / "a")) if folder == "b" else ()
        assert (
            run(monkeypatch, "--quick", "--only", "good", "--results", str(tmp_path / folder), *compared) == 0
        )
    assert "worse than noise explains: 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("unit", "before", "now", "verdict"),
    [("steps", 0, 0, "same"), ("steps", 0, 1, "worse"), ("%", 90, 99, "better"), ("calls/s", 9, 5, "worse")],
)
def test_counts_and_shares_are_judged_the_right_way_round(
    unit: str, before: float, now: float, verdict: str
) -> None:
    """A count that was nothing and is something is worse; more of a share is better."""

    def rows(value: float) -> list[dict[str, Any]]:
        return [{"table": "t", "case": "a", "unit": unit, "value": value}]

    found = compare(rows(now), rows(before))[0]
    assert found["verdict"] == verdict
    assert math.isinf(found["change"]) is (before == 0 and now > 0)


def test_figures_of_suites_become_rows() -> None:
    """Each way to a server has its time beside the direct one; each reading its shares."""
    ways = {
        "direct": {"median_ms": 1.0, "calls_per_s": 9},
        "failsoft, looks": {"median_ms": 2.0, "calls_per_s": 5},
    }
    assert [row.get("ratio") for row in mcp({"rows": ways})] == [1.0, 2.0, None, None]
    reading = {"reading": "failsoft", "recovered_percent": 99.0, "wrong_per_1000": 0.0, "us": 3.0}
    assert [row["value"] for row in repair({"rows": [reading]})] == [99.0, 0.0, 3.0]
