"""What a failure was and what it may have done: classification, and the proof that an effect needs.

An exception's own proof that nothing happened ("connection refused") counts only where the body makes one outside
request (`atomic`), or may be repeated anyway. Out of any other body it says nothing about the steps before it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from failsoft.core.errors import AgentError, InternalError, Overloaded, ToolTimeout
from failsoft.core.kinds import Effect
from failsoft.harness.closing import stopped
from failsoft.harness.drain import PARTIAL

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall

__all__ = ["failure_of", "failure_or_none"]

_NEVER = (KeyboardInterrupt, SystemExit, GeneratorExit)


def failure_or_none(call: LiveCall, exc: BaseException) -> AgentError | None:
    """The failure that came out of a body; None for what has to go on: the caller's cancel, Ctrl-C, exit.

    A task group whose siblings were cancelled raises a `BaseExceptionGroup`, and some libraries raise a class of their own.
    """
    if isinstance(exc, Exception):
        return failure_of(call, exc)
    if isinstance(exc, asyncio.CancelledError):
        return _meaning_of_cancel(call, exc)
    interrupted = exc.subgroup(_NEVER) if isinstance(exc, BaseExceptionGroup) else isinstance(exc, _NEVER)
    return None if interrupted else failure_of(call, exc)


def failure_of(call: LiveCall, exc: BaseException) -> AgentError:
    """The failure of one attempt as an `AgentError` with the effect that is proved; `exc` stays its cause."""
    if call.fired and not isinstance(exc, AgentError):
        return _caused(_timeout(call), exc)
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


def _meaning_of_cancel(call: LiveCall, exc: asyncio.CancelledError) -> AgentError | None:
    """What a CancelledError out of the body means; None when it is the caller's own and has to go on."""
    if call.is_callers_cancel():
        return None
    error: AgentError
    if call.fired:
        error = _timeout(call)
    else:
        effect = Effect.POSSIBLE if call.started and not call.plan.read_only else Effect.NONE
        error = InternalError(
            "The tool was cancelled from inside.",
            reason="leaked_cancellation",
            retryable=False,
            effect=effect,
        )
    return _caused(error, exc)


def _timeout(call: LiveCall) -> AgentError:
    """The error of an attempt that had no answer in time, or was stopped because the harness ends."""
    if call.shared.closing and call.clock.monotonic() < call.due:
        return stopped(call)
    limit = "its time limit" if call.plan.attempt_s is None else f"{call.plan.attempt_s:g} s"
    if call.clock.monotonic() >= call.deadline:
        limit = "the time that was left"
    if not call.started and call.plan.runner is not None:  # it waited for a thread or a process all the time
        return Overloaded(f"No worker was free for {call.name} within {limit}.", reason="no_worker_in_time")
    effect = Effect.POSSIBLE if call.started and not call.plan.read_only else Effect.NONE
    context = {"partial": list(call.partial)} if call.partial else None
    return ToolTimeout(
        f"{call.name} did not answer within {limit}.",
        reason="attempt_timeout",
        effect=effect,
        context=context,
    )


def _caused(error: AgentError, exc: BaseException) -> AgentError:
    error.__cause__ = exc
    return error


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
