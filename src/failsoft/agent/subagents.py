"""An agent as a tool of another: its failure is one error outside, its time and tokens are the outer run's."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failsoft.agent.outcome import StopReason
from failsoft.core.context import CallContext, current
from failsoft.core.errors import AgentError
from failsoft.core.kinds import Effect, ErrorKind, Owner
from failsoft.tools import Tool, tool

if TYPE_CHECKING:
    from failsoft.agent.agent import Agent
    from failsoft.agent.limits import Limits
    from failsoft.agent.outcome import Outcome
    from failsoft.agent.task import Task

__all__ = ["as_tool", "current_task"]

current_task: ContextVar[Task | None] = ContextVar("failsoft_task", default=None)

_EFFECTS = {"read_only", "idempotent", "destructive", "category"}
_KINDS = {
    StopReason.BUDGET: ErrorKind.BUDGET_EXHAUSTED,
    StopReason.MAX_TURNS: ErrorKind.BUDGET_EXHAUSTED,
    StopReason.MAX_CALLS: ErrorKind.BUDGET_EXHAUSTED,
    StopReason.ESCALATED: ErrorKind.PERMISSION_DENIED,
    StopReason.GAVE_UP: ErrorKind.PERMISSION_DENIED,
    StopReason.INVALID_OUTPUT: ErrorKind.INVALID_OUTPUT,
    StopReason.REFUSED: ErrorKind.MODEL_ERROR,
    StopReason.MODEL_ERROR: ErrorKind.MODEL_ERROR,
}


def as_tool(agent: Agent, name: str, description: str, **options: Any) -> Tool[..., Any]:
    """The agent as a tool that takes a task in words."""

    async def work(task: str) -> Any:
        call = current()
        outer = current_task.get()
        limits = _within(agent.limits, call, outer)
        run_id = f"{call.run_id}.{call.id}" if call.run_id is not None else None
        outcome = await agent.within(limits).run(task, run=run_id, scope=call.scope)
        if outer is not None:
            outer.usage += outcome.usage
        if not outcome.finished:
            raise _failure(name, outcome)
        return outcome.text if outcome.output is None else outcome.output

    work.__doc__ = f"{description}\n\nArgs:\n    task: What to do, with everything that is needed to know.\n"
    work.__name__ = name
    tools = getattr(agent.harness, "tools", ())
    if not set(options) & _EFFECTS and tools and all(one.annotations.read_only for one in tools):
        options["read_only"] = True
    return tool(work, name=name, **options)


def _within(limits: Limits, call: CallContext, outer: Task | None) -> Limits:
    """The agent's limits, none wider than what the outer call and run have left."""
    left_s = min(limits.wall_s or float("inf"), call.remaining_s)
    tokens = limits.tokens
    if outer is not None and outer.limits.tokens is not None:
        left = max(1, outer.limits.tokens - outer.usage.total_tokens)
        tokens = left if tokens is None else min(tokens, left)
    wall_s = None if left_s == float("inf") else max(left_s, 0.001)
    return replace(limits, wall_s=wall_s, tokens=tokens)


def _failure(name: str, outcome: Outcome) -> AgentError:
    acted = any(result.ok and not _is_harmless(result) for result in outcome.calls)
    effect = Effect.POSSIBLE if outcome.doubts or acted else Effect.NONE
    worst = outcome.errors[-1] if outcome.errors else None
    return AgentError(
        _KINDS.get(outcome.stop_reason, ErrorKind.INTERNAL),
        f"{name} did not finish. {outcome.summary()}",
        reason=f"agent_{outcome.stop_reason}",
        retryable=False,
        effect=effect,
        owner=Owner.MODEL if worst is None or worst.owner is Owner.RUNTIME else worst.owner,
        context={"doubts": list(outcome.doubts)} if outcome.doubts else {},
    )


def _is_harmless(result: Any) -> bool:
    plan = getattr(getattr(result, "_source", None), "plan", None)
    return bool(getattr(plan, "read_only", False))
