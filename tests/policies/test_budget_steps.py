"""The retry budget step by step: what each call pays in, what each retry takes, and when both are forgotten."""

import pytest

from failsoft.policies import RetryBudget, RetryBudgetState, withdraw_all


def numbers(state: RetryBudgetState, now: float) -> tuple[int, int, float, int]:
    """Calls, retries, balance and refusals."""
    stats = state.stats(now)
    return stats.calls, stats.retries, stats.balance, stats.refused


def test_every_step_shows_in_the_numbers() -> None:
    """A call adds its share, a retry takes one, a refusal takes nothing, a refund gives one back."""
    state = RetryBudget(ratio=0.5, min_retries=1, window_s=10).start()
    seen = [numbers(state, 0.0)]
    for step in ("deposit", "deposit", "deposit", "withdraw", "withdraw", "withdraw", "refund", "deposit"):
        getattr(state, step)(0.0)
        seen.append(numbers(state, 0.0))
    assert seen == [
        (0, 0, 1.0, 0),
        (1, 0, 1.5, 0),
        (2, 0, 2.0, 0),
        (3, 0, 2.5, 0),
        (3, 1, 1.5, 0),
        (3, 2, 0.5, 0),
        (3, 2, 0.5, 1),
        (3, 1, 1.5, 1),
        (4, 1, 2.0, 1),
    ]


def test_ten_tenths_are_one() -> None:
    """Ten calls at a tenth each pay for one retry, whatever the floats add up to; nine do not."""
    for ratio, calls in ((0.1, 10), (0.2, 5), (1 / 3, 3), (0.7, 10)):
        state = RetryBudget(ratio=ratio, min_retries=0).start()
        for _ in range(calls):
            state.deposit(0.0)
        paid = round(ratio * calls)
        assert [state.withdraw(0.0) for _ in range(paid + 1)] == [True] * paid + [False]
    state = RetryBudget(ratio=0.1, min_retries=0).start()
    for _ in range(9):
        state.deposit(0.0)
    assert not state.withdraw(0.0)


def test_the_balance_is_never_told_below_zero() -> None:
    """When the calls that paid for a retry are forgotten before it, the debt is not shown, but it holds."""
    state = RetryBudget(ratio=1, min_retries=0, window_s=10).start()
    state.deposit(0.0)
    state.deposit(0.0)
    assert state.withdraw(9.0)
    assert state.withdraw(9.0)
    assert numbers(state, 12.0) == (0, 2, 0.0, 0)
    state.deposit(12.0)
    assert [state.withdraw(12.0), state.withdraw(12.0)] == [False, False]
    assert numbers(state, 12.0) == (1, 2, 0.0, 2)


@pytest.mark.parametrize("begin", [0.0, -5000.0, 12345.0])
def test_what_came_in_is_remembered_for_the_window(begin: float) -> None:
    """For at least ten seconds and at most eleven, wherever the clock began."""
    state = RetryBudget(ratio=1, min_retries=0, window_s=10).start()
    for second in range(20):
        state.deposit(begin + second)
    assert state.stats(begin + 19).calls == 11
    for later, calls in ((20, 10), (21, 9), (29, 1), (30, 0)):
        assert state.stats(begin + later).calls == calls, later


@pytest.mark.parametrize("window_s", [2.5, 10.0, 80.0])
def test_calls_are_counted_in_the_part_of_the_window_in_which_they_came(window_s: float) -> None:
    """Those before an edge leave before those after it, when nobody looked between them."""
    state = RetryBudget(ratio=1, min_retries=0, window_s=window_s).start()
    tenth_s = window_s / 10
    for tenths in (0.0, 0.5, 0.999, 1.0, 1.5, 2.0):
        state.deposit(tenths * tenth_s)
    seen = [state.stats(tenths * tenth_s).calls for tenths in (10.999, 11.0, 12.0, 13.0)]
    assert seen == [6, 3, 1, 0]


def test_a_clock_below_zero_has_parts_of_the_same_length() -> None:
    """Half a second before zero and half a second after it are two parts, and the first is forgotten first."""
    state = RetryBudget(ratio=1, min_retries=0, window_s=10).start()
    state.deposit(-0.5)
    state.deposit(0.5)
    assert [state.stats(now).calls for now in (9.9, 10.5, 11.0)] == [2, 1, 0]


def test_a_call_before_the_clock_went_back_is_not_counted_again() -> None:
    """It stands still: what comes in then counts as of the latest moment, and leaves with it."""
    state = RetryBudget(ratio=1, min_retries=0, window_s=10).start()
    state.deposit(100.0)
    state.deposit(50.0)
    assert state.stats(50.0).calls == 2
    assert state.withdraw(20.0)
    assert numbers(state, 110.0) == (2, 1, 1.0, 0)
    assert numbers(state, 111.0) == (0, 0, 0.0, 0)


def test_a_refund_after_the_retry_was_forgotten_gives_nothing() -> None:
    """A retry that was granted too long ago is no longer in the balance."""
    state = RetryBudget(ratio=0, min_retries=1, window_s=10).start()
    assert state.withdraw(0.0)
    state.refund(11.0)
    assert numbers(state, 11.0) == (0, 0, 1.0, 0)
    assert state.withdraw(11.0)
    state.refund(12.0)
    assert numbers(state, 12.0) == (0, 0, 1.0, 0)


def test_of_several_budgets_each_pays_or_none() -> None:
    """The ones before the one that refuses get their retry back, those after it are not asked."""
    rich = [RetryBudget(min_retries=5).start() for _ in range(4)]
    poor = RetryBudget(min_retries=0).start()
    assert not withdraw_all((rich[0], rich[1], poor, rich[2]), 0.0)
    assert [state.stats(0.0).retries for state in rich] == [0, 0, 0, 0]
    assert [state.refused for state in (*rich, poor)] == [0, 0, 0, 0, 1]
    assert withdraw_all(tuple(rich), 0.0)
    assert [state.stats(0.0).retries for state in rich] == [1, 1, 1, 1]


def test_a_budget_shows_its_options() -> None:
    """The representation names what was said and how often it refused."""
    state = RetryBudget(ratio=0, min_retries=0, window_s=3).start()
    state.withdraw(0.0)
    assert repr(state) == ("RetryBudgetState(RetryBudget(ratio=0.0, min_retries=0, window_s=3.0), refused=1)")
