"""May this call run at all? Find the tool, read the arguments, ask for permission, set the deadline."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import ToolCall
from failsoft.core.errors import AgentError, InvalidArgument, Overloaded, PermissionDenied
from failsoft.core.events import EventName
from failsoft.core.kinds import Owner
from failsoft.harness.closing import not_begun, pause
from failsoft.harness.hooks import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.context import CallContext
    from failsoft.harness.live import LiveCall
    from failsoft.harness.plan import Plan

__all__ = ["admit", "ask_approval", "read_again"]


def admit(call: LiveCall, outer: CallContext | None) -> Plan:
    """Decide what the call is and whether it may go on; sets its plan, values and deadline.

    Args:
        call: The live call.
        outer: The call whose body is making this one, if any: its deadline bounds this one too.

    Raises:
        AgentError: `unknown_tool`, `invalid_argument`, `permission_denied`, or `overloaded` while shutting down.
    """
    shared = call.shared
    if shared.closing:
        raise not_begun()
    call.plan = plan = shared.plans.get(call.name) or _resolve(call, call.name)
    end = call.started_at + plan.total_s
    if end > call.deadline:
        end = call.deadline
    if outer is not None:
        call.outer = outer
        if outer.deadline < end:
            end = call.hard_deadline = outer.deadline
    call.deadline = end
    parse = plan.parse  # on 3.11, calling what a slot holds costs 20 ns more than calling a local
    call.values, repairs = parse(call.arguments, call.truncated)
    if repairs:
        call.repairs += repairs
        call.notable = True
    return plan if plan.plain else _complete(call, plan, outer)


def _complete(call: LiveCall, plan: Plan, outer: CallContext | None) -> Plan:
    """The less common parts: roles, injected values, and the built-in that stands for another call.

    Raises:
        AgentError: As `admit`.
    """
    if plan.redirects:
        target = call.shared.plans.get(call.values["tool"]) or _resolve(call, call.values["tool"])
        return _redirect(call, _checked_target(target), outer)
    if plan.roles and plan.roles.isdisjoint(call.roles):
        raise PermissionDenied(
            f"{plan.name} may be called only by: {', '.join(sorted(plan.roles))}.", reason="role_missing"
        )
    if plan.context_parameter is not None:
        call.values[plan.context_parameter] = call
    return plan


def _redirect(call: LiveCall, target: Plan, outer: CallContext | None) -> Plan:
    """Go on as the call that a `repeat_call` names, under its own number."""
    arguments, call.occurrence = call.values["arguments"], call.values["occurrence"]
    call.plan, call.redirected = target, arguments
    call.deadline = min(call.hard_deadline, call.started_at + target.total_s)
    call.values, repairs = target.parse(arguments, call.truncated)
    if repairs:
        call.repairs += repairs
        call.notable = True
    return target if target.plain else _complete(call, target, outer)


def read_again(call: LiveCall) -> None:
    """The arguments as they were sent, for another attempt or another way: a body may have changed them in place."""
    sent = call.arguments if call.redirected is None else call.redirected
    try:
        fresh, _ = call.plan.parse(sent, call.truncated)
    except AgentError:  # the caller's own mapping was changed: what there is has to do
        return
    kept = {name: call.values[name] for name in call.plan.hidden if name in call.values}
    call.values = {**fresh, **kept}


def _checked_target(target: Plan) -> Plan:
    if not target.claims:
        raise InvalidArgument(
            f"{target.name} can be called again as it is; repeat_call is not needed.",
            reason="repeat_not_needed",
            suggestion=f"Call {target.name} directly.",
        )
    return target


def _resolve(call: LiveCall, name: str) -> Plan:
    """The plan of a name that is not exactly a tool's.

    Raises:
        UnknownTool: No tool is certainly meant.
    """
    registry = call.shared.registry
    resolution = registry.resolve(name)
    if resolution.tool is None:
        raise registry.unknown_tool_error(name)
    if resolution.repaired is not None:
        call.repairs += (resolution.repaired,)
        call.notable = True
    return call.shared.plans[resolution.tool.name]


async def ask_approval(call: LiveCall) -> None:
    """Ask a person where the tool wants one asked. The waiting does not count against the tool's own time.

    Raises:
        PermissionDenied: reason `refused`, `approval_unanswered`, `approval_failed` when the hook raised, or
            `approval_required` when nobody can be asked.
    """
    approval = call.plan.tool.approval
    if call.approved or (callable(approval) and not await _needs(approval, call)):
        return
    shared = call.shared
    if shared.approve is None:
        raise PermissionDenied(
            f"{call.plan.name} needs a person's approval, and nobody can be asked here.",
            reason="approval_required",
            owner=Owner.HUMAN,
        )
    shared.tell(call, EventName.APPROVAL_ASKED)
    asked = ToolCall(call.id, call.plan.name, call.arguments)
    limit_s = (
        None if call.hard_deadline == float("inf") else max(0.0, call.hard_deadline - call.clock.monotonic())
    )
    try:
        async with asyncio.timeout(limit_s):
            answer = await pause(call, _answer(shared.approve, asked, call.plan.tool))
    except TimeoutError:
        answer = None
    except Overloaded:  # the harness ends
        raise
    except Exception as exc:
        shared.log_once(("approve", call.plan.name), "the approval of %s raised %r", call.plan.name, exc)
        raise PermissionDenied(
            f"Asking whether {call.plan.name} may run failed; nothing was run.", reason="approval_failed"
        ) from exc
    if answer is None:
        raise PermissionDenied(
            f"Nobody answered whether {call.plan.name} may run; nothing was run.",
            reason="approval_unanswered",
        )
    if not answer:
        raise PermissionDenied(
            f"A person refused this call of {call.plan.name}; nothing was run.", reason="refused"
        )
    now = call.clock.monotonic()
    call.deadline = min(call.hard_deadline, now + call.plan.total_s)


async def _answer(approve: Callable[..., Any], asked: ToolCall, tool: Any) -> bool | None:
    if inspect.iscoroutinefunction(approve):
        answer = await approve(asked, tool)
    else:
        answer = await in_thread(approve, asked, tool)
        if inspect.isawaitable(answer):
            answer = await answer
    return None if answer is None else bool(answer)


async def _needs(predicate: Callable[..., Any], call: LiveCall) -> bool:
    """Whether the predicate wants a person asked; one that raises does: a check that cannot say no must not say yes."""
    visible = {name: value for name, value in call.values.items() if name not in call.plan.hidden}
    try:
        answer = predicate(visible)
        return bool(await answer if inspect.isawaitable(answer) else answer)
    except Exception as exc:
        call.shared.log_once(
            ("approval", call.plan.name), "the approval predicate of %s raised %r", call.plan.name, exc
        )
        return True
