"""One test for each known bug of other libraries that could be made here too, named after its number in the list.

Each first sentence says what went wrong elsewhere by saying what must hold. Numbers that are missing belong to other
rooms: shared stores (17, 18), hints (27), events (30), hedging (31).
"""

import asyncio
import logging
import math
import random
import threading
from dataclasses import FrozenInstanceError

import pytest

from failsoft.core.errors import AgentError, InvalidArgument, Unavailable, make_error
from failsoft.policies import (
    Breaker,
    BreakerChange,
    BreakerRegistry,
    BreakerSite,
    BreakerState,
    Bulkhead,
    Rate,
    Retry,
    RetryBudget,
    Timeout,
    outcome_of,
    retry,
)
from failsoft.policies.bulkhead import QUEUED

RNG = random.Random(7)


def opened(**options: object) -> BreakerState:
    """A breaker that three hard failures have opened for ten seconds at time 0."""
    values = {"hard_failures": 3, "open_s": 10, "jitter": 0, **options}
    breaker = Breaker(**values).start(rng=RNG, lease_s=5)  # type: ignore[arg-type]
    for _ in range(3):
        breaker.failure(breaker.admit(0), 0)
    assert breaker.state == "open"
    return breaker


def test_b01_and_b07_probes_are_bounded_while_half_open() -> None:
    """Of fifty calls that come while half-open, one is let through."""
    breaker = opened()
    assert sum(1 for _ in range(50) if breaker.admit(10)) == 1


def test_b02_every_outcome_of_a_probe_frees_or_decides() -> None:
    """An ignored probe neither closes nor blocks: the next one is let through at once."""
    breaker = opened()
    assert breaker.ignore(breaker.admit(10))
    assert breaker.state == "half_open"
    assert breaker.admit(10)


def test_b03_a_probe_that_never_reports_gives_way() -> None:
    """The lease of a lost probe ends, and its late report changes nothing."""
    breaker = opened()
    lost = breaker.admit(10)
    assert not breaker.admit(14.9)
    fresh = breaker.admit(15)
    assert fresh
    assert fresh != lost
    assert not breaker.failure(lost, 15)
    assert breaker.success(fresh, 0.1, 15.1)
    assert breaker.state == "closed"


def test_b03_giving_back_a_permit_of_the_closed_state_frees_no_probe() -> None:
    """A call admitted while closed that is ignored while half-open adds no second probe."""
    breaker = Breaker(hard_failures=3, open_s=10, jitter=0).start(rng=RNG)
    old = breaker.admit(0)
    for _ in range(3):
        breaker.failure(breaker.admit(0), 0)
    assert breaker.admit(10)
    assert not breaker.ignore(old)
    assert not breaker.admit(10)


def test_b04_one_change_of_state_whatever_comes_at_once() -> None:
    """Many failures at the same moment open once: no opening of what is open, no second half-open."""
    changes: list[BreakerChange] = []
    breaker = Breaker(hard_failures=3, open_s=10, jitter=0).start(rng=RNG, listener=changes.append)
    permits = [breaker.admit(0) for _ in range(20)]
    for permit in permits:
        breaker.failure(permit, 0)
    for _ in range(5):
        breaker.admit(10)
    assert [(change.before, change.after) for change in changes] == [
        ("closed", "open"),
        ("open", "half_open"),
    ]


def test_b05_state_and_time_change_together() -> None:
    """A breaker that is open always has an end, and an unsubscribed probe does not keep it open."""
    breaker = opened()
    assert breaker.retry_after(0) == 10
    breaker.ignore(breaker.admit(10))
    assert breaker.retry_after(10) == 0


def test_b06_a_late_result_of_before_the_opening_decides_nothing() -> None:
    """A success that was admitted before the opening does not close, a failure does not re-open."""
    breaker = Breaker(hard_failures=3, open_s=10, jitter=0).start(rng=RNG)
    late_good, late_bad = breaker.admit(0), breaker.admit(0)
    for _ in range(3):
        breaker.failure(breaker.admit(0), 0)
    assert not breaker.success(late_good, 1, 5)
    assert breaker.state == "open"
    probe = breaker.admit(10)
    assert not breaker.failure(late_bad, 10)
    assert breaker.state == "half_open"
    assert breaker.success(probe, 1, 11)
    assert breaker.state == "closed"


