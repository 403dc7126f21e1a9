"""The breaker step by step: every number, reason and moment of an opening, a probe and a closing."""

import random
from typing import Any

import pytest

from tests.policies.breakers import Noted, fail, fill, start, succeed


@pytest.mark.parametrize(
    ("options", "outcomes", "reason"),
    [
        ({"hard_failures": None, "min_calls": 4}, "ffff", "failure_rate"),
        ({"hard_failures": None, "min_calls": 4, "slow_s": 5}, "llll", "slow_rate"),
        ({"hard_failures": None, "min_calls": 4, "slow_s": 5}, "bbbb", "failure_rate"),
        ({"hard_failures": None, "min_calls": 4, "slow_s": 5, "slow_rate": 0.75, "failure_rate": 1}, "flll", "slow_rate"),
        ({"hard_failures": 3, "failure_rate": 1, "min_calls": 9}, None, "hard_failures"),
    ],
)  # fmt: skip
def test_the_reason_of_an_opening_is_what_reached_its_limit(
    options: dict[str, Any], outcomes: str | None, reason: str
) -> None:
    """Each limit opens exactly when it is reached, not a call earlier, and names itself."""
    noted = Noted()
    breaker = start(noted, **options)
    if outcomes is None:
        fail(breaker, times=2)
        assert breaker.state == "closed"
        fail(breaker)
    else:
        fill(breaker, outcomes[:-1])
        assert breaker.state == "closed"
        fill(breaker, outcomes[-1])
    assert breaker.state == "open"
    assert noted.steps() == [("closed", "open", reason, 30.0)]


def test_slow_calls_below_their_share_open_nothing() -> None:
    """Three slow ones of five, where four of five are needed."""
    breaker = start(hard_failures=None, min_calls=4, slow_s=5, slow_rate=0.8, failure_rate=1)
    fill(breaker, "lllff")
    assert breaker.state == "closed"
    assert (breaker.stats(0).calls, breaker.stats(0).slow) == (5, 3)


@pytest.mark.parametrize("window_s", [None, 10.0])
def test_a_call_is_slow_when_it_takes_longer_than_said(window_s: float | None) -> None:
    """Exactly so long is not slow, for a success, for a failure, and for a probe."""
    breaker = start(hard_failures=None, slow_s=5, window_s=window_s)
    succeed(breaker, duration_s=5)
    breaker.failure(breaker.admit(0), 0, False, 5)
    assert breaker.stats(0).slow == 0
    succeed(breaker, duration_s=5.01)
    breaker.failure(breaker.admit(0), 0, False, 5.01)
    assert breaker.stats(0).slow == 2
    breaker.open(0, for_s=1)
    succeed(breaker, 1, duration_s=5)
    assert breaker.state == "closed"


def test_a_failure_is_hard_and_takes_no_time_unless_said_otherwise() -> None:
    """The plain report of a failure counts towards the row of hard ones, and not as slow."""
    breaker = start(hard_failures=2, slow_s=0.001)
    breaker.failure(breaker.admit(0), 0)
    stats = breaker.stats(0)
    assert (stats.failed, stats.hard_in_row, stats.slow) == (1, 1, 0)


@pytest.mark.parametrize("window_s", [None, 1000.0])
def test_a_row_of_hard_failures_is_kept_by_soft_ones_and_ended_by_a_success(window_s: float | None) -> None:
    """The row is told by the numbers after each call."""
    breaker = start(hard_failures=9, min_calls=100, window=100, window_s=window_s)
    seen = []
    for letter in "hhfhslhs":
        permit = breaker.admit(0)
        if letter in "sl":
            breaker.success(permit, 0.1, 0)
        else:
            breaker.failure(permit, 0, letter == "h")
        seen.append(breaker.stats(0).hard_in_row)
    assert seen == [1, 2, 2, 3, 0, 0, 1, 0]


def test_a_slow_success_ends_the_row_of_hard_failures() -> None:
    """Whoever answers late is alive."""
    breaker = start(hard_failures=3, slow_s=1)
    fail(breaker, times=2)
    succeed(breaker, duration_s=2)
    assert breaker.stats(0).hard_in_row == 0


def test_the_numbers_of_an_opening_and_its_probes() -> None:
    """State, generation, openings, wait and running probes after every step of two openings and a closing."""
    noted = Noted()
    breaker = start(noted, lease_s=100)
    seen: list[tuple[Any, ...]] = []

    def look(now: float) -> None:
        stats = breaker.stats(now)
        seen.append((stats.state, stats.generation, stats.opened, stats.retry_after_s, stats.probes_running))

    look(0)
    fail(breaker, 0)
    look(10)
    first = breaker.admit(30)
    look(30)
    breaker.failure(first, 31)
    look(31)
    second = breaker.admit(91)
    look(100)
    breaker.success(second, 9, 100)
    look(100)
    assert seen == [
        ("closed", 1, 0, 0.0, 0),
        ("open", 2, 1, 20.0, 0),
        ("half_open", 3, 1, 30.0, 1),
        ("open", 4, 2, 60.0, 0),
        ("half_open", 5, 2, 30.0, 1),
        ("closed", 6, 0, 0.0, 0),
    ]
    assert noted.steps() == [
        ("closed", "open", "hard_failures", 30.0),
        ("open", "half_open", "time_over", 0.0),
        ("half_open", "open", "probe_failed", 60.0),
        ("open", "half_open", "time_over", 0.0),
        ("half_open", "closed", "probes_succeeded", 0.0),
    ]
    assert [change.at for change in noted.changes] == [0, 30, 31, 91, 100]
    assert {change.name for change in noted.changes} == {"tool"}
    assert (first, second) == (3, 5)


