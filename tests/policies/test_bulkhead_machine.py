"""The bulkhead under any order of entering, leaving, giving up and outliving: no slot is lost, none is given twice."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from failsoft.policies import Bulkhead
from failsoft.policies.bulkhead import FULL, QUEUED


class BulkheadMachine(RuleBasedStateMachine):
    """Rules: enter, queue, claim, leave (twice too), cancel before and after the grant, outlive."""

    @initialize(limit=st.integers(1, 4), queue=st.integers(0, 4))
    def begin(self, limit: int, queue: int) -> None:
        self.state = Bulkhead(limit, queue=queue).start()
        self.limit, self.queue = limit, queue
        self.inside: list[int] = []
        self.gone: list[int] = []
        self.zombies: set[int] = set()
        self.waiting: list[str] = []
        self.woken: list[str] = []
        self.names = 0

    def wake(self, waiter: object) -> None:
        if waiter is None:
            return
        assert waiter == self.waiting.pop(0), "first come, first served"
        self.woken.append(str(waiter))

    @rule()
    def enter(self) -> None:
        permit = self.state.try_enter()
        assert (permit is not None) == (len(self.inside) + len(self.woken) < self.limit)
        if permit is not None:
            assert permit not in self.inside
            self.inside.append(permit)

    @rule()
    def enqueue(self) -> None:
        self.names += 1
        waiter = f"w{self.names}"
        said = self.state.enqueue(waiter)
        if len(self.inside) + len(self.woken) < self.limit:
            assert said > 0
            self.inside.append(said)
        elif len(self.waiting) < self.queue:
            assert said == QUEUED
            self.waiting.append(waiter)
        else:
            assert said == FULL

    @precondition(lambda self: self.woken)
    @rule(data=st.data())
    def claim(self, data: Any) -> None:
        waiter = self.woken.pop(data.draw(st.integers(0, len(self.woken) - 1)))
        permit = self.state.claim(waiter)
        assert permit is not None
        assert self.state.claim(waiter) is None
        self.inside.append(permit)

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        permit = self.inside.pop(data.draw(st.integers(0, len(self.inside) - 1)))
        self.gone.append(permit)
        self.zombies.discard(permit)
        self.wake(self.state.leave(permit))

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def leave_again(self, data: Any) -> None:
        assert self.state.leave(data.draw(st.sampled_from(self.gone))) is None

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def outlive(self, data: Any) -> None:
        permit = data.draw(st.sampled_from(self.inside))
        self.state.outlive(permit)
        self.zombies.add(permit)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def give_up_waiting(self, data: Any) -> None:
        waiter = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        assert self.state.cancel(waiter) is None
        assert self.state.cancel(waiter) is None

    @precondition(lambda self: self.woken)
    @rule(data=st.data())
    def give_up_after_the_grant(self, data: Any) -> None:
        waiter = self.woken.pop(data.draw(st.integers(0, len(self.woken) - 1)))
        self.wake(self.state.cancel(waiter))
        assert self.state.claim(waiter) is None

    @invariant()
    def slots_add_up(self) -> None:
        stats = self.state.stats()
        assert stats.running == len(self.inside) + len(self.woken) <= self.limit
        assert stats.queued == len(self.waiting) <= self.queue
        assert stats.zombies == len(self.zombies)
        if self.waiting:
            assert stats.running == self.limit, "nobody waits beside a free slot"

    def teardown(self) -> None:
        if not hasattr(self, "state"):
            return
        while self.inside or self.woken or self.waiting:
            for waiter in list(self.woken):
                permit = self.state.claim(waiter)
                assert permit is not None
                self.inside.append(permit)
            self.woken.clear()
            for permit in list(self.inside):
                self.inside.remove(permit)
                self.wake(self.state.leave(permit))
        assert self.state.stats().running == 0


BulkheadMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestBulkheadMachine = BulkheadMachine.TestCase
