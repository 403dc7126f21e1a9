"""A turn without calls: is it the end? Each odd ending has one defined behaviour.

refused            the run stops; what the model said about it is kept
paused             the same conversation is sent again, the turn included
context full       the run stops as a model error
cut off            asked to go on where it stopped; the pieces are joined
empty              asked for an answer
not the form       asked again, with the problems
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.agent.outcome import StopReason
from failsoft.agent.task import Stop
from failsoft.agent.transcript import Said
from failsoft.core.errors import AgentError, make_error
from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner
from failsoft.core.turns import TurnEnd

if TYPE_CHECKING:
    from failsoft.agent.task import Task
    from failsoft.core.turns import ModelTurn

__all__ = ["conclude"]


async def conclude(task: Task, turn: ModelTurn) -> bool:
    """Whether a turn without calls ends the run; where not, the conversation is ready for the next request.

    Raises:
        Stop: The run cannot go on.
    """
    if turn.end is TurnEnd.PAUSED:
        return False
    if turn.end is TurnEnd.REFUSED:
        error = _error("The model refused to answer.", "refusal", turn.detail)
        raise _failed(task, error, StopReason.REFUSED)
    if turn.end is TurnEnd.CONTEXT_FULL:
        error = _error("The conversation has outgrown the model's context.", "context_overflow", turn.detail)
        raise _failed(task, error, StopReason.MODEL_ERROR)
    if turn.end is TurnEnd.TRUNCATED:
        return _go_on(task, turn)
    if not turn.text.strip() and not task.kept_text:
        error = _error("The model gave an empty answer.", "empty_answer")
        return _again(
            task,
            "Your last answer was empty. Answer the task, or call a tool.",
            error,
            StopReason.MODEL_ERROR,
        )
    if task.form is None:
        return True
    try:
        task.output = task.form.read(task.text)
    except AgentError as error:
        task.kept_text = ""
        return _again(task, task.form.complaint(error), error, StopReason.INVALID_OUTPUT)
    return True


def _go_on(task: Task, turn: ModelTurn) -> bool:
    task.kept_text += turn.text
    request = (
        "Your answer was cut off by the output limit. Go on exactly where it stopped, repeat nothing."
        if turn.text.strip()
        else "Your answer was cut off by the output limit before it began. Answer more briefly."
    )
    error = _error("The model's answer was cut off by the output limit.", "truncated")
    return _again(task, request, error, StopReason.TRUNCATED)


def _again(task: Task, request: str, error: AgentError, reason: StopReason) -> bool:
    """Ask once more; always False.

    Raises:
        Stop: It was asked often enough.
    """
    if task.repairs >= task.limits.output_repairs:
        raise _failed(task, error, reason)
    task.repairs += 1
    task.transcript.add(Said(request))
    return False


def _failed(task: Task, error: AgentError, reason: StopReason) -> Stop:
    task.model_errors.append(error)
    return Stop(reason, "" if reason is not StopReason.MODEL_ERROR else error.message)


def _error(message: str, reason: str, detail: str = "") -> AgentError:
    return make_error(
        ErrorKind.MODEL_ERROR,
        f"{message} {detail}".strip(),
        reason=reason,
        domain=Domain.MODEL,
        effect=Effect.NONE,
        owner=Owner.HUMAN,
    )
