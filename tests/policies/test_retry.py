"""Retry: two yeses, bounded waits, hints as floors."""

import copy
import random
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from failsoft.core.errors import AgentError, NetworkError, RateLimited, Unavailable, UsageError, make_error
from failsoft.core.kinds import KIND_DEFAULTS, Effect
from failsoft.policies import Retry, RetryDecision
from failsoft.policies.retry import decide

DOWN = Unavailable("down", effect="none")


def ask(options: Retry | None = Retry(), **values: Any) -> RetryDecision:
    """A decision where everything but the given values speaks for a retry."""
    given: dict[str, Any] = {"attempt": 1, "error": DOWN, "repeatable": True, "remaining_s": 60.0}
    return decide(options, **{"rng": random.Random(1), **given, **values})


@pytest.mark.parametrize("kind", sorted(KIND_DEFAULTS))
@pytest.mark.parametrize("effect", list(Effect))
@pytest.mark.parametrize("repeatable", [True, False])
@pytest.mark.parametrize("retryable", [True, False])
def test_two_yeses(kind: str, effect: Effect, repeatable: bool, retryable: bool) -> None:
    """A failure is retried only when it is retryable and repeating it is harmless, whatever its kind."""
    error = make_error(kind, effect=effect, retryable=retryable)
    said = ask(error=error, repeatable=repeatable)
    harmless = repeatable or effect == "none"
    assert said.go == (retryable and harmless and kind != "cancelled")
    if not said.go:
        assert said.why == ("not_repeatable" if retryable and kind != "cancelled" else "not_retryable")
        assert said.delay_s == 0


def test_reasons_to_stop() -> None:
    """Each reason to stop has its own word."""
    assert ask(attempt=3).why == "attempts_used"
    assert ask(attempt=2).go
    assert ask(None).why == "off"
    assert ask(Retry(max_attempts=1)).why == "off"
    assert ask(yielded=True).why == "already_yielded"
    assert ask(Retry(jitter="none", base_s=60), remaining_s=10).why == "deadline"
    assert ask(remaining_s=0.0).why == "deadline"
    assert ask(error=RateLimited("slow down", retry_after_s=60)).why == "hint_beyond_deadline"
    assert ask(error=RateLimited("slow down", retry_after_s=59)).go


def test_on_chooses_the_failures_but_never_gives_the_second_yes() -> None:
    """`on` names the failures worth another attempt; a possible effect still forbids it."""
    bug = AgentError("internal", effect="possible")
    assert ask(Retry(on=["internal"]), error=bug).go
    assert ask(Retry(on=["internal"])).why == "not_retryable"
    assert ask(Retry(on=lambda error: error.reason == "internal"), error=bug).go
    assert ask(Retry(on=["internal"]), error=bug, repeatable=False).why == "not_repeatable"


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        (Retry(jitter="none"), [0.5, 1, 2, 4, 8, 10, 10]),
        (Retry(jitter="none", backoff="fixed", base_s=3), [3, 3, 3]),
        (Retry(jitter="none", backoff="linear", base_s=3), [3, 6, 9, 10]),
        (Retry(jitter="none", factor=3, base_s=1, cap_s=20), [1, 3, 9, 20]),
        (Retry(jitter="none", backoff=lambda attempt: attempt * 2.5), [2.5, 5, 7.5, 10, 10]),
        (Retry(jitter="none", base_s=0), [0, 0]),
        (Retry(jitter="none", cap_s=0), [0, 0]),
    ],
)
def test_waits_without_jitter(options: Retry, waits: list[float]) -> None:
    """Each shape of backoff gives its waits, capped."""
    options = replace(options, max_attempts=99)
    said = [ask(options, attempt=n, remaining_s=1e9).delay_s for n in range(1, len(waits) + 1)]
    assert said == waits


@pytest.mark.parametrize(("jitter", "low"), [("full", 0.0), ("equal", 0.5)])
def test_jitter_fills_its_range_evenly(jitter: Any, low: float) -> None:
    """Ten thousand waits lie in the range, reach both ends, and have the mean of an even spread."""
    rng, options = random.Random(11), Retry(base_s=4, jitter=jitter)
    waits = sorted(ask(options, rng=rng).delay_s / 4 for _ in range(10_000))
    assert low <= waits[0] < low + 0.01
    assert 0.99 < waits[-1] <= 1
    assert sum(waits) / len(waits) == pytest.approx((1 + low) / 2, abs=0.01)
    tenth = (1 - low) / 10
    for part in range(10):
        inside = sum(1 for wait in waits if low + part * tenth <= wait < low + (part + 1) * tenth)
        assert 850 < inside < 1150


def test_late_waits_differ_although_they_are_capped() -> None:
    """The cap comes before the jitter: two hundred waits at attempt 1,025 are two hundred different ones."""
    rng, options = random.Random(5), Retry(base_s=1, cap_s=5, max_attempts=9999)
    for attempt in (1, 2, 10, 1024, 1025, 5000):
        waits = [ask(options, attempt=attempt, rng=rng).delay_s for _ in range(200)]
        assert all(0 <= wait <= 5 for wait in waits)
        assert len(set(waits)) > 50


def test_decorrelated_waits_rise_and_fall() -> None:
    """Each wait lies between the base and three times the one before, and falls about as often as AWS's form does."""
    rng, options = random.Random(3), Retry(backoff="decorrelated", base_s=1, cap_s=100, max_attempts=10**6)
    falls, previous = 0, 1.0
    for attempt in range(1, 5001):
        wait = ask(options, attempt=attempt, rng=rng, previous_wait_s=previous, remaining_s=1e9).delay_s
        assert 1 <= wait <= min(100, 3 * previous)
        falls += wait < previous
        previous = wait
    assert 0.15 < falls / 5000 < 0.6
    assert ask(options, rng=rng).delay_s <= 3


