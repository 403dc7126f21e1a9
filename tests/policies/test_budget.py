"""The retry budget and the bulkhead: options, and a large number of calls."""

from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import Bulkhead, RetryBudget


def test_ten_thousand_calls_get_a_fifth_and_the_reserve() -> None:
    """Of ten thousand failing calls within one window, 20 % and the reserve are retried."""
    state = RetryBudget(ratio=0.2, min_retries=3, window_s=10).start()
    retries = 0
    for i in range(10_000):
        state.deposit(i / 1000)
        retries += state.withdraw(i / 1000)
    assert abs(retries - 2003) <= 1


def test_a_quiet_tool_has_three_retries_in_any_ten_seconds() -> None:
    """Without calls no stretch of ten seconds holds more than the reserve."""
    state = RetryBudget(ratio=0.2, min_retries=3, window_s=10).start()
    went = [tenth / 10 for tenth in range(1000) if state.withdraw(tenth / 10)]
    for end in went:
        assert sum(1 for at in went if end - 10 < at <= end) <= 3
    assert len(went) >= 27


def test_refunds_never_make_more_than_there_was() -> None:
    """Giving back what was not taken adds nothing."""
    state = RetryBudget(ratio=0, min_retries=1).start()
    state.refund(0)
    assert state.stats(0).balance == 1
    assert state.withdraw(0)
    state.refund(0)
    assert state.withdraw(0)
    assert not state.withdraw(0)
    assert "refused=1" in repr(state)


@pytest.mark.parametrize(
    "values", [{"ratio": -0.1}, {"ratio": 1.5}, {"min_retries": -1}, {"window_s": 0}, {"ratio": "1"}]
)
def test_budgets_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """A wrong value is refused by its name."""
    with pytest.raises(UsageError, match=next(iter(values))):
        RetryBudget(**values)


@pytest.mark.parametrize(
    "values", [{"limit": 0}, {"limit": 1, "queue": -1}, {"limit": 1, "max_wait_s": -1}, {"limit": "2"}]
)
def test_bulkheads_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """A wrong value is refused by its name."""
    with pytest.raises(UsageError, match="Bulkhead"):
        Bulkhead(**values)


def test_waits_of_a_bulkhead_end_with_the_call() -> None:
    """Nobody waits longer than the call has left, nor than the option says."""
    assert Bulkhead(1).wait_limit_s(7) == 7
    assert Bulkhead(1, max_wait_s=2).wait_limit_s(7) == 2
    assert Bulkhead(1).wait_limit_s(-1) == 0
    assert Bulkhead(1, max_wait_s=0).wait_limit_s(7) == 0


def test_a_zombie_keeps_its_slot_until_it_ends() -> None:
    """A body that outlived its caller is counted, refuses others, and frees its slot when it ends."""
    state = Bulkhead(1).start()
    permit = state.try_enter()
    assert permit is not None
    state.outlive(permit)
    state.outlive(99)
    assert state.try_enter() is None
    assert state.enqueue("w") < 0
    assert (state.stats().zombies, state.stats().refused, state.stats().limit) == (1, 1, 1)
    state.leave(permit)
    assert state.stats().zombies == 0
    assert state.try_enter() is not None
    assert repr(state) == "BulkheadState(running=1/1, queued=0)"
