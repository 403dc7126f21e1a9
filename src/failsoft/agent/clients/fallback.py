"""`FallbackClient`: several clients in a row; a run stays with the one that answered it."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from failsoft.agent.asking import model_failure
from failsoft.classify import Classifier
from failsoft.core.clock import SystemClock
from failsoft.core.errors import AgentError, CircuitOpen, UsageError
from failsoft.core.kinds import ErrorKind
from failsoft.policies import Breaker, outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.clock import Clock
    from failsoft.core.turns import Client, ModelRequest, ModelTurn
    from failsoft.policies import BreakerState

__all__ = ["FallbackClient"]

_RUNS = 10_000
# Another provider may have another opinion of a request, a key and a quota of its own; so only these end the row.
_FINAL = (ErrorKind.CANCELLED,)


class FallbackClient:
    """Asks the first client that can answer.

    A client that fails is passed over for this request, and its breaker remembers: one that keeps failing is not even
    asked for a while. A run stays with the client that answered it last, because prompt caches and signed thinking
    live there; it moves on when that client fails, and does not come back by itself.
    The conversation is written anew for a client of another dialect: text, calls and results, in its own shapes.

    Args:
        clients: In order of preference.
        breaker: When a client is passed over without asking.
        classifier: Turns what clients raise into errors.
        clock: Tells the time; for tests.

    Raises:
        UsageError: There are no clients.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        *,
        breaker: Breaker = Breaker(window=10, min_calls=5, hard_failures=3),
        classifier: Classifier | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not clients:
            raise UsageError(
                "FallbackClient needs clients\n\nhint: FallbackClient([AnthropicClient(...), OpenAIClient(...)])"
            )
        self.clients = tuple(clients)
        self._classifier = classifier or Classifier()
        self._clock = clock or SystemClock()
        rng = random.Random()
        self._breakers = [
            breaker.start(rng=rng, name=f"model {i}", lease_s=120.0) for i in range(len(clients))
        ]
        self._chosen: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def dialect(self) -> str:
        """The first client's."""
        return self.clients[0].dialect

    @property
    def tool_dialect(self) -> str:
        """The first client's."""
        return getattr(self.clients[0], "tool_dialect", self.dialect)

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """An answer of the first client that gives one.

        Raises:
            AgentError: None did: the failure of the one asked last, or `circuit_open` where none could be asked.
        """
        first = self._chosen.get(request.run_id, 0)
        failures: list[AgentError] = []
        for offset in range(len(self.clients)):
            index = (first + offset) % len(self.clients)
            permit = self._breakers[index].admit(self._clock.monotonic())
            if not permit:
                continue
            try:
                turn = await self._ask(index, permit, request)
            except AgentError as error:
                failures.append(error)
                if error.kind in _FINAL:
                    break
                continue
            self._stay(request.run_id, index)
            return turn
        raise self._worst(failures)

    async def _ask(self, index: int, permit: int, request: ModelRequest) -> ModelTurn:
        client, breaker, begun = self.clients[index], self._breakers[index], self._clock.monotonic()
        try:
            own = request.to(client.dialect, getattr(client, "tool_dialect", client.dialect))
            turn = await client.complete(own)
        except UsageError:
            breaker.ignore(permit)
            raise
        except Exception as exc:
            error = model_failure(exc, self._classifier)
            _report(breaker, permit, error, self._clock.monotonic())
            raise error from exc
        except BaseException:  # the caller's cancel says nothing about the client
            breaker.ignore(permit)
            raise
        now = self._clock.monotonic()
        breaker.success(permit, now - begun, now)
        return turn

    def _stay(self, run_id: str, index: int) -> None:
        with self._lock:
            self._chosen[run_id] = index
            self._chosen.move_to_end(run_id)
            while len(self._chosen) > _RUNS:
                self._chosen.popitem(last=False)

    def _worst(self, failures: list[AgentError]) -> AgentError:
        """What to tell of a row of failures: one that may pass, if any; the loop's own retry then comes back."""
        if failures:
            return next((error for error in failures if error.retryable), failures[-1])
        now = self._clock.monotonic()
        waits = [
            stats.retry_after_s for b in self._breakers if (stats := b.stats(now)).retry_after_s is not None
        ]
        return CircuitOpen(
            "All models have failed lately; none is asked for now.",
            reason="circuit_open",
            retryable=True,
            retry_after_s=min(waits, default=None),
        )

    def __repr__(self) -> str:
        return f"FallbackClient({list(self.clients)!r})"


def _report(breaker: BreakerState, permit: int, error: AgentError, now: float) -> None:
    outcome = outcome_of(error)
    if outcome == "ignored":
        breaker.ignore(permit)
    else:
        breaker.failure(permit, now, hard=outcome == "hard")
