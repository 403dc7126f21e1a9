"""Make the one result of a call: settle the ledger, redact once, tell the sinks, and render for the model.

Never fails the call: what goes wrong in here is logged, and the result is given all the same.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import Cancelled, InternalError
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect
from failsoft.core.results import DetailedResult, ToolResult
from failsoft.harness import claim as ledger
from failsoft.harness.batch import RESULT_OF
from failsoft.harness.fall_back import remember_good
from failsoft.harness.shield import shielded

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from failsoft.core.errors import AgentError
    from failsoft.harness.live import LiveCall

__all__ = ["report_cancelled", "report_failure", "report_success", "report_surprise"]

log = logging.getLogger("failsoft")

# Shown as they are: no rendering can cut or change them, so it may wait until somebody asks for the content.
_SHORT = (int, float, bool, type(None))


async def report_success(call: LiveCall, value: Any) -> ToolResult:
    """The result of a call that has a value."""
    shared, plan = call.shared, call.plan
    duration_s = call.clock.monotonic() - call.started_at
    result = _success(call, value, duration_s)
    if not (isinstance(value, str) and len(value) <= (plan.max_chars or 0)) and type(value) not in _SHORT:
        await shared.keep_cut(call, result)
    if plan.last_good is not None:
        remember_good(call, value)
    if call.claim is not None:
        await _settled(call, ledger.settle_success(call, result))
        ledger.close_flight(call, result)
    if shared.events.wants(logging.INFO):
        shared.tell(call, EventName.CALL_FINISHED, duration_s=duration_s, degraded_by=call.degraded_by)
    return result


def _success(call: LiveCall, value: Any, duration_s: float) -> ToolResult:
    late = call.late or call.started_at + duration_s > call.deadline
    if call.repairs or late or call.degraded_by is not None or call.history:
        return DetailedResult(
            value,
            call,
            call.attempt,
            duration_s,
            repairs=call.repairs,
            late=late,
            degraded=call.degraded_by is not None,
            degraded_by=call.degraded_by,
            history=call.history,
        )
    return ToolResult(value, call, call.attempt, duration_s)


async def report_failure(call: LiveCall, error: AgentError) -> ToolResult:
    """The result of a call that has none: the error, free of secrets, and what the ledger made of it."""
    if call.claim is not None and call.claim.begun:
        await _settled(call, ledger.settle_failure(call, error))
    if call.doubt is not None and "doubt" not in error.context:
        error = error.replace(context={**error.context, **call.shared.doubt_context(call)})
    result = failure_result(call, error)
    ledger.close_flight(call, result)
    _tell_failure(call, error)
    return result


def failure_result(call: LiveCall, error: AgentError) -> DetailedResult:
    """A failed result, its error redacted for operators; the model's view is made from it when asked for."""
    clean = call.shared.clean(call, error)
    duration_s = call.clock.monotonic() - call.started_at
    return DetailedResult(
        None,
        call,
        call.attempt,
        duration_s,
        error=clean,
        doubt=call.doubt,
        repairs=call.repairs,
        history=call.history,
    )


def _tell_failure(call: LiveCall, error: AgentError) -> None:
    name = EventName.CALL_FAILED if call.attempt else EventName.CALL_REFUSED
    call.shared.tell(
        call,
        name,
        kind=str(error.kind),
        reason=error.reason,
        effect=str(error.effect),
        message=error.message,
        retry_after_s=error.retry_after_s,
        doubt=call.doubt,
    )


async def report_surprise(call: LiveCall, exc: Exception) -> ToolResult:
    """The result where the runtime itself failed: a bug of failsoft's or of a store, kept from the caller's loop."""
    log.error("failsoft failed at a call of %s", call.name, exc_info=exc)
    effect = Effect.POSSIBLE if call.started else Effect.NONE
    error = InternalError("The runtime itself failed at this call.", reason="runtime_failure", effect=effect)
    error.__cause__ = exc
    return await report_failure(call, error)


async def report_cancelled(call: LiveCall, exc: BaseException) -> None:
    """Settle a call that was cut off, within the grace, and leave its result on `exc` for `interrupted_results`."""
    if not hasattr(call, "plan"):
        return
    acted = call.started and not call.plan.read_only
    effect = Effect.POSSIBLE if acted or call.runs_on else Effect.NONE
    text = (
        "The call was cancelled; it may have taken effect."
        if acted
        else "The call was cancelled; nothing was done."
    )
    try:
        result = await shielded(report_failure(call, Cancelled(text, effect=effect)), call.plan.grace_s)
    except (
        BaseException
    ) as again:  # a second cancel, or the grace is over: what is not settled becomes a doubt
        log.debug("settling a cancelled call of %s was cut off: %r", call.name, again)
        result = failure_result(call, Cancelled(text, effect=effect))
    try:
        setattr(exc, RESULT_OF, result)
    except AttributeError:  # an exception with slots
        pass


async def _settled(call: LiveCall, work: Coroutine[Any, Any, None]) -> None:
    """Do the settling; a caller's cancel waits for it, and what fails is logged: the call has its result anyway."""
    try:
        await shielded(work, call.plan.grace_s + 5.0)
    except Exception:
        log.exception("settling a call of %s failed", call.name)
        call.shared.tell(call, EventName.STORE_TROUBLE, what="a settlement failed")
