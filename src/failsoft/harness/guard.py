"""Obey the policies around a tool's body; the only place of the runtime that waits.

    fallback( total time-out( retry( breaker( rate limit( bulkhead( intent, attempt time-out( body )))))))

The policies think (`failsoft.policies`, free of I/O) and this driver does what they decide.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, CircuitOpen, Overloaded
from failsoft.core.events import EventName
from failsoft.core.kinds import Domain, ErrorKind
from failsoft.harness.admit import read_again
from failsoft.harness.blame import failure_or_none
from failsoft.harness.claim import begin
from failsoft.harness.closing import not_begun, pause
from failsoft.harness.fall_back import fall_back
from failsoft.harness.gates import wait_out_hint
from failsoft.harness.invoke import accepted, answered_late, arm, ask_again, run_elsewhere
from failsoft.policies import outcome_of, withdraw_all
from failsoft.policies.retry import RetryDecision
from failsoft.policies.retry import decide as decide_retry

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall
    from failsoft.policies import BreakerState

__all__ = ["guard", "guard_with_fallback"]


async def guard_with_fallback(call: LiveCall) -> Any:
    """`guard`, and what stands in for it when it has failed."""
    try:
        return await guard(call)
    except AgentError as error:
        if call.plan.fallback is None:
            raise
        return await fall_back(call, error)


async def guard(call: LiveCall) -> Any:
    """Attempt after attempt, until one succeeds or the policies say stop.

    Raises:
        AgentError: Everything failed; the last attempt's error.
        KnownAnswer: Somebody else had made the same call.
        BaseException: As `execute`.
    """
    plan, now, error = call.plan, call.started_at, None
    monotonic = call.shared.monotonic
    breaker = plan.breaker if plan.breakers is None else plan.breaker_for(call.values, now)
    if plan.budget is not None:
        plan.budget.deposit(now)
    while True:
        if breaker is not None:
            call.permit = permit = breaker.admit(now)
            if not permit:
                now = await _knock(call, breaker, now, error)
                permit = call.permit
        try:
            if plan.held_until > now:
                await wait_out_hint(call)
                now = monotonic()
            if plan.waits:
                await _wait_and_claim(call)
                now = monotonic()
            call.attempt += 1
            if plan.runner is None:
                watch = arm(call, now)
                try:
                    call.started = True
                    value = await plan.body(**call.values)
                finally:
                    watch.disarm(call)
            else:
                value = await run_elsewhere(call, now)
            if plan.accept is not None:
                value = accepted(call, value)
        except plan.passing:
            _let_go(call, breaker)
            raise
        except BaseException as exc:
            error = failure_or_none(call, exc)
            if error is None:
                _let_go(call, breaker)
                raise
        else:
            call.ended_at = end = monotonic()
            if breaker is not None:
                breaker.success(permit, end - now, end)
            if end > call.due:  # it never suspended, or swallowed its cancel: a value that came is a value
                answered_late(call)
            # `missed_cancel`, written out: a call of its own costs each success 60 ns.
            if (task := call.task) is not None and task.cancelling() > call.cancels_before:
                ask_again(call)
            if plan.waits:
                call.release()
            return value
        now = await _after_failure(call, breaker, error, now)


async def _wait_and_claim(call: LiveCall) -> None:
    """The last steps before a body: a turn and a place, then the intent, written once for all attempts."""
    if call.plan.gates is not None:
        await call.plan.gates.enter(call)
    if call.claim is not None and not call.claim.begun:
        await begin(call)
    if call.shared.closing:
        raise not_begun()


async def _after_failure(
    call: LiveCall, breaker: BreakerState | None, error: AgentError, began: float
) -> float:
    """Count a failure, then wait for the next attempt; the time at which that may begin.

    Raises:
        AgentError: There is no next attempt.
        CancelledError: The caller does not want one.
    """
    if call.missed_cancel():  # the body made an error of the caller's cancel
        _let_go(call, breaker)
        raise CancelledError from error
    now = call.shared.monotonic()
    call.tries += 1
    call.fired = False
    if breaker is not None:
        _count(call, breaker, error, began, now)
    call.release()
    if error.kind == ErrorKind.RATE_LIMITED and error.retry_after_s and error.domain is not Domain.RUNTIME:
        # The service said it to this call, and it holds for the others too.
        call.plan.held_until = max(call.plan.held_until, now + error.retry_after_s)
    decision = _decide(call, error, now)
    call.note_attempt(error, now - began, decision.delay_s)
    call.shared.tell(
        call,
        EventName.ATTEMPT_FAILED,
        kind=str(error.kind),
        reason=error.reason,
        effect=str(error.effect),
        message=error.message,
        duration_s=now - began,
    )
    if not decision.go:
        raise _explained(call, error, decision) from error.__cause__
    call.shared.tell(call, EventName.RETRY_SCHEDULED, wait_s=decision.delay_s, kind=str(error.kind))
    if decision.delay_s > 0 or call.shared.closing:
        await _wait_for_next(call, error, decision.delay_s)
    read_again(call)
    return call.shared.monotonic()


async def _wait_for_next(call: LiveCall, error: AgentError, delay_s: float) -> None:
    try:
        await pause(call, call.clock.sleep(delay_s))
    except Overloaded as exc:  # the harness ends: the failure that there was is the answer
        raise _explained(call, error, RetryDecision(why="shutting_down")) from exc


def _count(call: LiveCall, breaker: BreakerState, error: AgentError, began: float, now: float) -> None:
    outcome = outcome_of(error)
    if outcome == "ignored":
        breaker.ignore(call.permit)
    else:
        breaker.failure(call.permit, now, outcome == "hard", now - began)


def _decide(call: LiveCall, error: AgentError, now: float) -> RetryDecision:
    """Whether to try again: the retry policy first, then the budgets, before any waiting."""
    plan = call.plan
    decision = decide_retry(
        plan.retry,
        attempt=call.tries,
        error=error,
        repeatable=plan.repeatable and not (call.runs_on and plan.claims),
        remaining_s=call.deadline - now,
        rng=call.shared.rng,
        previous_wait_s=call.history[-1].wait_s if call.history else None,
        yielded=call.yielded,
    )
    if decision.go and plan.budget is not None:
        budgets = [plan.budget]
        if call.run is not None and call.run.retry_budget is not None:
            budgets.append(call.run.retry_budget)
        if not withdraw_all(tuple(budgets), now):
            call.shared.tell(call, EventName.RETRY_DENIED, why="budget")
            return RetryDecision(why="budget")
    return decision


def _explained(call: LiveCall, error: AgentError, decision: RetryDecision) -> AgentError:
    """The error with the reason why nothing more was tried; its kind stays what it was."""
    context: dict[str, Any] = {"stopped": decision.why}
    if decision.why in ("attempts_used", "budget", "deadline", "hint_beyond_deadline"):
        others = call.shared.registry.others_in_category(call.plan.tool)
        if others:
            context["other_tools"] = list(others)
    changes: dict[str, Any] = {"context": {**error.context, **context}}
    if decision.why == "attempts_used" and call.attempt > 1:
        changes["reason"] = "retries_exhausted"
        changes["context"]["last_reason"] = error.reason
    return error.replace(**changes)


async def _knock(call: LiveCall, breaker: BreakerState, now: float, last: AgentError | None) -> float:
    """A breaker gave no permit: ask the fleet where there is one, because this call may be its probe.

    Raises:
        AgentError: Nobody gave one.
    """
    if breaker.site.gate is not None:
        call.permit = await breaker.site.gate.admit(breaker, call.deadline - now)
        now = call.shared.monotonic()
    if not call.permit:
        raise _refused(call, breaker, now, last)
    return now


def _refused(call: LiveCall, breaker: BreakerState, now: float, last: AgentError | None) -> AgentError:
    """The breaker said no: before the first attempt that is the answer, later it only ends the retries."""
    wait_s = breaker.retry_after(now)
    if last is not None:
        context = {**last.context, "stopped": "circuit_open"}
        return last.replace(
            retry_after_s=max(wait_s or 0.0, last.retry_after_s or 0.0) or None, context=context
        )
    others = call.shared.registry.others_in_category(call.plan.tool)
    return CircuitOpen(
        f"{call.plan.name} is paused because it kept failing; it was not called.",
        reason="breaker_open",
        retry_after_s=wait_s,
        context={"other_tools": list(others)} if others else None,
    )


def _let_go(call: LiveCall, breaker: BreakerState | None) -> None:
    """Give back what the attempt held; its outcome says nothing about the tool."""
    if breaker is not None:
        breaker.ignore(call.permit)
    call.release()
