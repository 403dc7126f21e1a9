"""Breakers that others move: a person, the rest of a fleet, or a registry that forgets them."""

import random
from typing import Any

import pytest

from failsoft.policies import Breaker, BreakerSite, BreakerState
from failsoft.policies.breaker_state import new_state
from tests.policies.breakers import Noted, fail, start, succeed


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
    made = Breaker().start(rng=random.Random(1))
    assert (made.site.name, made.site.lease_s, made.key) == ("", 31.0, "")
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