def test_b08_a_cancelled_call_neither_resets_nor_counts() -> None:
    """Cancels between failures leave the row of failures as it is, and a hundred of them open nothing."""
    assert outcome_of(make_error("cancelled")) == "ignored"
    breaker = Breaker(hard_failures=3).start(rng=RNG)
    for _ in range(2):
        breaker.failure(breaker.admit(0), 0)
    for _ in range(100):
        assert breaker.ignore(breaker.admit(0))
    assert breaker.state == "closed"
    assert breaker.stats(0).hard_in_row == 2
    breaker.failure(breaker.admit(0), 0)
    assert breaker.state == "open"


def test_b09_no_lock_is_held_while_a_call_runs() -> None:
    """A call that never ends blocks no other call, in this thread or another."""
    breaker = Breaker().start(rng=RNG)
    breaker.admit(0)
    done = []
    thread = threading.Thread(target=lambda: done.append(breaker.failure(breaker.admit(0), 0)))
    thread.start()
    thread.join(5)
    assert done == [True]


def test_b10_too_few_calls_do_not_freeze_half_open() -> None:
    """One good probe closes, however many calls the rate needs."""
    breaker = opened(min_calls=20)
    breaker.success(breaker.admit(10), 0.1, 10)
    assert breaker.state == "closed"


def test_b11_a_report_says_whether_it_counted() -> None:
    """A stale report is told so instead of being dropped in silence."""
    breaker = opened()
    assert not breaker.success(1, 0.1, 5)
    assert not breaker.failure(1, 5)
    assert not breaker.ignore(1)
    assert not breaker.success(0, 0.1, 5)


def test_b12_bad_arguments_on_a_probe_free_it() -> None:
    """A probe that fails for its arguments says nothing of the service and hands the turn on."""
    breaker = opened()
    permit = breaker.admit(10)
    assert outcome_of(InvalidArgument("no such field")) == "ignored"
    breaker.ignore(permit)
    assert breaker.admit(10)


def test_b13_the_registry_is_bounded_and_keeps_what_matters() -> None:
    """Ten thousand keys leave a hundred breakers, and the open one is among them."""
    registry = BreakerRegistry(BreakerSite(Breaker(hard_failures=1, max_keys=100), rng=RNG))
    bad = registry.get("bad", 0)
    bad.failure(bad.admit(0), 0)
    for i in range(10_000):
        registry.get(f"k{i}", 1)
    assert len(registry) <= 101
    assert registry.get("bad", 1) is bad
    assert bad.state == "open"


def test_b14_closing_resets_every_field() -> None:
    """After an opening and a closing nothing of the old window is left, by calls or by time."""
    for window_s in (None, 10.0):
        breaker = opened(window_s=window_s, slow_s=1)
        breaker.success(breaker.admit(10), 0.1, 10)
        stats = breaker.stats(10)
        assert (stats.calls, stats.failed, stats.slow, stats.hard_in_row, stats.opened) == (0, 0, 0, 0, 0)


def test_b14_a_window_of_one_works() -> None:
    """The smallest window opens on one failure and closes again."""
    breaker = Breaker(window=1, min_calls=1, failure_rate=1.0, hard_failures=None, jitter=0).start(rng=RNG)
    breaker.success(breaker.admit(0), 0.1, 0)
    breaker.failure(breaker.admit(0), 0)
    assert breaker.state == "open"
    breaker.success(breaker.admit(30), 0.1, 30)
    assert breaker.state == "closed"


def test_b15_refusing_raises_nothing_and_keeps_nothing() -> None:
    """A refusal is a number: no exception object is kept, so no traceback can grow."""
    breaker = opened()
    assert [breaker.admit(1) for _ in range(5)] == [0] * 5


