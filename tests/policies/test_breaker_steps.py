"""The breaker step by step: every number, reason and moment of an opening, a probe and a closing."""

import random
from typing import Any

import pytest

from failsoft.policies import Breaker, BreakerChange, BreakerSite, BreakerState
from failsoft.policies.breaker_state import new_state


def start(listener: Any = None, lease_s: float = 31.0, rng: Any = None, **options: Any) -> BreakerState:
    """A fresh breaker that one hard failure opens for thirty seconds, unless the options say otherwise."""
    values = {"hard_failures": 1, "jitter": 0, **options}
    return Breaker(**values).start(
        rng=rng or random.Random(1), name="tool", listener=listener, lease_s=lease_s
    )


def fail(breaker: BreakerState, now: float = 0.0, *, times: int = 1, hard: bool = True) -> None:
    """That many failures at one moment."""
    for _ in range(times):
        assert breaker.failure(breaker.admit(now), now, hard)


def succeed(breaker: BreakerState, now: float = 0.0, *, times: int = 1, duration_s: float = 0.1) -> None:
    """That many successes at one moment."""
    for _ in range(times):
        assert breaker.success(breaker.admit(now), duration_s, now)


def fill(breaker: BreakerState, outcomes: str) -> None:
    """Slow successes (l), slow failures (b) and soft failures (f), in that order."""
    for letter in outcomes:
        if letter == "l":
            succeed(breaker, duration_s=9.0)
        else:
            assert breaker.failure(breaker.admit(0.0), 0.0, False, 9.0 if letter == "b" else 0.0)


class Noted:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.changes: list[BreakerChange] = []

    def __call__(self, change: BreakerChange) -> None:
        self.changes.append(change)

    def steps(self) -> list[tuple[str, str, str, float]]:
        """From, to, why and for how long, of each change."""
        return [(each.before, each.after, each.reason, each.open_s) for each in self.changes]


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


def test_jitter_shortens_an_opening_by_at_most_its_share() -> None:
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
        breaker = start(jitter=0.2, rng=luck)
        succeed(breaker, times=50)
        assert luck.draws == 0, "a good call needs no luck"
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


# ---- by hand ----


def test_opening_by_hand_holds_and_counts() -> None:
    """Held until told otherwise: no wait can be told, each opening counts, and nothing is let through."""
    noted = Noted()
    breaker = start(noted)
    succeed(breaker, times=3)
    breaker.open(5)
    breaker.open(6)
    stats = breaker.stats(10**6)
    assert (stats.state, stats.held, stats.opened, stats.retry_after_s) == ("open", True, 2, None)
    assert (stats.calls, breaker.admit(10**6)) == (3, 0)
    assert noted.steps() == [("closed", "open", "manual", 30.0), ("open", "open", "manual", 30.0)]
    assert [change.at for change in noted.changes] == [5, 6]


def test_opening_for_a_time_is_not_held() -> None:
    """It probes after that time, says why it was opened, and a failed probe makes it grow from the options' length."""
    noted = Noted()
    breaker = start(noted)
    breaker.open(0, for_s=7, reason="deploy")
    stats = breaker.stats(1)
    assert (stats.held, stats.opened, stats.retry_after_s) == (False, 1, 6)
    assert not breaker.admit(6.9)
    fail(breaker, 7)
    assert breaker.retry_after(7) == 60
    assert noted.steps()[0] == ("closed", "open", "deploy", 7)


def test_openings_that_others_counted_go_on_from_their_number() -> None:
    """The fourth opening of a fleet is followed by one as long as the fifth."""
    breaker = start(max_open_s=10**6)
    breaker.open(0, for_s=1, opened=4)
    assert breaker.stats(0).opened == 4
    fail(breaker, 1)
    assert breaker.stats(1).opened == 5
    assert breaker.retry_after(1) == 30 * 2**4


def test_a_second_opening_by_hand_goes_on_counting() -> None:
    """After two failed probes an opening by hand is the fourth in the row."""
    breaker = start()
    fail(breaker, 0)
    fail(breaker, 30)
    fail(breaker, 90)
    breaker.open(91, for_s=1)
    assert breaker.stats(91).opened == 4


def test_closing_by_hand_empties_the_window() -> None:
    """What was counted is gone, the reason is told, and it goes on deciding by itself."""
    noted = Noted()
    breaker = start(noted, hard_failures=3, slow_s=1)
    fail(breaker, times=2)
    succeed(breaker, duration_s=2)
    breaker.close(4, reason="fixed")
    stats = breaker.stats(4)
    assert (stats.calls, stats.failed, stats.slow, stats.hard_in_row, stats.held) == (0, 0, 0, 0, False)
    assert noted.steps() == [("closed", "closed", "fixed", 0.0)]
    fail(breaker, 5, times=3)
    assert breaker.state == "open"
    breaker.close(6)
    assert noted.steps()[-1] == ("open", "closed", "manual", 0.0)


def test_held_closed_lets_everything_through_and_counts_nothing() -> None:
    """Permits are given, ignored calls are known, outcomes change nothing until `auto()` or `open()`."""
    noted = Noted()
    breaker = start(noted)
    breaker.close(0, hold=True)
    permit = breaker.admit(1)
    assert permit == breaker.generation == 2
    assert breaker.ignore(permit)
    assert not breaker.ignore(permit - 1)
    assert not breaker.failure(permit, 1)
    assert not breaker.success(permit, 0.1, 1)
    stats = breaker.stats(1)
    assert (stats.state, stats.held, stats.opened, stats.retry_after_s) == ("closed", True, 0, 0)
    breaker.auto(2)
    assert noted.steps() == [("closed", "closed", "manual", 0.0)] * 2
    assert noted.changes[-1].at == 2
    assert not breaker.ignore(permit), "a permit of the time when it was held is old"
    fail(breaker, 3)
    assert breaker.state == "open"


