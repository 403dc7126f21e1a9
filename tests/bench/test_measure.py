"""What the benchmarks make of samples: figures, noise, and what is called better or worse."""

from __future__ import annotations

from typing import Any

import pytest

from bench.compare import compare, worse
from bench.measure import Table, figures, timed
from bench.suites import _merged


def row(case: str, **figures: Any) -> dict[str, Any]:
    """A stored row."""
    return {"table": "t", "case": case, "unit": "µs", **figures}


def test_a_ratio_is_taken_within_its_round() -> None:
    """A moment that slows all cases down alike changes no ratio."""
    samples = {"floor": [100.0, 1000.0, 100.0], "ours": [50.0, 500.0, 50.0]}
    ours = figures("t", "floor", [samples])[1]
    assert ours["ratio"] == 0.5
    assert ours["noise"] == 0.0


def test_noise_is_half_the_range_of_the_processes() -> None:
    """Processes that disagree make a figure noisy."""
    parts = [{"floor": [100.0] * 3, "ours": [value] * 3} for value in (90.0, 100.0, 110.0)]
    assert figures("t", "floor", parts)[1]["noise"] == pytest.approx(0.1)


def test_a_change_within_the_noise_is_no_change() -> None:
    """Only what both runs' noise cannot explain is called worse."""
    now = [row("a", value=9, ratio=1.1, noise=0.06), row("b", value=9, ratio=1.2, noise=0.01)]
    before = [row("a", value=1, ratio=1.0, noise=0.06), row("b", value=1, ratio=1.0, noise=0.01)]
    rows = compare(now, before)
    assert [each["verdict"] for each in rows] == ["same", "worse"]
    assert worse(rows) == ["t: b"]


def test_more_of_a_rate_is_better() -> None:
    """Megabytes a second count the other way round."""
    now, before = [row("a", value=20.0)], [row("a", value=10.0)]
    assert compare([{**now[0], "unit": "MB/s"}], before)[0]["verdict"] == "better"


def test_runs_of_a_suite_are_merged_by_case() -> None:
    """A suite that does not know its noise gets it from being run twice."""
    merged = _merged([[row("a", value=1.0, ratio=1.0)], [row("a", value=3.0, ratio=3.0)]])
    assert merged[0]["ratio"] == 2.0
    assert merged[0]["noise"] == 0.5


async def test_cases_are_timed_in_turns() -> None:
    """Each case gives one sample for each round."""
    table = Table("t", "floor")

    @table.case("floor")
    async def _(n: int) -> None:
        for _ in range(n):
            pass

    assert [len(each) for each in (await timed(table, 3)).values()] == [3]