def test_b16_a_listener_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The breaker opens all the same, the call is not hurt, and the log says so once."""

    def listener(change: BreakerChange) -> None:
        raise RuntimeError("broken listener")

    breaker = Breaker(hard_failures=1, open_s=1, jitter=0).start(rng=RNG, listener=listener)
    with caplog.at_level(logging.ERROR):
        assert breaker.failure(breaker.admit(0), 0)
        assert breaker.success(breaker.admit(1), 0.1, 1)
    assert breaker.state == "closed"
    assert len(caplog.records) == 1


def test_b16_a_listener_may_use_the_breaker() -> None:
    """Listeners run outside of the lock: looking at the breaker from one does not hang."""
    seen = []
    breaker = Breaker(hard_failures=1).start(
        rng=RNG, listener=lambda change: seen.append(breaker.stats(0).state)
    )
    breaker.failure(breaker.admit(0), 0)
    assert seen == ["open"]


def test_b19_openings_of_a_fleet_do_not_end_in_step() -> None:
    """Openings end at different moments, none later than said, none much earlier."""
    ends = set()
    for seed in range(100):
        breaker = Breaker(hard_failures=1, open_s=30).start(rng=random.Random(seed))
        breaker.failure(breaker.admit(0), 0)
        ends.add(breaker.retry_after(0))
    assert len(ends) > 90
    assert all(27 <= end <= 30 for end in ends if end is not None)


def test_b20_the_call_that_trips_keeps_its_own_failure() -> None:
    """A report gives back a yes or a no and never an error of the breaker's."""
    breaker = Breaker(hard_failures=1).start(rng=RNG)
    assert breaker.failure(breaker.admit(0), 0) is True


def test_b21_a_cancel_is_never_retried() -> None:
    """No option makes a cancelled call try again."""
    error = AgentError("cancelled", retryable=True, effect="none")
    for on in (None, ["cancelled"], lambda error: True):
        said = retry.decide(Retry(on=on), attempt=1, error=error, repeatable=True, remaining_s=60, rng=RNG)
        assert said.why == "not_retryable"
    assert not issubclass(asyncio.CancelledError, Exception)


def test_b22_options_are_immutable_and_calls_share_no_state() -> None:
    """Two calls with one policy get the waits that each would get alone."""
    options = Retry(jitter="none")
    with pytest.raises(FrozenInstanceError):
        options.max_attempts = 5  # type: ignore[misc]
    error = Unavailable("down", effect="none")
    waits: dict[str, list[float]] = {"a": [], "b": []}
    for attempt in (1, 2):
        for call in waits:
            said = retry.decide(
                options, attempt=attempt, error=error, repeatable=True, remaining_s=60, rng=RNG
            )
            waits[call].append(said.delay_s)
    assert waits["a"] == waits["b"] == [0.5, 1.0]


def test_b23_nothing_is_retried_once_an_item_came() -> None:
    """A generator that yielded is not started again; one that did not may be."""
    error = Unavailable("down", effect="none")
    values = {"attempt": 1, "error": error, "repeatable": True, "remaining_s": 60, "rng": RNG}
    assert retry.decide(Retry(), yielded=True, **values).why == "already_yielded"  # type: ignore[arg-type]
    assert retry.decide(Retry(), yielded=False, **values).go  # type: ignore[arg-type]


def test_b24_the_deadline_covers_the_wait_and_the_attempt() -> None:
    """A wait that cannot end in time is not begun, and an attempt never gets more than what is left."""
    error = Unavailable("down", effect="none")
    options = Retry(base_s=2, jitter="none")
    said = retry.decide(options, attempt=1, error=error, repeatable=True, remaining_s=2.0, rng=RNG)
    assert said.why == "deadline"
    assert (
        retry.decide(options, attempt=1, error=error, repeatable=True, remaining_s=2.1, rng=RNG).delay_s == 2
    )
    assert Timeout(attempt_s=5, total_s=10).attempt(1, 0.5) == 0.5
    assert Timeout(attempt_s=5, total_s=10).attempt(1, -3) == 0


