"""What a failure was and what it may have done: classification, and the proof that an effect needs.

An exception's own proof that nothing happened ("connection refused") counts only where the body makes one outside
request (`atomic`), or may be repeated anyway. Out of any other body it says nothing about the steps before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.core.errors import AgentError
from failsoft.core.kinds import Effect
from failsoft.harness.drain import PARTIAL

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall

__all__ = ["failure_of"]


def failure_of(call: LiveCall, exc: Exception) -> AgentError:
    """The failure of one attempt as an `AgentError` with the effect that is proved; `exc` stays its cause."""
    error = exc if isinstance(exc, AgentError) else call.shared.classifier.classify(exc)
    changes: dict[str, object] = {}
    effect = _proved_effect(call, error, own=error is exc)
    if effect is Effect.POSSIBLE:
        call.may_have_acted = True
    elif call.may_have_acted and effect is Effect.NONE:
        # "Already there", "not found" or "refused" may be the echo of an earlier attempt that did go through.
        effect = Effect.POSSIBLE
    if effect is not error.effect:
        changes["effect"] = effect
    partial = getattr(exc, PARTIAL, None)
    if partial is not None:
        changes["context"] = {**error.context, "partial": partial}
    return error.replace(**changes) if changes else error


def _proved_effect(call: LiveCall, error: AgentError, *, own: bool) -> Effect:
    """The effect that may be told.

    Args:
        own: Whether the error was raised as an `AgentError`, with an effect of its maker's.
    """
    plan = call.plan
    if not call.started or plan.read_only:
        return error.effect if error.effect is Effect.DONE and call.started else Effect.NONE
    if error.effect is not Effect.NONE:
        return error.effect
    if own:
        acted = call.has_acted and not error.effect_given
        return Effect.POSSIBLE if acted else Effect.NONE
    proof_counts = (plan.repeatable or plan.tool.atomic) and not call.has_acted
    return Effect.NONE if proof_counts else Effect.POSSIBLE
