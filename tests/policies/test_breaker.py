"""The breaker: when it opens, for how long, how it closes, and what it tells."""

import random
from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import Breaker, BreakerChange, BreakerState


def start(listener: Any = None, lease_s: float = 31.0, **options: Any) -> BreakerState:
    """A fresh breaker whose openings are exactly as long as said."""
    return Breaker(**{"jitter": 0, **options}).start(
        rng=random.Random(1), name="tool", listener=listener, lease_s=lease_s
    )


def run(breaker: BreakerState, outcomes: str, now: float = 0.0) -> None:
    """One call for each letter: s(uccess), f(ailure, soft), h(ard failure), i(gnored), l(ate, slow success)."""
    for letter in outcomes:
        permit = breaker.admit(now)
        assert permit, outcomes
        if letter in "sl":
            breaker.success(permit, 9.0 if letter == "l" else 0.1, now)
        elif letter == "i":
            breaker.ignore(permit)
        else:
            breaker.failure(permit, now, letter == "h")


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ("hhhh", "closed"),
        ("hhhhh", "open"),
        ("hhhhshhhh", "closed"),
        ("hhhhfh", "open"),
        ("hhhhih", "open"),
        ("fffffffff", "closed"),
        ("ffffffffff", "open"),
        ("fffffsssss", "closed"),
        ("sssssfffff", "open"),
        ("ssssssffff", "closed"),
        ("iiiiiiiiiiiiiiiiiiiiiiiii", "closed"),
        ("fffffiiiiiiiiii", "closed"),
        ("s" * 20 + "f" * 9, "closed"),
        ("s" * 20 + "f" * 10, "open"),
        ("s" * 500 + "f" * 10, "open"),
    ],
)
def test_opens_by_the_defaults(outcomes: str, state: str) -> None:
    """Half of at least ten of the last twenty calls, or five hard failures in a row, open; ignored ones are air."""
    breaker = start()
    run(breaker, outcomes)
    assert breaker.state == state


def test_slow_calls_open_when_asked() -> None:
    """A slow success counts as a success for failures and against the share of slow calls."""
    breaker = start(slow_s=5, slow_rate=0.5)
    run(breaker, "sssssllll")
    assert breaker.stats(0).slow == 4
    assert breaker.stats(0).failed == 0
    run(breaker, "l")
    assert breaker.state == "open"


def test_a_slow_failure_counts_for_both() -> None:
    """A failure that was slow too stands in both shares."""
    breaker = start(slow_s=5)
    breaker.failure(breaker.admit(0), 0, False, 9.0)
    stats = breaker.stats(0)
    assert (stats.calls, stats.failed, stats.slow) == (1, 1, 1)


def test_a_success_never_opens() -> None:
    """Five failures among nine calls do not open on the tenth when that is a success."""
    breaker = start()
    run(breaker, "ffffsfsfs")
    run(breaker, "s")
    assert breaker.state == "closed"


def test_the_window_by_time_forgets() -> None:
    """Failures older than the window do not count any more."""
    breaker = start(window_s=10, hard_failures=None)
    run(breaker, "fffffffff", 0)
    run(breaker, "f", 30)
    assert breaker.state == "closed"
    assert breaker.stats(30).calls == 1
    run(breaker, "fffffffff", 31)
    assert breaker.state == "open"


def test_minimum_calls_are_bounded_by_the_window() -> None:
    """A window smaller than the least calls still opens, when it is full of failures."""
    breaker = start(window=4, min_calls=10, hard_failures=None)
    run(breaker, "fff")
    assert breaker.state == "closed"
    run(breaker, "f")
    assert breaker.state == "open"


def test_openings_grow_up_to_the_longest_and_start_again() -> None:
    """Thirty seconds, doubled at each failed probe up to five minutes; thirty again after a success."""
    breaker, now, lengths = start(hard_failures=1), 0.0, []
    run(breaker, "h", now)
    for _ in range(6):
        wait_s = breaker.retry_after(now)
        assert wait_s is not None
        assert not breaker.admit(now + wait_s - 0.001)
        lengths.append(wait_s)
        now += wait_s
        run(breaker, "h", now)
    assert lengths == [30, 60, 120, 240, 300, 300]
    now += 300
    run(breaker, "s", now)
    run(breaker, "h", now)
    assert breaker.retry_after(now) == 30


def test_growth_does_not_overflow() -> None:
    """Five thousand failed probes in a row leave the longest opening."""
    breaker, now = start(hard_failures=1, open_factor=10), 0.0
    run(breaker, "h", now)
    for _ in range(5000):
        now += 300
        run(breaker, "h", now)
    assert breaker.retry_after(now) == 300


def test_several_probes_must_all_succeed() -> None:
    """Three probes run at once, not four; two successes are not enough, one failure is."""
    breaker = start(hard_failures=1, probes=3)
    run(breaker, "h")
    permits = [breaker.admit(30) for _ in range(4)]
    assert permits[3] == 0
    assert len(set(permits)) == 4
    assert breaker.success(permits[0], 0.1, 31)
    assert not breaker.admit(31), "one success and two running are three"
    assert breaker.success(permits[1], 0.1, 31)
    assert breaker.state == "half_open"
    assert breaker.success(permits[2], 0.1, 31)
    assert breaker.state == "closed"
    run(breaker, "h", 31)
    permits = [breaker.admit(61) for _ in range(3)]
    breaker.success(permits[0], 0.1, 62)
    breaker.failure(permits[1], 62, False)
    assert breaker.state == "open"
    assert not breaker.success(permits[2], 0.1, 62)
    assert breaker.retry_after(62) == 60