def test_b25_a_users_function_that_raises_is_logged_not_swallowed(caplog: pytest.LogCaptureFixture) -> None:
    """A bug in a user's function is seen in the log, and the call goes on by the built-in rule."""
    error = Unavailable("down", effect="none")
    broken = Retry(backoff=lambda attempt: attempt["x"], on=lambda error: error.nope, jitter="none")  # type: ignore
    with caplog.at_level(logging.ERROR):
        said = retry.decide(broken, attempt=2, error=error, repeatable=True, remaining_s=60, rng=RNG)
    assert said.delay_s == 1.0
    assert ["Retry.on" in r.message or "Retry.backoff" in r.message for r in caplog.records] == [True, True]
    assert all(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("backoff", ["exponential", "linear", "fixed", lambda attempt: 2.0**attempt])
def test_b26_no_attempt_overflows(backoff: object) -> None:
    """The wait stays between 0 and the cap at attempt 5,000 and at one of a thousand digits."""
    options = Retry(backoff=backoff, base_s=1, cap_s=5, max_attempts=10**1001)  # type: ignore[arg-type]
    error = Unavailable("down", effect="none")
    for attempt in (1, 2, 10, 1024, 1025, 5000, 10**1000):
        said = retry.decide(options, attempt=attempt, error=error, repeatable=True, remaining_s=60, rng=RNG)
        assert 0 <= said.delay_s <= 5


@pytest.mark.parametrize("wait", [-1.0, float("nan"), float("inf"), -math.inf])
def test_b26_a_users_nonsense_wait_is_clamped(wait: float) -> None:
    """A negative or undefined wait of a user's function becomes none, an infinite one the cap."""
    options = Retry(backoff=lambda attempt: wait, cap_s=5, jitter="none")
    error = Unavailable("down", effect="none")
    said = retry.decide(options, attempt=1, error=error, repeatable=True, remaining_s=60, rng=RNG)
    assert said.delay_s == (5 if wait == math.inf else 0)


def test_b28_a_spent_budget_comes_back_without_a_restart() -> None:
    """Retries are possible again a window later, refusals do not wait, and a clock that jumps back takes nothing."""
    state = RetryBudget(ratio=0.2, min_retries=3, window_s=10).start()
    assert [state.withdraw(0) for _ in range(4)] == [True, True, True, False]
    assert not state.withdraw(9.9)
    assert not state.withdraw(-1000)
    assert state.withdraw(11)


def test_b29_the_least_retries_are_honoured_and_nothing_else_pays() -> None:
    """A quiet tool has its reserve, and waiting retries do not shrink what is left."""
    state = RetryBudget(ratio=0.2, min_retries=2, window_s=10).start()
    for _ in range(5):
        state.deposit(0)
    assert [state.withdraw(0) for _ in range(4)] == [True, True, True, False]
    assert state.stats(0).calls == 5


def test_b32_a_waiter_that_gives_up_loses_no_slot() -> None:
    """A waiter that was granted a slot at the moment it gave up passes it on, or frees it."""
    state = Bulkhead(1, queue=2).start()
    permit = state.try_enter()
    assert permit is not None
    assert state.enqueue("late") == QUEUED
    assert state.enqueue("next") == QUEUED
    assert state.leave(permit) == "late"
    assert state.cancel("late") == "next"
    assert state.cancel("next") is None
    assert state.try_enter() is not None


def test_b32_nobody_is_granted_more_slots_than_there_are() -> None:
    """Giving a slot back twice adds none."""
    state = Bulkhead(1).start()
    permit = state.try_enter()
    assert permit is not None
    state.leave(permit)
    state.leave(permit)
    assert state.try_enter() is not None
    assert state.try_enter() is None


def test_b33_turns_are_given_in_order() -> None:
    """Later calls never overtake an earlier one, however many come."""
    state = Rate(10, 1, burst=1).start()
    first = state.reserve(0, 100)
    waits = [state.reserve(0, 100) for _ in range(50)]
    assert first is not None
    assert first.wait_s == 0
    times = [turn.wait_s for turn in waits if turn is not None]
    assert times == sorted(times)
    assert times[0] == pytest.approx(0.1)


def test_b34_fractions_of_a_turn_are_kept() -> None:
    """At one and a half calls a second, ten minutes of asking every second give nine hundred, not six."""
    state = Rate(3, 2, burst=3).start()
    went = 0
    for tenth in range(6000):
        while state.decide(tenth / 10) == 0:
            went += 1
    assert 900 <= went <= 903