def test_an_ignored_call_of_a_closed_breaker_is_known_by_its_permit() -> None:
    """The current permit is good, one of before a change is not."""
    breaker = start()
    permit = breaker.admit(0)
    assert breaker.ignore(permit)
    breaker.close(1)
    assert not breaker.ignore(permit)
    assert breaker.ignore(breaker.admit(1))


def test_deciding_by_itself_again_changes_only_what_was_held() -> None:
    """A breaker that is closed or open of itself goes on as it was; one held open lets a probe through at once."""
    noted = Noted()
    breaker = start(noted)
    succeed(breaker, times=2)
    breaker.auto(0)
    assert breaker.stats(0).calls == 2
    fail(breaker, 1)
    breaker.auto(2)
    assert breaker.retry_after(2) == 29
    breaker.open(3)
    told = len(noted.changes)
    breaker.auto(4)
    assert len(noted.changes) == told
    assert (breaker.state, breaker.stats(4).held, breaker.retry_after(4)) == ("open", False, 0)
    assert breaker.admit(4)


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


# ---- forgetting ----


def test_a_breaker_is_idle_when_forgetting_it_loses_only_a_window() -> None:
    """Closed, or open and over, with no probe running and nothing held."""
    breaker = start()
    assert breaker.is_idle(0)
    fail(breaker, 0)
    assert not breaker.is_idle(29.9)
    assert breaker.is_idle(30)
    permit = breaker.admit(30)
    assert not breaker.is_idle(30)
    breaker.ignore(permit)
    assert breaker.is_idle(30)
    breaker.open(31)
    assert not breaker.is_idle(10**6)
    breaker.close(32, hold=True)
    assert not breaker.is_idle(10**6)
    breaker.close(33)
    assert breaker.is_idle(33)


# ---- the rest of a fleet ----


class Gate:
    """A gate that keeps what it was asked and told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    async def admit(self, breaker: BreakerState, remaining_s: float) -> int:
        """Never asked by a breaker itself."""
        raise AssertionError("the driver asks the gate")

    def let_go(self, breaker: BreakerState, permit: int) -> None:
        """A probe was given back."""
        self.told.append(("let go", breaker, permit))

    def joined(self, breaker: BreakerState) -> None:
        """A breaker was made."""
        self.told.append(("joined", breaker))


def behind(gate: Gate, **options: Any) -> BreakerState:
    """A breaker of a fleet, opened at time 0."""
    site = BreakerSite(
        Breaker(**{"hard_failures": 1, "jitter": 0, **options}), rng=random.Random(1), name="tool", gate=gate
    )
    breaker = new_state(site, "key")
    breaker.failure(breaker.admit(0), 0)
    assert breaker.state == "open"
    return breaker


@pytest.mark.parametrize("window_s", [None, 10.0])
def test_a_gate_is_told_of_each_breaker_once(window_s: float | None) -> None:
    """Also of one over a time; and nothing more is asked while calls go through a closed one."""
    gate = Gate()
    breaker = behind(gate, window_s=window_s)
    assert gate.told == [("joined", breaker)]
    assert breaker.key == "key"


def test_behind_a_gate_only_its_holder_probes() -> None:
    """When the opening is over a plain call is still refused; whoever asked the gate is let through, once."""
    gate = Gate()
    breaker = behind(gate)
    assert breaker.admit(30) == 0
    assert breaker.state == "open"
    assert breaker.probe(29) == 0
    permit = breaker.probe(30)
    assert permit
    assert breaker.state == "half_open"
    assert breaker.probe(30) == breaker.admit(30) == 0
    assert breaker.success(permit, 0.1, 31)
    assert breaker.admit(31) == breaker.generation
    assert len(gate.told) == 1


def test_a_gate_hears_of_probes_that_were_given_back() -> None:
    """Of a probe that runs, once; of a stale permit and of calls while it is closed nothing."""
    gate = Gate()
    breaker = behind(gate)
    assert not breaker.ignore(1)
    permit = breaker.probe(30)
    assert breaker.ignore(permit)
    assert not breaker.ignore(permit)
    assert gate.told[1:] == [("let go", breaker, permit)]
    breaker.close(31)
    assert breaker.ignore(breaker.admit(31))
    assert len(gate.told) == 2


def test_a_site_makes_the_options_ready() -> None:
    """What is not given is taken from the caller or switched off; ten calls never stand in a window of five."""

    def site(**options: Any) -> BreakerSite:
        return BreakerSite(Breaker(**options), rng=random.Random(1))

    plain = site()
    assert (plain.name, plain.lease_s, plain.slow_s, plain.window, plain.min_calls) == (
        "",
        31.0,
        float("inf"),
        20,
        10,
    )
    assert (plain.gate, plain.listener) == (None, None)
    assert site(probe_lease_s=2).lease_s == 2
    assert site(slow_s=3).slow_s == 3
    assert site(window=5).min_calls == 5
    assert site(window=5, window_s=60).min_calls == 10


def test_a_breaker_without_a_listener_works_and_has_its_own_name() -> None:
    """Nobody need listen; key and generation show in its representation."""
    breaker = new_state(BreakerSite(Breaker(hard_failures=1, jitter=0), rng=random.Random(1)), "host")
    assert breaker.used is False
    fail(breaker)
    assert repr(breaker) == "BreakerState('host', open, generation=2)"
    assert breaker.stats(0).key == "host"
