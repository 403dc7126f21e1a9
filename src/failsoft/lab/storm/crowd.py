"""Many clients in virtual time, with the runtime's own policies.

A heap of what happens next. The service answers in order, so what becomes of an attempt is known when it is sent: two
entries for a call that succeeds, two more for each retry.
"""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING

from failsoft.core.errors import AgentError, ToolTimeout, Unavailable
from failsoft.core.kinds import Effect
from failsoft.lab.storm.service import REFUSED, Service
from failsoft.policies import BreakerSite, new_state, outcome_of
from failsoft.policies.retry import decide

if TYPE_CHECKING:
    from failsoft.lab.storm.experiment import Storm, Strategy
    from failsoft.policies import BreakerState, RetryBudgetState

__all__ = ["Crowd"]

_REFUSAL_S = 0.005
_CALL = 0
# The same two errors again and again: a new one for each attempt would take longer than all the rest.
_TIMEOUT = ToolTimeout("no answer in time", effect=Effect.POSSIBLE)
_FULL = Unavailable("the queue is full", effect=Effect.NONE)
_TOTAL_S = 60.0


class Crowd:
    """The clients of one run.

    Args:
        storm: What is simulated.
        strategy: How they behave.
    """

    def __init__(self, storm: Storm, strategy: Strategy) -> None:
        self._storm, self._strategy = storm, strategy
        self._rng = random.Random(storm.seed)
        self._service = Service(
            capacity_per_s=storm.capacity,
            queue=round(storm.queue_s * storm.capacity),
            down_from_s=storm.down_from_s,
            down_until_s=storm.down_until_s,
        )
        # Seconds between two calls of a client, on average.
        self._pace = storm.load * storm.capacity / storm.clients
        seconds = storm.seconds
        self.offered, self.wanted, self.good = [0] * seconds, [0] * seconds, [0] * seconds
        self.refused = 0
        processes = -(-storm.clients // storm.clients_per_process)
        self._breakers = [self._breaker() for _ in range(processes)]
        self._budgets = [self._budget() for _ in range(processes)]
        # Of each client: when its call and its attempt began, the attempt's permit and failure.
        self._called = [0.0] * storm.clients
        self._sent = [0.0] * storm.clients
        self._permits = [0] * storm.clients
        self._failures: list[AgentError | None] = [None] * storm.clients
        # What happens next: when, to which client, what: 0 a new call, n > 0 its attempt n begins, n < 0 it ends.
        # The first calls are as far off as any: an even start would make a wave of its own.
        first = self._rng.expovariate
        self._heap = [(first(self._pace), client, _CALL) for client in range(storm.clients)]
        heapq.heapify(self._heap)

    def _breaker(self) -> BreakerState | None:
        options = self._strategy.breaker
        return None if options is None else new_state(BreakerSite(options, rng=self._rng))

    def _budget(self) -> RetryBudgetState | None:
        return None if self._strategy.budget is None else self._strategy.budget.start()

    def run(self) -> None:
        """Let time pass, to the end."""
        heap, pop = self._heap, heapq.heappop
        end, per_process = self._storm.seconds, self._storm.clients_per_process
        wanted, budgets = self.wanted, self._budgets
        while True:
            now, client, step = pop(heap)
            if now >= end:
                return
            if step < 0:
                self._ended(now, client, -step)
                continue
            if step == _CALL:
                wanted[int(now)] += 1
                self._called[client] = now
                budget = budgets[client // per_process]
                if budget is not None:
                    budget.deposit(now)
                step = 1
            self._attempt(now, client, step)

    def _attempt(self, now: float, client: int, number: int) -> None:
        """Send one request, if the breaker lets it through."""
        breaker = self._breakers[client // self._storm.clients_per_process]
        if breaker is not None:
            permit = breaker.admit(now)
            if not permit:
                self.refused += 1
                self._think(now, client)
                return
            self._permits[client] = permit
        self.offered[int(now)] += 1
        self._sent[client] = now
        served_at = self._service.ask(now)
        timeout_s = self._storm.timeout_s
        if served_at <= now + timeout_s:
            self._failures[client] = None
            ends = served_at
        elif served_at == REFUSED:
            self._failures[client] = _FULL
            ends = now + _REFUSAL_S
        else:
            self._failures[client] = _TIMEOUT
            ends = now + timeout_s
        heapq.heappush(self._heap, (ends, client, -number))

    def _ended(self, now: float, client: int, number: int) -> None:
        """An attempt is over: tell the breaker, then go on with the next call or try again."""
        process = client // self._storm.clients_per_process
        breaker, failure = self._breakers[process], self._failures[client]
        took_s = now - self._sent[client]
        if failure is None:
            self.good[int(now)] += 1
            if breaker is not None:
                breaker.success(self._permits[client], took_s, now)
            self._think(now, client)
            return
        if breaker is not None:
            breaker.failure(self._permits[client], now, outcome_of(failure) == "hard", took_s)
        decision = decide(
            self._strategy.retry,
            attempt=number,
            error=failure,
            repeatable=True,
            remaining_s=_TOTAL_S - (now - self._called[client]),
            rng=self._rng,
        )
        budget = self._budgets[process]
        if decision.go and (budget is None or budget.withdraw(now)):
            heapq.heappush(self._heap, (now + decision.delay_s, client, number + 1))
        else:
            self._think(now, client)

    def _think(self, now: float, client: int) -> None:
        """The call is over; the next one comes after a while."""
        heapq.heappush(self._heap, (now + self._rng.expovariate(self._pace), client, _CALL))
