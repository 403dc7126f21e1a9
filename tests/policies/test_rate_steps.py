"""The rate step by step: what each call is told, what is left, and where the edges are."""

import pytest

from failsoft.policies import Rate, Reservation


@pytest.mark.parametrize(
    ("words", "unit_s"),
    [
        (("s", "sec", "second", "seconds"), 1),
        (("m", "min", "minute", "minutes"), 60),
        (("h", "hour", "hours"), 3_600),
        (("d", "day", "days"), 86_400),
    ],
)
def test_every_unit_has_its_words(words: tuple[str, ...], unit_s: int) -> None:
    """Short and long words mean the same, in letters of any size, once or several times the unit."""
    for word in words:
        assert Rate(f"6/{word}") == Rate(6, unit_s)
        assert Rate(f" 6 PER 1.5 {word.upper()} ") == Rate(6, 1.5 * unit_s)
        assert Rate(f"6/10{word}").per_s == 10 * unit_s


def test_what_is_left_of_a_burst() -> None:
    """Each call takes one of the burst, each interval gives one back, and no more than the burst comes together."""
    state = Rate(10, 10, burst=3).start()
    seen = []
    for now in (0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.5):
        said = state.decide(now)
        stats = state.stats(now)
        seen.append((said, stats.available, stats.next_in_s, stats.admitted, stats.refused))
    assert seen == [
        (0.0, 2, 0.0, 1, 0),
        (0.0, 1, 0.0, 2, 0),
        (0.0, 0, 1.0, 3, 0),
        (0.5, 0, 0.5, 3, 1),
        (0.0, 0, 1.0, 4, 1),
        (1.0, 0, 1.0, 4, 2),
        (0.0, 0, 1.0, 5, 2),
        (0.0, 0, 0.5, 6, 2),
    ]
    for now, available in ((3.999999, 0), (4.0, 1), (5.0, 2), (5.999999, 2), (6.0, 3), (600.0, 3)):
        stats = state.stats(now)
        assert stats.available == available, now
        assert stats.next_in_s == state.next_in(now)
        assert (stats.next_in_s > 0) == (available == 0)


def test_the_burst_is_the_limit_where_it_is_not_given() -> None:
    """Four a minute may come at once; with a burst of one only the first."""
    assert Rate("4/minute").start().stats(0.0).available == 4
    assert Rate(4, 60, burst=1).start().stats(0.0).available == 1
    assert Rate(4, 60, burst=9).start().stats(0.0).available == 9


