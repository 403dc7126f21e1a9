"""Where a run needs a person: reached limits, and approvals."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.agent.escalation import Case, answer_of, why_not
from failsoft.agent.outcome import StopReason
from failsoft.agent.task import Stop
from failsoft.core.errors import UsageError
from failsoft.core.events import EventName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.agent.escalation import Answer
    from failsoft.agent.task import Task
    from failsoft.core.calls import ToolCall

__all__ = ["ask_approvals", "escalate", "follow"]

_log = logging.getLogger("failsoft.agent")
# What `harness.approve` could not decide; a plain refusal is a decision and goes to the model.
_OPEN = ("approval_required", "approval_unanswered")


async def escalate(
    task: Task, reason: StopReason | str, question: str, call: ToolCall | None = None
) -> Answer:
    """Ask a person what to do at a limit; the counts begin anew where they let the run go on.

    Raises:
        Stop: Nobody can be asked, nobody can answer now, or the answer is to give up.
    """
    limit = reason if isinstance(reason, StopReason) else StopReason.ESCALATED
    case = Case(
        reason=str(reason),
        question=question,
        run_id=task.run.id,
        call=call,
        errors=task.errors(),
        tool_version="" if call is None else task.version_of(call.name),
    )
    (answer, task.answer), (asked, task.asked) = (task.answer, None), (task.asked, None)
    refused = "" if answer is None else why_not(answer, asked, case)
    if refused:
        answer, question = None, f"{refused} {question}"
        case = replace(case, question=question)
    try:
        if answer is None:
            if task.on_escalate is None:
                raise Stop(StopReason.ESCALATED if refused else limit, question, case)
            task.tell(EventName.ESCALATED, reason=str(reason), question=question)
            answer = await answer_of(task.on_escalate, case)
    except (Stop, UsageError):
        raise
    except Exception as exc:
        _log.exception("on_escalate raised; the run ends at its limit")
        raise Stop(limit, question, case) from exc
    if answer.action == "give_up":
        raise Stop(StopReason.GAVE_UP, answer.text or question, case)
    if answer.action == "wait":
        raise Stop(StopReason.ESCALATED, question, case)
    if limit is not StopReason.ESCALATED:
        task.watch.forgive()
    return answer


async def follow(task: Task, call: ToolCall, answer: Answer) -> bool:
    """Do with a call what a person said: run it as it is, run it with other arguments, or leave it (False)."""
    if answer.action == "guide":
        return False
    arguments = call.arguments if answer.action == "approve" else answer.arguments
    task.begin(call)
    result = await task.run.call(
        call.name,
        arguments,
        id=call.id,
        approved=True,
        truncated=call.truncated and answer.action == "approve",
        roles=task.roles,
    )
    task.pending[call.id] = result
    task.end(call, result)
    return True


async def ask_approvals(task: Task, calls: Sequence[ToolCall]) -> list[str]:
    """Ask about each call that waits for an approval; guidance for the model, where that is the answer.

    An approval is bound to the exact arguments and the tool's version: it is given to this call and to no other.

    Raises:
        Stop: As `escalate`.
    """
    notes: list[str] = []
    if task.on_escalate is None and task.answer is None and not (task.runs is not None and task.runs.durable):
        return notes
    for call in calls:
        error = task.pending[call.id].error
        if error is None or error.reason not in _OPEN:
            continue
        answer = await escalate(task, "approval", f"May {call.name} run? {error}", replace(call))
        await follow(task, call, answer)
        notes.append(answer.text)
    return notes
