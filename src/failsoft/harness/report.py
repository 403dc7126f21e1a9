"""Make the one result of a call: settle the ledger, redact once, tell the sinks, and render for the model.

Never fails the call: what goes wrong in here is logged, and the result is given all the same.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import Cancelled, InternalError
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect, ErrorKind
from failsoft.core.results import DetailedResult, ToolResult
from failsoft.harness import claim as ledger
from failsoft.harness.batch import RESULT_OF
from failsoft.harness.fall_back import remember_good
from failsoft.harness.shield import shielded

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from failsoft.core.errors import AgentError
    from failsoft.harness.live import LiveCall

__all__ = [
    "report_cancelled",
    "report_failure",
    "report_passed",
    "report_plainly",
    "report_success",
    "report_surprise",
]

log = logging.getLogger("failsoft")
_INFO = logging.INFO


def report_plainly(call: LiveCall, value: Any) -> ToolResult:
    """The result of a call whose value needs no ledger and no memory; text that may be cut is rendered on demand."""
    shared = call.shared
    if call.notable:
        _tell_success(call, call.duration_s)
        return _notable(call, value)
    wants = shared.wants
    if wants(_INFO):
        _tell_success(call, call.duration_s)
    elif shared.recorder is not None:
        shared.recorder.finished(call, call.duration_s)
    return ToolResult(value, call)


def _tell_success(call: LiveCall, duration_s: float) -> None:
    repairs = [{"rule": repair.rule, "field": repair.field} for repair in call.repairs]
    call.shared.tell(
        call,
        EventName.CALL_FINISHED,
        duration_s=duration_s,
        degraded_by=call.degraded_by,
        repairs=repairs or None,
    )


async def report_success(call: LiveCall, value: Any) -> ToolResult:
    """The result of a call that has a value, settled in the ledger."""
    result = report_plainly(call, value)
    remember_good(call, value)
    if call.claim is not None:
        call.outcome = result
        # What a fallback answered did not happen by this call: the ledger is told how the call itself ended.
        error = call.covered
        if error is not None:
            await _settled(call, ledger.settle_failure(call, error))
        elif not ledger.settle_success_nowait(call, result):
            await _settled(call, ledger.settle_success(call, result))
        if call.doubt is not None:
            result = _notable(call, value)
        ledger.close_flight(call, result)
    return result


def _notable(call: LiveCall, value: Any) -> DetailedResult:
    return DetailedResult(
        value,
        call,
        call.attempt,
        call.duration_s,
        repairs=call.repairs,
        late=call.late,
        degraded=call.degraded_by is not None,
        degraded_by=call.degraded_by,
        doubt=call.doubt,
        history=call.history,
    )


async def report_failure(call: LiveCall, error: AgentError) -> ToolResult:
    """The result of a call that has none: the error, free of secrets, and what the ledger made of it."""
    if call.claim is not None and call.claim.asked:
        call.outcome = error
        await _settled(call, ledger.settle_failure(call, error))
    error = _with_doubt(call, error)
    result = failure_result(call, error)
    ledger.close_flight(call, result)
    _tell_failure(call, error)
    return result


def _with_doubt(call: LiveCall, error: AgentError) -> AgentError:
    """The error with the doubt that the call has opened."""
    if call.doubt is None or "doubt" in error.context:
        return error
    return error.replace(context={**error.context, **call.shared.doubt_context(call)})


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
        duration_s=call.clock.monotonic() - call.started_at,
        problems=_problems(error),
    )


def _problems(error: AgentError) -> list[dict[str, Any]] | None:
    """Which arguments were wrong, without what they were: models that err alike show a schema that misleads."""
    problems = error.context.get("problems") if error.kind is ErrorKind.INVALID_ARGUMENT else None
    if not isinstance(problems, list):
        return None
    return [
        {"field": problem.get("field", ""), "problem": problem.get("problem", "")}
        for problem in problems
        if isinstance(problem, dict)
    ]


async def report_surprise(call: LiveCall, exc: Exception) -> ToolResult:
    """The result where the runtime itself failed: a bug of failsoft's or of a store, kept from the caller's loop."""
    log.error("failsoft failed at a call of %s", call.name, exc_info=exc)
    effect = Effect.POSSIBLE if call.started else Effect.NONE
    error = InternalError("The runtime itself failed at this call.", reason="runtime_failure", effect=effect)
    error.__cause__ = exc
    return await report_failure(call, error)


async def report_cancelled(call: LiveCall, exc: BaseException) -> None:
    """Settle a call that was cut off, within the grace, and leave its result on `exc` for `interrupted_results`.

    A cancel that came while the end of the call was written down changes nothing of that end.
    """
    ended = call.outcome
    if ended is not None:
        result = ended if isinstance(ended, ToolResult) else failure_result(call, _with_doubt(call, ended))
        ledger.close_flight(call, result)
        _leave(exc, result)
        return
    acted = call.started and not call.read_only
    effect = Effect.POSSIBLE if acted or call.runs_on else Effect.NONE
    if isinstance(exc, GeneratorExit):  # the coroutine is being collected: there is no waiting any more
        error = _cut_off(effect)
        ledger.settle_late(call, None, error)
        ledger.close_flight(call, failure_result(call, error))
        return
    await _settle_cut_off(call, exc, effect)


async def report_passed(call: LiveCall, exc: BaseException) -> None:
    """Settle a call whose body raised a host framework's control flow: that says "not yet", so nothing has happened,
    unless the body said otherwise by `acted()`."""
    await _settle_cut_off(call, exc, Effect.POSSIBLE if call.has_acted else Effect.NONE)


def _cut_off(effect: Effect) -> Cancelled:
    what = "it may have taken effect" if effect is Effect.POSSIBLE else "nothing was done"
    return Cancelled(f"The call was cancelled; {what}.", effect=effect)


async def _settle_cut_off(call: LiveCall, exc: BaseException, effect: Effect) -> None:
    error = _cut_off(effect)
    try:
        result: ToolResult = await shielded(report_failure(call, error), call.grace_s)
    except (
        BaseException
    ) as again:  # a second cancel, or the grace is over: what is not settled becomes a doubt
        log.debug("settling a cancelled call of %s was cut off: %r", call.name, again)
        result = failure_result(call, error)
    _leave(exc, result)


def _leave(exc: BaseException, result: ToolResult) -> None:
    try:
        setattr(exc, RESULT_OF, result)
    except AttributeError:  # an exception with slots
        pass


async def _settled(call: LiveCall, work: Coroutine[Any, Any, None]) -> None:
    """Do the settling; a caller's cancel waits for it, and what fails is logged: the call has its result anyway.

    Beyond the call's time it is waited for as long as the grace; the writing itself goes on.
    """
    try:
        await shielded(work, call.plan.grace_s + min(5.0, call.remaining_s))
    except Exception:
        log.exception("settling a call of %s failed", call.name)
        call.shared.tell(call, EventName.STORE_TROUBLE, what="a settlement failed")
