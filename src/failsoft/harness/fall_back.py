"""Answer in another way when the call has failed: another tool, the last good value, a function, a constant."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError
from failsoft.core.events import EventName
from failsoft.harness.admit import read_again
from failsoft.harness.hooks import in_thread
from failsoft.ledger.key import identity_of
from failsoft.policies import UseFunction, UseLastGood, UseTool, UseValue
from failsoft.policies.fallback import plan as plan_fallback

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall
    from failsoft.policies.fallback import Step

__all__ = ["fall_back", "remember_good"]


class _NoAnswer(Exception):
    """This step has nothing; the next one is tried."""


async def fall_back(call: LiveCall, error: AgentError) -> Any:
    """The value of the first step that has one; marks the call as degraded.

    Raises:
        AgentError: `error`, when no step may or can stand in for it.
    """
    plan = call.plan
    read_again(call)
    steps = plan_fallback(
        plan.fallback, error, read_only=plan.read_only, repeatable=plan.repeatable, yielded=call.yielded
    )
    for step in steps:
        try:
            value = await _answer(call, step)
        except _NoAnswer:
            continue
        call.degraded_by, call.covered, call.notable = step.word, error, True
        call.ended_at = call.clock.monotonic()
        call.shared.tell(call, EventName.FALLBACK_USED, by=step.word, kind=str(error.kind))
        return value
    raise error


async def _answer(call: LiveCall, step: Step) -> Any:
    match step:
        case UseValue(value=value):
            return value
        case UseLastGood(max_age_s=max_age_s):
            return _last_good(call, max_age_s)
        case UseFunction(function=function):
            return await _from_function(call, function)
        case UseTool(name=name):
            return await _from_tool(call, name)


def _fingerprint(call: LiveCall) -> str:
    return identity_of(
        call.plan.name, call.values, defaults=call.plan.defaults, hidden=call.plan.hidden
    ).fingerprint


def _last_good(call: LiveCall, max_age_s: float) -> Any:
    memory = call.plan.last_good
    kept = None if memory is None else memory.recall(_fingerprint(call), call.clock.monotonic(), max_age_s)
    if kept is None:
        raise _NoAnswer
    call.degraded_age_s = kept.age_s
    return kept.value


def remember_good(call: LiveCall, value: Any) -> None:
    """Keep a good value for the time when there is none."""
    if call.plan.last_good is not None and call.degraded_by is None:
        read_again(call)
        call.plan.last_good.remember(_fingerprint(call), value, call.clock.monotonic())


def _visible(call: LiveCall) -> dict[str, Any]:
    return {name: value for name, value in call.values.items() if name not in call.plan.hidden}


async def _from_function(call: LiveCall, function: Any) -> Any:
    try:
        async with asyncio.timeout(call.remaining_s):
            if inspect.iscoroutinefunction(function):
                return await function(**_visible(call))
            answer = await in_thread(function, **_visible(call))
            return await answer if inspect.isawaitable(answer) else answer
    except Exception as exc:
        call.shared.log_once(
            ("fallback", call.plan.name), "the fallback of %s failed: %r", call.plan.name, exc
        )
        raise _NoAnswer from exc


async def _from_tool(call: LiveCall, name: str) -> Any:
    """Another tool with the same arguments, through the whole path, within what is left of the time."""
    result = await call.shared.call_again(call, name, _visible(call))
    if not result.ok:
        raise _NoAnswer
    return result.value
