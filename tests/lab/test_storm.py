"""What the storm shows, and that it shows the same again."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from failsoft.core.errors import UsageError
from failsoft.lab.storm import STRATEGIES, Storm, StormRun, run_storm
from failsoft.policies import DEFAULTS

SMALL = Storm(clients=1_000, minutes=5)
BY_NAME = {strategy.name: strategy for strategy in STRATEGIES}


@pytest.fixture(scope="module")
def runs() -> dict[str, StormRun]:
    """All strategies in one small storm."""
    return {strategy.name: run_storm(SMALL, strategy) for strategy in STRATEGIES}


def test_the_last_strategy_is_the_default() -> None:
    """What is simulated last is what a harness does by itself."""
    last = STRATEGIES[-1]
    assert (last.retry, last.budget, last.breaker) == (
        DEFAULTS.retry,
        DEFAULTS.retry_budget,
        DEFAULTS.breaker,
    )


def test_books_balance(runs: dict[str, StormRun]) -> None:
    """Every answer is one of a request, every request one of a call, and the series add up."""
    for run in runs.values():
        assert run.succeeded == sum(run.good) <= run.attempts == sum(run.offered)
        assert run.calls == sum(run.wanted)
        assert run.succeeded <= run.calls
        assert len(run.offered) == len(run.good) == SMALL.seconds
        most = 1 if run.strategy == "no retry" else 3
        assert run.amplification <= most
        assert max(run.good) <= SMALL.capacity + 1


def test_nobody_is_answered_while_it_is_down(runs: dict[str, StormRun]) -> None:
    """Before the outage all is well, during it nothing is."""
    first, last = int(SMALL.down_from_s), int(SMALL.down_until_s)
    for run in runs.values():
        assert sum(run.good[first + 1 : last]) == 0
        assert sum(run.good[:first]) >= 0.98 * sum(run.wanted[:first])


def test_retries_alone_keep_it_down(runs: dict[str, StormRun]) -> None:
    """Without a budget the service never comes back, however the retries are spread; with one it does."""
    assert {name: run.recovery_s is None for name, run in runs.items()} == {
        "no retry": False,
        "naive retry": True,
        "backoff": True,
        "+ jitter": True,
        "+ budget": False,
        "+ breaker": False,
    }
    assert runs["+ budget"].amplification < 1.2
    assert runs["+ breaker"].attempts < runs["+ budget"].attempts
    assert runs["+ breaker"].refused > 0


def test_the_same_seed_gives_the_same_run(runs: dict[str, StormRun]) -> None:
    """A run can be repeated, and another seed is another run."""
    strategy = BY_NAME["+ breaker"]
    again = run_storm(SMALL, strategy)
    assert replace(again, took_s=0.0) == replace(runs["+ breaker"], took_s=0.0)
    other = run_storm(replace(SMALL, seed=2), strategy)
    assert other.offered != again.offered


@pytest.mark.parametrize(
    "values",
    [{"clients": 0}, {"minutes": 0.5}, {"load": 1.0}, {"load": 0.0}, {"outage_s": 900.0}, {"outage_at": 0.0}],
    ids=str,
)
def test_storms_that_cannot_be(values: dict[str, float]) -> None:
    """A set-up that shows nothing is refused with the reason."""
    with pytest.raises(UsageError, match="must be"):
        replace(SMALL, **values)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_plot_is_an_svg_with_every_strategy(runs: dict[str, StormRun], tmp_path: Path) -> None:
    """The picture names all strategies as text, and is the same file each time."""
    from failsoft.lab.storm.matplotlib import plot_storm

    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        plot_storm(SMALL, list(runs.values()), file)
    text = files[0].read_text("utf-8")
    assert text == files[1].read_text("utf-8")
    assert "<svg" in text
    for name in (*BY_NAME, "capacity", "outage", "answered in time"):
        assert name in text


def test_the_lab_loads_no_plotting() -> None:
    """The package for plots is loaded when one is drawn, and not before."""
    code = "import sys, failsoft.cli.lab; sys.exit(any(m.split('.')[0] == 'numpy' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_ten_thousand_clients_for_ten_minutes_take_less_than_one() -> None:
    """The whole default storm takes less than a minute of processor time."""
    began = time.process_time()
    for strategy in STRATEGIES:
        run_storm(Storm(), strategy)
    assert time.process_time() - began < 60