@given(
    hint_s=st.floats(0, 100),
    seed=st.integers(0, 1000),
    attempt=st.integers(1, 20),
    remaining_s=st.floats(0, 200),
    jitter=st.sampled_from(["full", "equal", "none"]),
)
def test_a_hint_is_a_floor(hint_s: float, seed: int, attempt: int, remaining_s: float, jitter: Any) -> None:
    """Never earlier than the hint, little later than the larger of hint and backoff, never past the deadline."""
    error = RateLimited("slow down", retry_after_s=hint_s)
    options = Retry(max_attempts=99, jitter=jitter)
    said = ask(options, error=error, attempt=attempt, remaining_s=remaining_s, rng=random.Random(seed))
    if said.go:
        assert hint_s <= said.delay_s < remaining_s
        assert said.delay_s <= max(hint_s, 60) + min(1, hint_s / 10)
    else:
        assert said.why in ("deadline", "hint_beyond_deadline")
    if hint_s >= remaining_s and hint_s > 0:
        assert said.why == "hint_beyond_deadline"


def test_a_hint_gets_a_little_jitter_above_it() -> None:
    """Calls that were told the same second come back at different moments after it."""
    rng, error = random.Random(2), RateLimited("slow down", retry_after_s=20)
    waits = {ask(error=error, rng=rng).delay_s for _ in range(100)}
    assert len(waits) > 90
    assert all(20 <= wait <= 21 for wait in waits)
    assert ask(Retry(jitter="none"), error=error).delay_s == 20


def test_rate_limits_are_given_more_time_by_default() -> None:
    """A 429 without a hint waits from one second up to a minute, other failures from half a second up to ten."""
    options = Retry(jitter="none", max_attempts=99)
    limited, refused = RateLimited("slow down"), NetworkError("refused", effect="none")
    assert ask(options, error=limited).delay_s == 1
    assert ask(options, error=limited, attempt=50, remaining_s=99).delay_s == 60
    assert ask(options, error=refused).delay_s == 0.5
    assert ask(options, error=refused, attempt=50, remaining_s=99).delay_s == 10
    assert options.overrides() == {"rate_limited": {"base_s": 1.0, "cap_s": 60.0}}


def test_what_you_give_holds_for_every_kind() -> None:
    """A base or a cap that is given is not overruled by the default for rate limits; other kinds can be said too."""
    limited = RateLimited("slow down")
    assert ask(Retry(base_s=0.01, jitter="none"), error=limited).delay_s == 0.01
    assert ask(Retry(cap_s=0.2, jitter="none"), error=limited).delay_s == 0.2
    assert Retry(base_s=0.01, cap_s=1).overrides() == {}
    assert Retry(backoff=lambda attempt: 3.0).overrides() == {}
    options = Retry(
        jitter="none",
        per_kind={"unavailable": {"max_attempts": 1}, "network": Retry(jitter="none", base_s=7)},
    )
    assert ask(options).why == "off"
    assert ask(options, error=NetworkError("reset", effect="none")).delay_s == 7
    assert ask(options, error=limited).delay_s == 0.5
    assert Retry(per_kind={}).overrides() == {}


def test_a_changed_copy_keeps_the_overrides_apart() -> None:
    """Replacing one option of a retry changes it for every kind that does not say otherwise."""
    options = replace(Retry(), max_attempts=7)
    assert options.of_kind("rate_limited").max_attempts == 7
    assert options == Retry(max_attempts=7)
    assert hash(options) == hash(Retry(max_attempts=7))
    assert hash(Retry(per_kind={"network": {"base_s": 2}}, on=["network"]))
    assert repr(Retry()).count("Retry") == 1
    assert copy.deepcopy(options) is options


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": 2.5}, "max_attempts"),
        ({"base_s": -1}, "base_s"),
        ({"base_s": float("nan")}, "base_s"),
        ({"base_s": 10**400}, "base_s"),
        ({"cap_s": float("inf")}, "cap_s"),
        ({"factor": 0.5}, "factor"),
        ({"factor": "2"}, "factor"),
        ({"backoff": "expontial"}, "exponential"),
        ({"jitter": "half"}, "jitter"),
        ({"backoff": "decorrelated", "jitter": "equal"}, "random by itself"),
        ({"on": "network"}, r"on=\['network'\]"),
        ({"per_kind": {"network": {"base": 1}}}, "base_s"),
        ({"per_kind": {"network": 3}}, "network"),
        ({"per_kind": {"network": {"base_s": -1}}}, "base_s"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], word: str) -> None:
    """A wrong option is refused where it is written, by its name and with what would be right."""
    with pytest.raises(UsageError, match=word):
        Retry(**values)


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"on": ["timeot"]}, "timeout"),
        ({"on": ["Timeout"]}, "timeout"),
        ({"per_kind": {"rate_limitd": {"base_s": 1}}}, "rate_limited"),
    ],
)
def test_a_slip_in_a_kind_is_refused(options: dict[str, Any], meant: str) -> None:
    """A word that is nearly a kind would never match anything; the error names the kind that was meant."""
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        Retry(**options)


def test_kinds_of_your_own_are_kinds() -> None:
    """Kinds are an open set: a word that is near to no known one is taken as it is."""
    assert Retry(on=["warehouse_closed", "timeout"]).on == {"warehouse_closed", "timeout"}
    assert Retry(per_kind={"warehouse_closed": {"base_s": 9}}).of_kind("warehouse_closed").base_s == 9


def test_a_kind_is_a_word() -> None:
    """What is no text is refused with a sentence."""
    with pytest.raises(UsageError, match="kinds of errors"):
        Retry(on=[503])  # type: ignore[list-item]
