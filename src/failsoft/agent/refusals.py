"""Results of calls that the loop itself did not let run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.agent.outcome import StopReason
from failsoft.core.context import CallContext
from failsoft.core.errors import make_error
from failsoft.core.kinds import Effect, ErrorKind, Owner
from failsoft.core.results import Content, DetailedResult, ToolResult
from failsoft.feedback import Feedback

if TYPE_CHECKING:
    from failsoft.agent.task import Task
    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError

__all__ = ["not_started", "refused"]

# What the model itself can do something about: another call will run.
_MODELS_OWN = (StopReason.SAME_CALL, StopReason.STALLED)
_OTHER_WAY = "Change the arguments, use another tool, or answer with what is known."
_DEFAULT = Feedback()


def refused(task: Task, call: ToolCall, reason: StopReason | None, message: str) -> ToolResult:
    """The result of a call that a limit kept from running."""
    error = make_error(
        ErrorKind.BUDGET_EXHAUSTED,
        message,
        reason=str(reason),
        suggestion=_OTHER_WAY if reason in _MODELS_OWN else None,
        owner=Owner.MODEL if reason in _MODELS_OWN else Owner.HUMAN,
        context={"tool": call.name},
    )
    return _result(task, call, error)


def not_started(task: Task, call: ToolCall) -> ToolResult:
    """The result of a call that was not begun because the run ended or was interrupted."""
    error = make_error(
        ErrorKind.CANCELLED,
        f"{call.name} was not started.",
        reason="not_started",
        effect=Effect.NONE,
        context={"tool": call.name},
    )
    return _result(task, call, error)


def _result(task: Task, call: ToolCall, error: AgentError) -> ToolResult:
    feedback = getattr(task.harness, "feedback", _DEFAULT)
    source = CallContext(call.name, call.arguments, id=call.id, run_id=task.run.id, truncated=call.truncated)

    def render(result: ToolResult) -> tuple[Content, int]:
        return feedback.render(error, call=call, attempts=0), 0

    source._renderer = render
    return DetailedResult(None, source, 0, 0.0, error=error)
