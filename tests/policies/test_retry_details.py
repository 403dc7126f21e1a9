"""Retry: exact waits beside a hint and a deadline, functions of the user's that fail, and what an error names."""

import logging
import random
from types import SimpleNamespace
from typing import Any

import pytest

from failsoft.core.errors import AgentError, RateLimited, Unavailable, UsageError
from failsoft.policies import Retry, RetryDecision
from failsoft.policies.retry import decide

DOWN = Unavailable("down", effect="none")


def dice(number: float) -> Any:
    """Randomness that always gives the same number."""
    return SimpleNamespace(random=lambda: number)


def ask(options: Retry | None = Retry(), number: float = 1.0, **values: Any) -> RetryDecision:
    """A decision where everything but the given values speaks for a retry."""
    given: dict[str, Any] = {"attempt": 1, "error": DOWN, "repeatable": True, "remaining_s": 1e6}
    return decide(options, **{"rng": dice(number), **given, **values})


def limited(hint_s: float | None) -> AgentError:
    """A rate limit with a hint."""
    return RateLimited("slow down", retry_after_s=hint_s)


@pytest.mark.parametrize(
    ("hint_s", "number", "remaining_s", "waited"),
    [
        (0.5, 1.0, 1e6, 0.55),
        (5.0, 0.0, 1e6, 5.0),
        (5.0, 1.0, 1e6, 5.5),
        (5.0, 0.5, 1e6, 5.25),
        (10.0, 1.0, 1e6, 11.0),
        (600.0, 1.0, 1e6, 601.0),
        (5.0, 1.0, 5.4, 5.2),
        (600.0, 0.5, 600.5, 600.125),
    ],
)
def test_a_hint_is_followed_a_tenth_later_at_most(
    hint_s: float, number: float, remaining_s: float, waited: float
) -> None:
    """Up to a tenth of the hint above it, at most a second, and at most half of what is left to the deadline."""
    options = Retry(base_s=0.1, cap_s=0.1)
    said = ask(options, number, error=limited(hint_s), remaining_s=remaining_s)
    assert said.delay_s == pytest.approx(waited)


def test_the_longer_of_hint_and_backoff_is_waited() -> None:
    """A hint that is shorter than the backoff does not shorten it."""
    options = Retry(base_s=4, jitter="none")
    assert ask(options, error=limited(3.0)).delay_s == 4
    assert ask(options, error=limited(7.0)).delay_s == 7
    assert ask(Retry(base_s=4), error=limited(2.0)).delay_s == pytest.approx(4.2)
    assert ask(options, error=limited(0.0)).delay_s == 4
    assert ask(options, error=limited(None)).delay_s == 4


def test_no_wait_is_begun_that_cannot_end_before_the_deadline() -> None:
    """A wait as long as what is left is not begun; one that is a little shorter is."""
    options = Retry(base_s=4, jitter="none")
    assert ask(options, remaining_s=4.0).why == "deadline"
    assert ask(options, remaining_s=4.001).delay_s == 4
    assert ask(options, error=limited(5.0), remaining_s=5.0).why == "hint_beyond_deadline"
    assert ask(options, error=limited(5.0), remaining_s=5.001).go
    assert ask(options, error=limited(0.0), remaining_s=0.0).why == "deadline", "a hint of nothing is no hint"
    assert ask(options, error=limited(0.5), remaining_s=0.5).why == "hint_beyond_deadline"


def test_attempts_are_counted_for_the_kind_of_the_failure() -> None:
    """The last attempt allowed is the last: three by default, and as many as its kind says."""
    assert [ask(attempt=n).why for n in (1, 2, 3, 4)] == [None, None, "attempts_used", "attempts_used"]
    options = Retry(per_kind={"rate_limited": {"max_attempts": 5}})
    assert ask(options, attempt=4, error=limited(None)).go
    assert ask(options, attempt=5, error=limited(None)).why == "attempts_used"
    assert ask(options, attempt=3).why == "attempts_used"
    assert ask(Retry(max_attempts=2)).go


def test_decorrelated_waits_go_by_the_wait_before() -> None:
    """The wait before the failed attempt is what the next one grows from, within base and cap."""
    options = Retry(backoff="decorrelated", base_s=2, cap_s=50)
    assert ask(options, 1.0).delay_s == 6
    assert ask(options, 1.0, previous_wait_s=5.0).delay_s == 15
    assert ask(options, 0.0, previous_wait_s=5.0).delay_s == 2
    assert ask(options, 1.0, previous_wait_s=40.0).delay_s == 50


def test_what_on_says_of_a_failure_holds_whatever_the_error_says() -> None:
    """`on` may leave out what the error calls retryable, and take what it does not."""
    assert ask(Retry(on=["unavailable"])).go
    assert ask(Retry(on=["network"])).why == "not_retryable"
    assert ask(Retry(on=lambda error: False)).why == "not_retryable"
    bug = AgentError("internal", effect="none", retryable=False)
    assert ask(Retry(on=lambda error: error is bug), error=bug).go
    assert (
        ask(Retry(on=lambda error: True), error=AgentError("cancelled", effect="none")).why == "not_retryable"
    )


def test_an_on_that_raises_leaves_it_to_the_error(caplog: pytest.LogCaptureFixture) -> None:
    """A failing function decides nothing: the error's own word holds, and the log has the function's error."""

    def broken(error: AgentError) -> bool:
        raise ZeroDivisionError("mine")

    with caplog.at_level(logging.ERROR, logger="failsoft.policies"):
        assert ask(Retry(on=broken)).go
        assert ask(Retry(on=broken), error=AgentError("internal", effect="none")).why == "not_retryable"
    assert len(caplog.records) == 2
    assert caplog.messages[0].startswith("Retry.on raised")
    assert repr(DOWN) in caplog.text
    assert "ZeroDivisionError: mine" in caplog.text