def test_the_wait_of_a_running_probe_is_what_is_left_of_its_lease() -> None:
    """It shrinks with the time, is never longer than an opening, and ends with the lease."""
    breaker = start(lease_s=12)
    fail(breaker, 0)
    assert breaker.admit(30)
    assert [breaker.retry_after(now) for now in (30, 35, 41.5)] == [12, 7, 0.5]
    assert breaker.stats(41.5).probes_running == 1
    stats = breaker.stats(42)
    assert (stats.probes_running, stats.retry_after_s, breaker.retry_after(42)) == (0, 0, 0)
    assert breaker.admit(42)


def test_a_free_probe_is_waited_for_no_time() -> None:
    """Of two probes one runs: the other may go now; when both run, the first lease to end counts."""
    breaker = start(lease_s=12, probes=2)
    fail(breaker, 0)
    assert breaker.admit(30)
    assert breaker.retry_after(31) == 0
    assert breaker.admit(34)
    assert breaker.retry_after(35) == 7
    assert not breaker.admit(41.9)
    assert breaker.admit(42)


def test_a_success_is_kept_while_the_other_probe_is_lost() -> None:
    """A lost probe's turn is given again, and with it the breaker closes."""
    breaker = start(lease_s=12, probes=2)
    fail(breaker, 0)
    good, lost = breaker.admit(30), breaker.admit(30)
    assert breaker.success(good, 0.1, 31)
    assert not breaker.admit(31)
    assert breaker.retry_after(31) == 11
    again = breaker.admit(42)
    assert again not in (0, good, lost)
    assert breaker.success(again, 0.1, 43)
    assert breaker.state == "closed"
    assert not breaker.success(lost, 0.1, 43)


def test_probes_that_succeeded_leave_no_wait() -> None:
    """When the last probe was ignored after the others succeeded, the next may go at once."""
    breaker = start(probes=2)
    fail(breaker, 0)
    good, other = breaker.admit(30), breaker.admit(30)
    breaker.success(good, 0.1, 30)
    assert breaker.ignore(other)
    assert breaker.retry_after(30) == 0
    succeed(breaker, 30)
    assert breaker.state == "closed"


def test_a_lease_after_the_clock_went_back_lasts_at_most_its_own_length() -> None:
    """The wait and the turn follow the clock as it is now."""
    breaker = start(lease_s=12)
    fail(breaker, 1000)
    assert breaker.admit(1030)
    assert breaker.retry_after(500) == 12
    assert not breaker.admit(511)
    assert breaker.admit(512)


@pytest.mark.parametrize("window_s", [None, 1000.0])
def test_a_success_never_opens_whatever_stands_in_the_window(window_s: float | None) -> None:
    """Though half of ten calls have failed when it comes; the next failure opens."""
    breaker = start(hard_failures=None, window_s=window_s)
    fail(breaker, times=5, hard=False)
    succeed(breaker, times=5)
    assert (breaker.stats(0).calls, breaker.stats(0).failed, breaker.state) == (10, 5, "closed")
    fail(breaker, hard=False)
    assert breaker.state == "open"


@pytest.mark.parametrize("window_s", [None, 1000.0])
def test_jitter_shortens_an_opening_by_at_most_its_share(window_s: float | None) -> None:
    """The luck of the draw decides how much of the share; an average one takes half."""

    class Luck(random.Random):
        """Always the same draw."""

        def __init__(self, value: float) -> None:
            super().__init__()
            self.value = value
            self.draws = 0

        def random(self) -> float:
            self.draws += 1
            return self.value

    for value, wait_s in ((0.0, 30.0), (0.5, 27.0), (1.0, 24.0)):
        luck = Luck(value)
        breaker = start(jitter=0.2, rng=luck, window_s=window_s)
        succeed(breaker, times=50)
        breaker.open(0, for_s=1)
        succeed(breaker, 1)
        assert luck.draws == 0, "a good call and a good probe need no luck"
        fail(breaker)
        assert breaker.retry_after(0) == pytest.approx(wait_s)
        assert breaker.stats(0).retry_after_s == breaker.retry_after(0)


def test_growth_is_the_factor_that_was_said() -> None:
    """Openings of 10, 30, 90 and, cut at the longest, 100 seconds."""
    breaker, now, lengths = start(open_s=10, open_factor=3, max_open_s=100), 0.0, []
    for _ in range(4):
        fail(breaker, now)
        lengths.append(breaker.retry_after(now))
        now += lengths[-1] or 0
    assert lengths == [10, 30, 90, 100]


def test_a_permit_of_a_quiet_time_ends_with_it() -> None:
    """A full window of successes needs no writing, but its permit is stale after an opening all the same."""
    breaker = start(window=3, min_calls=1)
    succeed(breaker, times=10)
    permit = breaker.admit(0)
    assert breaker.success(permit, 0.1, 0) is True
    breaker.open(1, for_s=1)
    assert breaker.success(permit, 0.1, 1) is False
    succeed(breaker, 2)
    assert breaker.stats(2).calls == 0
    assert breaker.success(permit, 0.1, 2) is False


def test_a_failure_in_a_quiet_time_is_pushed_out_by_as_many_calls_as_the_window_has() -> None:
    """The window fills, falls quiet, takes a failure in and lets it go again, call by call."""
    breaker = start(window=3, hard_failures=None, failure_rate=1)
    succeed(breaker, times=5)
    fail(breaker)
    seen = []
    for _ in range(5):
        seen.append(breaker.stats(0).failed)
        succeed(breaker)
    assert seen == [1, 1, 1, 0, 0]
    assert breaker.stats(0).calls == 3