def test_a_slow_probe_is_a_failed_one() -> None:
    """Where slow calls matter, a probe that succeeds slowly opens again."""
    changes: list[BreakerChange] = []
    breaker = start(changes.append, hard_failures=1, slow_s=5)
    run(breaker, "h")
    breaker.success(breaker.admit(30), 6, 36)
    assert breaker.state == "open"
    assert changes[-1].reason == "probe_slow"


def test_a_soft_failure_on_a_probe_is_a_failed_probe() -> None:
    """A 429 that answers a probe opens again."""
    breaker = start(hard_failures=1)
    run(breaker, "h")
    breaker.failure(breaker.admit(30), 30, False)
    assert breaker.state == "open"


def test_the_lease_is_the_options_or_the_callers() -> None:
    """A probe may take as long as the options say, else as long as the caller says; then its report is stale."""
    for breaker, lease_s in (
        (start(hard_failures=1, lease_s=7), 7),
        (start(hard_failures=1, probe_lease_s=3), 3),
    ):
        run(breaker, "h")
        permit = breaker.admit(30)
        assert breaker.retry_after(30) == lease_s
        assert breaker.stats(30).probes_running == 1
        assert not breaker.admit(30 + lease_s - 0.1)
        assert not breaker.success(permit, 0.1, 30 + lease_s)
        assert breaker.admit(30 + lease_s)


def test_a_clock_that_goes_back_does_not_keep_it_open() -> None:
    """After a jump back the opening lasts at most its own length again, and so does a lease."""
    breaker = start(hard_failures=1)
    run(breaker, "h", 10_000)
    assert breaker.retry_after(50) == 30
    assert not breaker.admit(79)
    assert breaker.admit(80)
    assert not breaker.admit(20)
    assert breaker.admit(20 + 31)


def test_by_hand() -> None:
    """Held open until told otherwise, held closed whatever happens, and back to its own decisions."""
    changes: list[BreakerChange] = []
    breaker = start(changes.append, hard_failures=1)
    old = breaker.admit(0)
    breaker.open(0)
    assert breaker.retry_after(0) is None
    assert not breaker.admit(10**9)
    assert not breaker.success(old, 0.1, 1)
    assert breaker.stats(1).held
    breaker.auto(1)
    assert breaker.retry_after(1) == 0
    run(breaker, "s", 1)
    assert breaker.state == "closed"
    breaker.close(2, hold=True)
    run(breaker, "hhhhh", 2)
    assert breaker.state == "closed"
    assert breaker.stats(2).calls == 0
    assert breaker.retry_after(2) == 0
    breaker.auto(3)
    breaker.auto(3)
    assert not breaker.stats(3).held
    run(breaker, "h", 3)
    assert breaker.state == "open"
    breaker.close(4)
    assert breaker.admit(4)
    assert {change.reason for change in changes} >= {"manual", "hard_failures", "probes_succeeded"}


def test_opened_from_outside_for_a_time() -> None:
    """An opening that another process reports lasts as told and probes as usual."""
    breaker = start()
    breaker.open(0, for_s=12, reason="fleet")
    assert breaker.retry_after(0) == 12
    assert not breaker.admit(11)
    run(breaker, "s", 12)
    assert breaker.state == "closed"


def test_changes_tell_what_happened() -> None:
    """A change names the tool, both states, why, for how long, and what stood in the window."""
    changes: list[BreakerChange] = []
    breaker = start(changes.append)
    run(breaker, "ssssshhhhh", 7)
    assert changes == [
        BreakerChange(
            name="tool", key="", before="closed", after="open", reason="hard_failures", at=7, open_s=30.0,
            generation=2, calls=10, failed=5, slow=0,
        )
    ]  # fmt: skip
    run(breaker, "s", 37)
    assert [(change.after, change.reason) for change in changes[1:]] == [
        ("half_open", "time_over"),
        ("closed", "probes_succeeded"),
    ]
    assert changes[2].calls == 0
    assert [change.open_s for change in changes] == [30, 0, 0]
    assert [change.generation for change in changes] == [2, 3, 4]


def test_stats_and_repr() -> None:
    """The numbers of a breaker are those of its calls."""
    breaker = start(slow_s=5)
    run(breaker, "sflhh", 0)
    stats = breaker.stats(0)
    assert (stats.calls, stats.failed, stats.slow, stats.hard_in_row) == (5, 3, 1, 2)
    assert (stats.state, stats.held, stats.opened, stats.retry_after_s, stats.probes_running) == (
        "closed",
        False,
        0,
        0,
        0,
    )
    assert repr(breaker) == "BreakerState('', closed, generation=1)"


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"window": 0}, "window"),
        ({"window": 10**6}, "window_s"),
        ({"min_calls": 0}, "min_calls"),
        ({"failure_rate": 0}, "failure_rate"),
        ({"failure_rate": 50}, "50/100"),
        ({"failure_rate": float("nan")}, "failure_rate"),
        ({"hard_failures": 0}, "hard_failures"),
        ({"slow_s": 0}, "slow_s"),
        ({"slow_rate": 1.5}, "slow_rate"),
        ({"open_s": -1}, "open_s"),
        ({"max_open_s": 10}, "max_open_s"),
        ({"open_factor": 0}, "open_factor"),
        ({"jitter": 2}, "jitter"),
        ({"probes": 0}, "probes"),
        ({"probe_lease_s": 0}, "probe_lease_s"),
        ({"window_s": float("inf")}, "window_s"),
        ({"key": "host"}, r"arguments\['host'\]"),
        ({"max_keys": 0}, "max_keys"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], word: str) -> None:
    """A wrong option is refused where it is written, by its name."""
    with pytest.raises(UsageError, match=word):
        Breaker(**values)


def test_a_long_opening_raises_the_longest() -> None:
    """Ten minutes of opening need no second option."""
    assert Breaker(open_s=600).max_open_s == 600
