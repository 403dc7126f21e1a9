"""Asking a model, with the one retry policy for all clients; the SDKs' own retries are off."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.classify import Classifier
from failsoft.core.errors import AgentError, UsageError
from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner
from failsoft.policies import Retry, retry

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from failsoft.core.clock import Clock
    from failsoft.core.turns import Client, ModelRequest, ModelTurn

__all__ = ["MODEL_RETRY", "Asker", "model_failure"]

_log = logging.getLogger("failsoft.agent")

MODEL_RETRY = Retry(max_attempts=5, base_s=1.0, cap_s=30.0)
"""Five attempts over about a minute: a provider's overload passes, and the run holds work that is worth the wait."""

_MALFORMED = "The model's answer could not be read."


def model_failure(exc: BaseException, classifier: Classifier) -> AgentError:
    """What went wrong with a model request, as an error of the model's domain.

    A model request changes nothing outside, so its effect is none and it may always be repeated.
    """
    error = classifier.classify(exc, method="POST")
    changes: dict[str, Any] = {"effect": Effect.NONE}
    if error.domain in (Domain.TOOL, Domain.RUNTIME):
        changes["domain"] = Domain.MODEL
    if error.kind in (ErrorKind.INVALID_ARGUMENT, ErrorKind.NOT_FOUND, ErrorKind.UNKNOWN):
        changes["owner"] = Owner.HUMAN  # no model can repair the request that asks it
    return error.replace(**changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """One client with what asking it takes.

    Args:
        client: Whom to ask.
        retry: How often and how far apart.
        classifier: Turns what it raises into errors.
        clock: Waits.
        rng: Randomness for the waits.
        tell: Told of each wait: attempt, error, seconds.
    """

    client: Client
    retry: Retry | None
    classifier: Classifier
    clock: Clock
    rng: random.Random
    tell: Callable[[int, AgentError, float], object]

    async def ask(self, request: ModelRequest, remaining_s: Callable[[], float]) -> ModelTurn:
        """One answer, however many attempts it takes.

        Args:
            request: What to ask.
            remaining_s: Seconds that the run has left.

        Raises:
            AgentError: The last failure, once no other attempt is worth it or in time.
        """
        attempt, waited_s = 0, None
        while True:
            attempt += 1
            try:
                return await self._once(request, remaining_s())
            except UsageError:
                raise
            except Exception as exc:
                error = model_failure(exc, self.classifier)
            verdict = retry.decide(
                self.retry,
                attempt=attempt,
                error=error,
                repeatable=True,
                remaining_s=remaining_s(),
                rng=self.rng,
                previous_wait_s=waited_s,
            )
            if not verdict.go:
                raise error
            waited_s = verdict.delay_s
            self.tell(attempt, error, waited_s)
            await self.clock.sleep(waited_s)

    async def _once(self, request: ModelRequest, remaining_s: float) -> ModelTurn:
        if remaining_s == float("inf"):
            return await self.client.complete(request)
        async with asyncio.timeout(max(0.0, remaining_s)):
            return await self.client.complete(request)
