"""The retry budget under any order of calls, retries and clock jumps, against plain lists."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from failsoft.policies import RetryBudget


class BudgetMachine(RuleBasedStateMachine):
    """Rules: deposit, withdraw, refund, move the clock either way."""

    @initialize(
        ratio=st.sampled_from([0.0, 0.1, 0.2, 1.0]),
        least=st.integers(0, 3),
        window_s=st.sampled_from([1.0, 10.0, 60.0]),
    )
    def begin(self, ratio: float, least: int, window_s: float) -> None:
        self.options = RetryBudget(ratio=ratio, min_retries=least, window_s=window_s)
        self.state = self.options.start()
        self.now = self.latest = 1000.0
        self.calls: list[float] = []
        self.retries: list[float] = []

    def width(self) -> float:
        return self.options.window_s / 10

    def inside(self, times: list[float]) -> int:
        newest = int(self.latest // self.width())
        return sum(1 for at in times if int(at // self.width()) > newest - 11)

    def tick(self) -> float:
        self.latest = max(self.latest, self.now)
        return self.latest

    @rule(times=st.integers(1, 8))
    def deposit(self, times: int) -> None:
        for _ in range(times):
            self.state.deposit(self.now)
            self.calls.append(self.tick())

    @rule()
    def withdraw(self) -> None:
        at = self.tick()
        balance = (
            self.options.min_retries
            + self.options.ratio * self.inside(self.calls)
            - self.inside(self.retries)
        )
        granted = self.state.withdraw(self.now)
        assert granted == (balance >= 1 - 1e-9)
        if granted:
            self.retries.append(at)

    @rule(part=st.sampled_from([0.01, 0.1, 0.5, 1.0, 1.1, 7.0, -0.3, -5.0]))
    def advance(self, part: float) -> None:
        self.now = max(0.0, self.now + part * self.options.window_s)

    @invariant()
    def sums_are_the_lists(self) -> None:
        stats = self.state.stats(self.now)
        self.tick()
        assert (stats.calls, stats.retries) == (self.inside(self.calls), self.inside(self.retries))
        assert stats.balance >= 0

    @invariant()
    def retries_stay_a_share(self) -> None:
        for end in self.retries:
            since = end - self.options.window_s
            retries = sum(1 for at in self.retries if since < at <= end)
            calls = sum(1 for at in self.calls if since - 2 * self.width() < at <= end)
            assert retries <= self.options.min_retries + self.options.ratio * calls + 1e-9


BudgetMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestBudgetMachine = BudgetMachine.TestCase
