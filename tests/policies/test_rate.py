"""Rate: exact turns, in order, never early."""

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given

from failsoft.core.errors import UsageError
from failsoft.policies import Rate


@pytest.mark.parametrize(
    ("text", "limit", "per_s"),
    [
        ("30/minute", 30, 60),
        ("5/s", 5, 1),
        ("100 per 15 minutes", 100, 900),
        ("1/2.5s", 1, 2.5),
        ("10 / hour", 10, 3600),
        ("7/Day", 7, 86400),
        ("3/min", 3, 60),
    ],
)
def test_rate_reads_words(text: str, limit: int, per_s: float) -> None:
    """A rate in words is read as people write it."""
    assert Rate(text) == Rate(limit, per_s)
    assert Rate(text).calls == limit


@pytest.mark.parametrize(
    "text", ["", "30", "minute", "30/fortnight", "-1/s", "0/s", "1/0s", "1e3/s", "٣/s", "3/ss"]
)
def test_rate_refuses_other_words(text: str) -> None:
    """What is not a rate is refused when it is written down."""
    with pytest.raises(UsageError):
        Rate(text)


def test_rate_needs_its_time_and_says_so() -> None:
    """A number without its time, words with one, and values that cannot work are refused."""
    with pytest.raises(UsageError, match="30/minute"):
        Rate(5)
    with pytest.raises(UsageError, match="per_s"):
        Rate("5/s", 3)
    for values in ({"burst": 0}, {"max_wait_s": -1}, {"max_wait_s": float("nan")}):
        with pytest.raises(UsageError):
            Rate(5, 1, **values)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"Rate\.limit"):
        Rate(0, 1)


def test_burst_then_evenly() -> None:
    """After a silence the burst goes at once, then one call an interval."""
    state = Rate("30/minute").start()
    assert [state.decide(100.0) for _ in range(30)] == [0.0] * 30
    assert state.decide(100.0) == 2.0
    assert state.decide(101.5) == 0.5
    assert state.decide(102.0) == 0.0
    assert state.stats(102.0).admitted == 31
    assert state.stats(102.0).refused == 2
    assert state.stats(102.0).available == 0
    assert state.stats(10_000.0).available == 30


@given(
    limit=st.integers(1, 7),
    per_s=st.sampled_from([1, 2, 7, 60]),
    burst=st.integers(1, 5),
    steps=st.lists(st.integers(0, 3000), max_size=60),
)
def test_decisions_are_those_of_exact_fractions(limit: int, per_s: int, burst: int, steps: list[int]) -> None:
    """Every decision and wait is that of the algorithm in exact fractions, at whatever milliseconds."""
    state = Rate(limit, per_s, burst=burst).start()
    interval = Fraction(per_s, limit)
    arrival, milliseconds = Fraction(-(10**9)), 0
    for step in steps:
        milliseconds += step
        now = Fraction(milliseconds, 1000)
        wait = arrival - interval * (burst - 1) - now
        said = state.decide(milliseconds / 1000)
        if wait > 0:
            assert abs(Fraction(said) - wait) <= Fraction(1, 10**9)
        else:
            assert said == 0
            arrival = max(arrival, now) + interval


def test_nothing_drifts() -> None:
    """A third of a second is a third: a million turns take exactly as long as they should."""
    state = Rate(3, 1, burst=1).start()
    now = 0.0
    for _ in range(3000):
        reservation = state.reserve(now, 10)
        assert reservation is not None
        now += reservation.wait_s
    assert abs(now - 2999 / 3) < 1e-5


def test_waiting_as_told_is_never_early() -> None:
    """Who waits exactly as long as told goes."""
    state = Rate(7, 3, burst=1).start()
    now = 12.345678
    for _ in range(500):
        wait_s = state.decide(now)
        if wait_s:
            now += wait_s + 1e-9
            assert state.decide(now) == 0.0


@given(times=st.lists(st.integers(0, 4000), max_size=80), limit=st.integers(1, 5))
def test_even_spacing_keeps_the_limit_in_every_stretch(times: list[int], limit: int) -> None:
    """With a burst of one, no stretch of `per_s` seconds holds more than `limit` calls."""
    state = Rate(limit, 1, burst=1).start()
    went = [at / 1000 for at in sorted(times) if state.decide(at / 1000) == 0]
    for end in went:
        assert sum(1 for at in went if end - 1 + 1e-6 < at <= end) <= limit


def test_reserving_takes_turns_in_order_and_within_the_wait() -> None:
    """Turns are given in the order of asking; one that is due too late is not taken."""
    state = Rate(1, 1).start()
    waits = [state.reserve(0.0, 10) for _ in range(3)]
    assert [turn.wait_s for turn in waits if turn] == [0.0, 1.0, 2.0]
    assert state.reserve(0.0, 2.5) is None
    assert state.next_in(0.0) == 3.0
    assert state.stats(0.0).refused == 1


def test_only_the_last_turn_can_be_given_back() -> None:
    """A turn that was not used is given back when nobody stands behind it, else it stays spent."""
    state = Rate(1, 1).start()
    first, second = state.reserve(0.0, 9), state.reserve(0.0, 9)
    assert first is not None
    assert second is not None
    assert not state.cancel(first)
    assert state.next_in(0.0) == 2.0
    assert state.cancel(second)
    assert state.next_in(0.0) == 1.0
    assert not state.cancel(second)


def test_a_hint_holds_for_all() -> None:
    """When the service says to wait, nobody goes before, burst or not; a shorter hint does not shorten it."""
    state = Rate(10, 1).start()
    state.decide(0.0)
    state.hold(0.0, 20)
    state.hold(0.0, 5)
    assert state.decide(0.0) == 20.0
    assert state.stats(0.0).available == 0
    assert state.stats(0.0).next_in_s == 20.0
    assert state.decide(19.9) > 0
    assert state.decide(20.0) == 0.0


def test_a_clock_that_goes_back_gives_no_turn_twice() -> None:
    """After a jump back the turns that were given stay given."""
    state = Rate(2, 1).start()
    assert [state.decide(100.0), state.decide(100.0)] == [0.0, 0.0]
    assert state.decide(50.0) == 0.5
    assert state.decide(100.5) == 0.0


def test_wait_limits() -> None:
    """A call waits at most as long as it has left, and as the option says."""
    assert Rate(1, 1).wait_limit_s(5) == 5
    assert Rate(1, 1, max_wait_s=2).wait_limit_s(5) == 2
    assert Rate(1, 1, max_wait_s=2).wait_limit_s(-1) == 0
    assert "admitted=0" in repr(Rate(1, 1).start())
