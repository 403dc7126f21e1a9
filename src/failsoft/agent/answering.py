"""One turn's calls: judge them, run what may run, answer every id in order, and learn from the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.agent.outcome import StopReason
from failsoft.agent.people import ask_approvals, escalate, follow
from failsoft.agent.refusals import not_started, refused
from failsoft.agent.task import Task
from failsoft.agent.transcript import Answered, Reply, Turned
from failsoft.core.results import DetailedResult
from failsoft.harness.batch import interrupted_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.agent.watch import Ruling
    from failsoft.core.calls import ToolCall
    from failsoft.core.results import ToolResult
    from failsoft.core.turns import ModelTurn

__all__ = ["answer_calls", "close_turn"]


async def answer_calls(task: Task, turn: ModelTurn) -> None:
    """Answer every call of a turn, and say what the limits have to say.

    Raises:
        Stop: A limit was reached and no person helped.
    """
    calls = turn.calls
    if task.turns >= task.max_turns:
        await _out_of_turns(task, calls)
        return
    rulings = task.watch.judge(calls)
    for call, ruling in zip(calls, rulings, strict=True):
        if ruling.action == "stop":
            await _stopped(task, calls, call, ruling)
            return
    await _run(task, calls, rulings)
    notes = await ask_approvals(task, calls)
    ran = [task.pending[c.id] for c, ruling in zip(calls, rulings, strict=True) if ruling.action == "run"]
    lesson = task.watch.learn(ran)
    notes += task.health.learn(ran)
    if lesson.stop is not None:
        question = f"There is no tool {calls[-1].name!r}. The tools are: {', '.join(task.watch.tool_names()) or 'none'}."
        answer = await escalate(task, lesson.stop, question, calls[-1])
        notes.append(answer.text)
    close_turn(task, note="\n".join(note for note in (*lesson.notes, *notes) if note))


async def _run(task: Task, calls: Sequence[ToolCall], rulings: Sequence[Ruling]) -> None:
    """Run what may run; what may not is refused. Every call's result is in `task.pending` afterwards."""
    allowed = []
    for call, ruling in zip(calls, rulings, strict=True):
        if call.id in task.pending:
            continue  # its result was kept when the run stopped in this turn
        if ruling.action == "run":
            allowed.append(call)
        else:
            task.pending[call.id] = refused(task, call, ruling.reason, ruling.message)
    if not allowed:
        return
    for call in allowed:
        task.begin(call)
    left_s = task.remaining_s()
    options: dict[str, Any] = {} if left_s == float("inf") else {"deadline_s": left_s}
    if task.roles:
        options["roles"] = task.roles
    for call, result in zip(allowed, await task.run.call_all(allowed, **options), strict=True):
        task.pending[call.id] = result
        task.end(call, result)


async def _stopped(task: Task, calls: Sequence[ToolCall], call: ToolCall, ruling: Ruling) -> None:
    """A call that must not run again was asked for once more: nothing of this turn runs unless a person says so."""
    for other in calls:
        task.pending[other.id] = not_started(task, other)
    task.pending[call.id] = refused(task, call, ruling.reason, ruling.message)
    answer = await escalate(task, ruling.reason or StopReason.STALLED, ruling.message, call)
    if await follow(task, call, answer):
        task.watch.learn([task.pending[call.id]])
    close_turn(task, note=answer.text)


async def _out_of_turns(task: Task, calls: Sequence[ToolCall]) -> None:
    for call in calls:
        message = f"{call.name} was not run: this was the last turn of the run."
        task.pending[call.id] = refused(task, call, StopReason.MAX_TURNS, message)
    question = f"{task.turns} turns were used; in the last one the model asked for {calls[0].name} again."
    answer = await escalate(task, StopReason.MAX_TURNS, question, calls[0])
    task.max_turns += task.limits.max_turns
    close_turn(task, note=answer.text)


def close_turn(task: Task, *, note: str = "", exc: BaseException | None = None) -> None:
    """Write the replies to the last turn's calls into the conversation, so that it can be sent on.

    A call that has no result yet gets one: the settled one that a cancel carries, else `not_started`.
    """
    last = task.transcript.entries[-1] if task.transcript.entries else None
    if not isinstance(last, Turned) or not last.turn.calls:
        return
    for result in (interrupted_results(exc) if exc is not None else None) or ():
        task.pending.setdefault(result.call.id, result)
    results = [task.pending.get(call.id) or not_started(task, call) for call in last.turn.calls]
    task.pending.clear()
    task.results += results
    replies = tuple(
        Reply.of(_first_told(task, result), call)
        for result, call in zip(results, last.turn.calls, strict=True)
    )
    last_turn = (
        "One turn is left: answer now, without calling tools." if task.turns == task.max_turns - 1 else ""
    )
    notes = [part for part in (note, task.note, last_turn) if part]
    task.note = ""
    task.transcript.add(Answered(replies, "\n".join(notes)))


def _first_told(task: Task, result: ToolResult) -> ToolResult:
    """A result of a call that a kill left open, as the model would have read it then.

    The ledger knows it as done already; to the model, who has not heard of it yet, it is no repetition.
    """
    if not result.replayed or result.call.id not in task.taken_up:
        return result
    return DetailedResult(
        result.value,
        result._source,
        result.attempts,
        result.duration_s,
        degraded=result.degraded,
        degraded_by=result.degraded_by,
        repairs=result.repairs,
        doubt=result.doubt,
        error=result.error,
    )