def test_a_backoff_that_raises_is_replaced_by_the_exponential_one(caplog: pytest.LogCaptureFixture) -> None:
    """A failing function of the waits does not end the retries: they wait exponentially, and the log says so."""

    def broken(attempt: int) -> float:
        raise ZeroDivisionError("mine")

    options = Retry(backoff=broken, base_s=2, factor=3, cap_s=15, jitter="none", max_attempts=9)
    with caplog.at_level(logging.ERROR, logger="failsoft.policies"):
        waits = [ask(options, attempt=attempt).delay_s for attempt in (1, 2, 3)]
    assert waits == [2, 6, 15]
    assert caplog.messages[0].startswith("Retry.backoff raised")
    assert "attempt 3" in caplog.text
    assert "ZeroDivisionError: mine" in caplog.text


def test_a_retry_for_one_kind_is_taken_whole() -> None:
    """A `Retry` given for a kind brings all its own values, and no kinds within the kind."""
    inner = Retry(max_attempts=9, base_s=7, per_kind={"network": {"base_s": 8}})
    options = Retry(per_kind={"rate_limited": inner})
    found = options.of_kind("rate_limited")
    assert (found.max_attempts, found.base_s) == (9, 7)
    assert found.kinds == {}
    assert options.of_kind("network") is options
    assert options.overrides() == {"rate_limited": {"max_attempts": 9, "base_s": 7}}


def test_a_table_for_one_kind_changes_what_it_names() -> None:
    """What a table does not name is as in the rest; the default for rate limits goes when kinds are given."""
    options = Retry(base_s=3, jitter="equal", per_kind={"network": {"cap_s": 99, "backoff": "linear"}})
    found = options.of_kind("network")
    assert (found.base_s, found.jitter, found.cap_s, found.backoff) == (3, "equal", 99, "linear")
    assert options.of_kind("rate_limited") is options
    assert options.overrides() == {"network": {"cap_s": 99, "backoff": "linear"}}
    assert Retry(per_kind={"network": {"max_attempts": 5}}).of_kind("network").kinds == {}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, {"base_s": 1.0, "cap_s": 60.0}),
        ({"base_s": 2.0}, {"base_s": 2.0, "cap_s": 60.0}),
        ({"cap_s": 3.0}, {"base_s": 1.0, "cap_s": 3.0}),
        ({"base_s": 2.0, "cap_s": 3.0}, {"base_s": 2.0, "cap_s": 3.0}),
    ],
)
def test_the_default_for_rate_limits_fills_what_is_not_given(
    given: dict[str, float], left: dict[str, float]
) -> None:
    """A base or a cap of one's own holds for rate limits too; the other keeps its longer default."""
    found = Retry(**given).of_kind("rate_limited")  # type: ignore[arg-type]
    assert {"base_s": found.base_s, "cap_s": found.cap_s} == left


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"max_attempts": 0}, ["Retry.max_attempts must be", "got 0"]),
        ({"base_s": -1}, ["Retry.base_s must be", ">= 0", "got -1"]),
        ({"cap_s": -2}, ["Retry.cap_s must be", ">= 0", "got -2"]),
        ({"factor": 0.5}, ["Retry.factor must be", "got 0.5"]),
        ({"backoff": "linaer"}, ["Retry.backoff must be", "'fixed'", "'decorrelated'", "did you mean 'linear'"]),
        ({"jitter": "nnone"}, ["Retry.jitter must be", "'full'", "'equal'", "did you mean 'none'"]),
        (
            {"backoff": "decorrelated", "jitter": "equal"},
            ["Retry.jitter must be left out with backoff='decorrelated'", "got 'equal'", "hint: it is random by itself"],
        ),
        ({"on": "network"}, ["Retry.on must be", "got 'network'"]),
        ({"per_kind": {"netwrok": {}}}, ["Retry.per_kind must be", "'network'"]),
        ({"per_kind": {"network": 3}}, ["Retry.per_kind['network'] must be a mapping of options, or a Retry", "got 3"]),
        ({"per_kind": {"network": {"base": 1}}}, ["Retry.per_kind['network'] has no option 'base'", "did you mean 'base_s'?"]),
        ({"per_kind": {"network": {"zzz": 1}}}, ["has no option 'zzz'", "known: backoff, base_s, cap_s, factor, jitter, max_attempts"]),
        ({"per_kind": {"network": {1: 1}}}, ["has no option 1"]),
    ],
)  # fmt: skip
def test_an_error_names_the_option_the_value_and_what_would_be_right(
    values: dict[str, Any], parts: list[str]
) -> None:
    """Whoever reads the error knows which option, what was given, and what to write."""
    with pytest.raises(UsageError) as caught:
        Retry(**values)
    for part in parts:
        assert part in str(caught.value)


def test_numbers_are_kept_as_numbers() -> None:
    """Whole numbers for seconds become floats, so that two equal policies look alike."""
    options = Retry(base_s=1, cap_s=2, factor=3)
    assert [type(value) for value in (options.base_s, options.cap_s, options.factor)] == [float] * 3
    assert options.max_attempts == 3
    assert options.on is None
    assert Retry(on=["network", "timeout"]).on == frozenset({"network", "timeout"})


def test_waits_of_one_seed_are_the_same() -> None:
    """The only randomness is what is handed in."""
    waits = [[ask(rng=random.Random(7)).delay_s for _ in range(3)] for _ in range(2)]
    assert waits[0] == waits[1]
    assert 0 < waits[0][0] <= 0.5