@pytest.mark.parametrize("now", [0.0, -1e6, 1e9])
def test_the_clock_may_begin_anywhere(now: float) -> None:
    """A fresh state has its whole burst, whatever the clock says, below zero too."""
    state = Rate(2, 1).start()
    assert state.stats(now).available == 2
    assert state.next_in(now) == 0
    assert [state.decide(now) for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_third_of_a_second_is_told_as_one_that_is_not_early() -> None:
    """A wait that is no whole number of nanoseconds is rounded up to the next one."""
    state = Rate(3, 1, burst=1).start()
    assert state.decide(0.0) == 0
    assert state.decide(0.0) == state.next_in(0.0) == 0.333333334
    assert state.decide(0.333333333) == 1e-9
    assert state.decide(0.333333334) == 0


def test_the_shortest_interval_is_a_nanosecond_for_the_whole_limit() -> None:
    """A time too short to be told apart from none is a nanosecond, and not a division by nothing."""
    for per_s in (1e-9, 1e-12):
        state = Rate(1, per_s).start()
        assert state.decide(0.0) == 0
        assert state.decide(0.0) == 1e-9


def test_a_turn_that_is_due_exactly_at_the_end_of_the_wait_is_taken() -> None:
    """The longest wait is included; a turn that was not taken is still there."""
    state = Rate(1, 2).start()
    first, second, third = state.reserve(5.0, 0.0), state.reserve(5.0, 2.0), state.reserve(5.0, 3.999)
    assert first == Reservation(wait_s=0.0, turn=1)
    assert second == Reservation(wait_s=2.0, turn=2)
    assert third is None
    assert state.reserve(5.0, 4.0) == Reservation(wait_s=4.0, turn=3)
    assert (state.stats(5.0).admitted, state.stats(5.0).refused) == (3, 1)
    assert state.reserve(100.0, 0.0) == Reservation(wait_s=0.0, turn=4), "an old turn is never told as a debt"


def test_reserving_spends_the_burst_first() -> None:
    """The burst goes at once, then one turn an interval; each that comes too late is counted as refused."""
    state = Rate(3, 6).start()
    turns = [state.reserve(0.0, 4.0) for _ in range(7)]
    assert [turn and turn.wait_s for turn in turns] == [0.0, 0.0, 0.0, 2.0, 4.0, None, None]
    assert (state.stats(0.0).admitted, state.stats(0.0).refused) == (5, 2)
    assert state.next_in(0.0) == 6.0


def test_a_turn_given_back_is_the_next_ones() -> None:
    """The count and the time go back together; a turn that was given back twice, or is not the last, stays spent."""
    state = Rate(1, 1).start()
    first, second = state.reserve(0.0, 9), state.reserve(0.0, 9)
    assert first is not None
    assert second is not None
    assert not state.cancel(first)
    assert state.stats(0.0).admitted == 2
    assert state.cancel(second)
    assert state.stats(0.0).admitted == 1
    assert not state.cancel(second)
    assert state.stats(0.0).next_in_s == 1.0
    assert state.reserve(0.0, 9) == second
    assert state.cancel(second)
    assert state.cancel(first)
    assert (state.stats(0.0).admitted, state.stats(0.0).available) == (0, 1)


def test_a_hint_counts_from_now_and_only_lengthens() -> None:
    """Nobody goes until it is over, then one at once; it is in seconds of the clock, whatever the limit."""
    state = Rate(4, 2, burst=2).start()
    state.hold(10.0, 1.5)
    assert state.next_in(10.0) == 1.5
    assert state.next_in(11.0) == 0.5
    state.hold(11.0, 0.25)
    assert state.next_in(11.0) == 0.5
    state.hold(11.0, 0.75)
    assert state.next_in(11.0) == 0.75
    assert state.decide(11.7) == 0.05
    assert state.decide(11.75) == 0
    assert state.decide(11.75) == 0.5, "the burst is not given back by waiting for others"
    state.hold(20.0, 0.0)
    assert state.decide(20.0) == 0


def test_a_clock_that_goes_back_stands_still_until_it_has_caught_up() -> None:
    """The wait is told from the latest moment seen, not from before it."""
    state = Rate(1, 10).start()
    assert state.decide(100.0) == 0
    assert state.next_in(104.0) == 6
    for now in (0.0, 103.0, 104.0):
        assert state.next_in(now) == 6
        assert state.stats(now).next_in_s == 6
        assert state.decide(now) == 6
    assert state.next_in(105.0) == 5


def test_a_rate_shows_its_limit_its_time_and_how_many_went() -> None:
    """The representation of a state and the numbers of its options."""
    state = Rate("30/2minutes").start()
    state.decide(0.0)
    assert repr(state) == "RateState(30/120s, admitted=1)"
    assert state.options == Rate(30, 120.0)
    assert (state.options.calls, state.options.burst, state.options.max_wait_s) == (30, None, None)
    assert type(Rate(3, 2).per_s) is float


def test_the_wait_is_the_shorter_of_the_options_and_what_is_left() -> None:
    """Either bounds it, and a call whose time is over waits no time at all."""
    assert Rate(1, 1).wait_limit_s(0.5) == 0.5
    assert Rate(1, 1, max_wait_s=3).wait_limit_s(0.5) == 0.5
    assert Rate(1, 1, max_wait_s=0.25).wait_limit_s(0.5) == 0.25
    assert Rate(1, 1, max_wait_s=0).wait_limit_s(0.5) == 0
    assert Rate(1, 1).wait_limit_s(-1) == 0
