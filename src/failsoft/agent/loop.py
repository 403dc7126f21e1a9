"""The loop, from top to bottom: ask the model, answer its calls, look after the limits, come to an end.

ask ─ calls? ─ yes: answer_calls (judge, run, learn) ─ ask …
            └ no:  conclude (refused, paused, cut off, empty, checked) ─ end, or ask again
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.agent.answering import answer_calls, close_turn
from failsoft.agent.checkpoint import snapshot
from failsoft.agent.concluding import conclude
from failsoft.agent.outcome import Outcome, StopReason
from failsoft.agent.runs import TAKEN
from failsoft.agent.subagents import current_task
from failsoft.agent.task import Stop, Task
from failsoft.agent.transcript import Turned
from failsoft.agent.validity import problems
from failsoft.core.errors import AgentError, ModelError, UsageError
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect
from failsoft.core.turns import TurnEnd
from failsoft.harness.batch import with_unique_ids

if TYPE_CHECKING:
    from failsoft.agent.escalation import Case
    from failsoft.core.turns import ModelTurn

__all__ = ["OUTCOME", "drive", "give_up", "interrupted_outcome"]

_log = logging.getLogger("failsoft.agent")

OUTCOME = "failsoft_outcome"
"""Attribute of a cancellation that holds how the run stood."""


def interrupted_outcome(error: BaseException) -> Outcome | None:
    """How a run stood when a cancel ended it, with a history that can be sent on; None where `error` is not of a run.

    Args:
        error: The CancelledError (or KeyboardInterrupt) that came out of `agent.run`.
    """
    return getattr(error, OUTCOME, None)


async def drive(task: Task) -> Outcome:
    """Run a task to its end; never raises for what a model, a tool or the world did.

    Raises:
        BaseException: The caller's cancel and the harness's `passthrough`; the outcome so far is on its attribute
            `failsoft_outcome`, with a history that can be sent on.
        UsageError: Misuse of the API.
    """
    task.tell(EventName.RUN_STARTED)
    token = current_task.set(task)
    try:
        outcome = await _until_stopped(task)
    except BaseException as exc:
        close_turn(task, exc=exc)
        if task.runs is not None and not task.runs.durable:  # a durable one has kept every step
            await _keep(task, stopped=StopReason.INTERRUPTED)
        _leave(exc, task.outcome(StopReason.INTERRUPTED))
        task.tell(EventName.RUN_FINISHED, stop_reason=str(StopReason.INTERRUPTED), turns=task.turns)
        raise
    finally:
        current_task.reset(token)
    task.tell(EventName.RUN_FINISHED, stop_reason=str(outcome.stop_reason), turns=outcome.turns)
    return outcome


async def _until_stopped(task: Task) -> Outcome:
    try:
        turn = _unanswered(task)
        while True:
            if turn is None:
                turn = await _next_turn(task)
                await _keep(task)
            if turn.calls and turn.end is not TurnEnd.REFUSED:
                await answer_calls(task, turn)
            elif await conclude(task, turn):
                outcome = task.outcome(
                    StopReason.FINISHED, output=task.output, doubts=await _open_doubts(task)
                )
                await _keep(task, stopped=StopReason.FINISHED)
                return outcome
            turn = None
            await _keep(task)
    except Stop as stop:
        # A run that waits for a person goes on with the very turn that it stopped in.
        if stop.reason is not StopReason.ESCALATED:
            close_turn(task)
        await _keep(task, stopped=stop.reason, case=stop.case)
        close_turn(task)
        return task.outcome(stop.reason, stop.detail, case=stop.case, doubts=await _open_doubts(task))


async def give_up(task: Task, text: str) -> Outcome:
    """End a run that does not go on: its open calls are answered as not started."""
    close_turn(task)
    await _keep(task, stopped=StopReason.GAVE_UP)
    return task.outcome(StopReason.GAVE_UP, text, doubts=await _open_doubts(task))


def _unanswered(task: Task) -> ModelTurn | None:
    """The turn that a run which is taken up again was interrupted in, if its calls are not answered yet."""
    last = task.transcript.entries[-1] if task.transcript.entries else None
    return last.turn if isinstance(last, Turned) and last.turn.calls else None


async def _keep(task: Task, *, stopped: StopReason | None = None, case: Case | None = None) -> None:
    """Store the run: each step where the store outlives the process, else only how it stopped."""
    if task.runs is None or not (task.runs.durable or stopped is not None):
        return
    over = stopped is StopReason.FINISHED and not task.runs.durable
    try:
        state = {"stopped": str(stopped)} if over else snapshot(task, stopped=str(stopped or ""), case=case)
        await task.runs.save_run(task.run.id, state)
    except Exception as exc:
        if isinstance(exc, AgentError) and exc.reason == TAKEN:
            task.runs = None
            if stopped is None:
                raise Stop(StopReason.INTERRUPTED, "It was taken up elsewhere and goes on there.") from exc
            return
        _log.exception("the state of run %s could not be kept", task.run.id)
        task.tell(EventName.STORE_TROUBLE, what="the state of a run could not be kept")


async def _next_turn(task: Task) -> ModelTurn:
    """The model's next answer, written into the conversation.

    Raises:
        Stop: No turn, time or tokens are left, or the model cannot be asked.
    """
    _check_budgets(task)
    await task.renew_tools()
    task.transcript.compact(task.limits.error_chars_per_run)
    request = task.request()
    _check_conversation(task, problems(request.dialect, request.messages))
    task.tell(EventName.TURN_STARTED, turn=task.turns + 1)
    try:
        turn = _with_ids(await task.asker.ask(request, task.remaining_s))
    except AgentError as error:
        _check_budgets(task)
        task.model_errors.append(error)
        raise Stop(StopReason.MODEL_ERROR, str(error)) from error
    task.count(turn)
    said = turn.calls or turn.text or (turn.end is TurnEnd.PAUSED and turn.messages)
    if said and turn.end is not TurnEnd.REFUSED:
        task.transcript.add(Turned(turn))
    task.tell(EventName.TURN_FINISHED, turn=task.turns, end=str(turn.end), calls=len(turn.calls))
    return turn


def _check_conversation(task: Task, wrong: list[str]) -> None:
    """Send nothing that the provider would refuse.

    Raises:
        UsageError: The conversation that was handed in is none.
        Stop: A client let something through that cannot be sent back.
    """
    if not wrong:
        return
    told = f"the provider would refuse this conversation: {'; '.join(wrong[:3])}"
    if task.turns == 0:
        raise UsageError(f"{told}\n\nhint: hand in whole conversations, every call with its result")
    task.model_errors.append(ModelError(told, reason="malformed_turn", effect=Effect.NONE))
    raise Stop(StopReason.MODEL_ERROR, "The model's answer cannot be sent back.")


def _check_budgets(task: Task) -> None:
    limits = task.limits
    if task.turns >= task.max_turns:
        raise Stop(StopReason.MAX_TURNS, f"{task.turns} turns were used.")
    if task.remaining_s() <= 0:
        raise Stop(StopReason.BUDGET, f"The {limits.wall_s:g} s of the run are over.")
    if limits.tokens is not None and task.usage.total_tokens >= limits.tokens:
        raise Stop(StopReason.BUDGET, f"{task.usage.total_tokens} of {limits.tokens} tokens were used.")


def _with_ids(turn: ModelTurn) -> ModelTurn:
    """The turn with distinct ids; where there is a provider's message, its dialect has seen to that already."""
    return turn if turn.messages else replace(turn, calls=tuple(with_unique_ids(turn.calls)))


async def _open_doubts(task: Task) -> list[str] | None:
    """Ids of the run's doubts that are open; None where nobody can say."""
    if not any(result.doubt for result in task.results):
        return []
    look = getattr(task.harness, "doubts", None)
    if look is None:
        return None
    try:
        return [doubt.id for doubt in await look(task.run)]
    except asyncio.CancelledError:
        raise
    except Exception:  # the store is in trouble; rather list a doubt too many
        return None


def _leave(exc: BaseException, outcome: Outcome) -> None:
    try:
        setattr(exc, OUTCOME, outcome)
    except AttributeError:  # an exception with slots
        pass
