"""The breaker under any order of calls, losses and clock jumps, against a model made of plain lists."""

import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from failsoft.policies import Breaker, BreakerChange, BreakerState

LEGAL = {
    ("closed", "open"),
    ("open", "half_open"),
    ("half_open", "open"),
    ("half_open", "closed"),
    ("open", "closed"),
}
BY_HAND = LEGAL | {("closed", "closed"), ("open", "open")}


class BreakerMachine(RuleBasedStateMachine):
    """Rules: admit, succeed, fail, ignore, lose the holder, move the clock either way, take over by hand."""

    @initialize(
        window=st.integers(1, 12),
        min_calls=st.integers(1, 12),
        probes=st.integers(1, 3),
        hard=st.one_of(st.none(), st.integers(1, 5)),
        rate=st.sampled_from([0.2, 0.5, 1.0]),
        slow_rate=st.sampled_from([0.5, 1.0]),
        window_s=st.sampled_from([None, None, 20.0]),
    )
    def begin(
        self,
        window: int,
        min_calls: int,
        probes: int,
        hard: int | None,
        rate: float,
        slow_rate: float,
        window_s: float | None,
    ) -> None:
        self.options = Breaker(
            window=window,
            min_calls=min_calls,
            probes=probes,
            hard_failures=hard,
            failure_rate=rate,
            slow_s=1.0,
            slow_rate=slow_rate,
            open_s=10,
            max_open_s=40,
            window_s=window_s,
            probe_lease_s=5.0,
        )
        self.changes: list[BreakerChange] = []
        self.breaker: BreakerState = self.options.start(rng=random.Random(0), listener=self.changes.append)
        self.now = 100.0
        self.latest = 100.0
        self.held: list[tuple[int, float]] = []
        self.reported: list[int] = []
        self.rows: list[tuple[float, int, int]] = []
        self.streak = 0
        self.legal = LEGAL
        self.seen = 0
        self.generation = 1

    def expected(self) -> tuple[int, int, int]:
        rows = self.rows
        if self.options.window_s is None:
            rows = rows[-self.options.window :]
        else:
            newest = int(self.latest // 2.0)
            rows = [row for row in rows if int(row[0] // 2.0) > newest - 10]
        return len(rows), sum(row[1] for row in rows), sum(row[2] for row in rows)

    def record(self, bad: int, slow: int) -> None:
        # The time window stands still when the clock goes back.
        self.latest = max(self.latest, self.now)
        self.rows.append((self.latest, bad, slow))

    def trips(self) -> bool:
        calls, bad, slow = self.expected()
        if self.options.hard_failures is not None and self.streak >= self.options.hard_failures:
            return True
        least = self.options.min_calls
        if self.options.window_s is None:
            least = min(least, self.options.window)
        rates = bad >= self.options.failure_rate * calls or (
            slow > 0 and slow >= self.options.slow_rate * calls
        )
        return calls >= least and rates

    @rule()
    def admit(self) -> None:
        before = self.breaker.stats(self.now)
        permit = self.breaker.admit(self.now)
        if before.state == "closed":
            assert permit == before.generation
        elif before.retry_after_s is None or before.retry_after_s > 0:
            assert permit == 0, before
        if permit:
            assert permit not in self.reported or self.breaker.state == "closed"
            self.held.append((permit, self.now))

    def report(self, data: Any, outcome: str, hard: bool, duration_s: float) -> None:
        permit, _ = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        before = self.breaker.stats(self.now)
        if outcome == "ignore":
            counted = self.breaker.ignore(permit)
        elif outcome == "success":
            counted = self.breaker.success(permit, duration_s, self.now)
        else:
            counted = self.breaker.failure(permit, self.now, hard, duration_s)
        after = self.breaker.stats(self.now)
        self.reported.append(permit)
        if not counted:
            assert after == before
            return
        bad, slow = int(outcome == "failure"), int(duration_s > 1.0)
        if outcome == "ignore":
            assert (after.state, after.generation) == (before.state, before.generation)
        elif before.state == "closed":
            self.record(bad, slow)
            self.streak = self.streak + 1 if bad and hard else self.streak if bad else 0
            must_open = bool(bad or slow) and self.trips()
            assert (after.state == "open") == must_open
        else:
            assert before.state == "half_open"
            assert before.probes_running > 0
            if bad or slow:
                assert after.state == "open"

    @rule(times=st.integers(1, 30))
    def good_calls(self, times: int) -> None:
        for _ in range(times):
            permit, before = self.breaker.admit(self.now), self.breaker.stats(self.now)
            if not permit:
                return
            assert self.breaker.success(permit, 0.5, self.now) or before.held
            if before.state == "closed" and not before.held:
                self.record(0, 0)
                self.streak = 0
            self.changes_are_legal()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), duration_s=st.sampled_from([0.0, 0.5, 2.0]))
    def succeed(self, data: Any, duration_s: float) -> None:
        self.report(data, "success", False, duration_s)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), hard=st.booleans(), duration_s=st.sampled_from([0.0, 2.0]))
    def fail(self, data: Any, hard: bool, duration_s: float) -> None:
        self.report(data, "failure", hard, duration_s)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def ignore_or_cancel(self, data: Any) -> None:
        self.report(data, "ignore", False, 0.0)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def lose_the_holder(self, data: Any) -> None:
        self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))

    @rule(seconds=st.sampled_from([0.1, 1.0, 4.9, 5.0, 9.0, 10.0, 40.0, 1000.0, -1.0, -50.0]))
    def advance(self, seconds: float) -> None:
        self.now = max(0.0, self.now + seconds)

    @rule(seconds=st.sampled_from([None, 0.5, 30.0]))
    def open_by_hand(self, seconds: float | None) -> None:
        self.legal = BY_HAND
        self.breaker.open(self.now, for_s=seconds)

    @rule(hold=st.booleans())
    def close_by_hand(self, hold: bool) -> None:
        self.legal = BY_HAND
        self.breaker.close(self.now, hold=hold)
        if not hold:
            assert self.breaker.admit(self.now)

    @rule()
    def give_back(self) -> None:
        self.breaker.auto(self.now)

    @invariant()
    def probes_are_bounded(self) -> None:
        assert self.breaker.stats(self.now).probes_running <= self.options.probes

    @invariant()
    def waits_are_bounded(self) -> None:
        wait_s = self.breaker.retry_after(self.now)
        assert wait_s is None or 0 <= wait_s <= 40

    @invariant()
    def changes_are_legal(self) -> None:
        for change in self.changes[self.seen :]:
            assert (change.before, change.after) in self.legal
            if change.after == "closed":
                self.rows, self.streak = [], 0
        self.seen = len(self.changes)
        assert self.breaker.generation >= self.generation
        self.generation = self.breaker.generation

    @invariant()
    def window_is_the_list(self) -> None:
        stats = self.breaker.stats(self.now)
        self.latest = max(self.latest, self.now) if self.options.window_s is not None else self.latest
        assert (stats.calls, stats.failed, stats.slow) == self.expected()
        assert stats.hard_in_row == self.streak


BreakerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestBreakerMachine = pytest.mark.timeout(60)(BreakerMachine.TestCase)
