"""A run as JSON and back: what a run needs to go on later, in another process.

Not kept: time that has passed (`wall_s` begins anew) and how long a "come back later" still lasts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from failsoft.agent.escalation import Case
from failsoft.agent.outcome import Outcome, StopReason, distinct_errors
from failsoft.agent.task import named
from failsoft.agent.transcript import Answered, Entry, Given, Reply, Said, Turned
from failsoft.core.calls import ToolCall
from failsoft.core.context import CallContext
from failsoft.core.errors import AgentError, UsageError, make_error
from failsoft.core.results import Content, DetailedResult, ToolResult
from failsoft.core.turns import ModelTurn, TurnEnd, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.agent.task import Task

__all__ = ["case_of", "kept_outcome", "restore", "snapshot"]

VERSION = 1


def snapshot(task: Task, *, stopped: str = "", case: Case | None = None) -> dict[str, Any]:
    """The state of a run between two steps, JSON-able."""
    return {
        "v": VERSION,
        "run_id": task.run.id,
        "scope": getattr(task.run, "scope", None),
        "stopped": stopped,
        "case": None if case is None else _case(case),
        "entries": [_entry(entry) for entry in task.transcript.entries],
        "pending": [_result(result) for result in task.pending.values()],
        "results": [_result(result) for result in task.results],
        "model_errors": [_error(error) for error in task.model_errors],
        "watch": task.watch.dump(),
        "usage": asdict(task.usage),
        "turns": task.turns,
        "max_turns": task.max_turns,
        "repairs": task.repairs,
        "text": task.text,
        "kept_text": task.kept_text,
    }


def restore(task: Task, state: dict[str, Any]) -> None:
    """Bring a fresh task to where `snapshot` was taken.

    Raises:
        UsageError: The state was written by a version that this one does not know.
    """
    if state.get("v") != VERSION:
        raise UsageError(f"the run was stored in format {state.get('v')!r}, this version reads {VERSION}")
    for entry in state["entries"]:
        task.transcript.add(_to_entry(entry))
    task.pending = {one["call"]["id"]: _to_result(one) for one in state["pending"]}
    task.results = [_to_result(one) for one in state["results"]]
    task.model_errors = [_to_error(one) for one in state["model_errors"]]
    task.asked = case_of(state)
    last = task.transcript.entries[-1] if task.transcript.entries else None
    if isinstance(last, Turned):
        task.taken_up = frozenset(call.id for call in last.turn.calls)
    task.watch.load(state["watch"])
    task.usage = Usage(**state["usage"])
    task.turns, task.max_turns, task.repairs = state["turns"], state["max_turns"], state["repairs"]
    task.text, task.kept_text = state["text"], state["kept_text"]


def kept_outcome(run_id: str, state: dict[str, Any], doubts: Sequence[str]) -> Outcome:
    """How a stored run ended, without its conversation.

    Args:
        run_id: The run.
        state: As `snapshot` made it.
        doubts: Those that are still open.
    """
    results = [_to_result(one) for one in state["results"]]
    errors = [named(one, one.error) for one in results if one.error is not None]
    met = dict.fromkeys(one.doubt for one in results if one.doubt is not None)
    return Outcome(
        text=state["text"],
        stop_reason=StopReason(state["stopped"]),
        calls=tuple(results),
        errors=distinct_errors([*errors, *(_to_error(one) for one in state["model_errors"])]),
        doubts=tuple(doubt for doubt in met if doubt in doubts),
        usage=Usage(**state["usage"]),
        run_id=run_id,
        turns=state["turns"],
        case=case_of(state),
    )


def case_of(state: dict[str, Any]) -> Case | None:
    """What a person was asked when the run stopped."""
    stored = state.get("case")
    if stored is None:
        return None
    call = None if stored["call"] is None else _to_call(stored["call"])
    errors = tuple(_to_error(one) for one in stored["errors"])
    return Case(**{**stored, "call": call, "errors": errors})


def _case(case: Case) -> dict[str, Any]:
    return {
        "reason": case.reason,
        "question": case.question,
        "run_id": case.run_id,
        "call": None if case.call is None else _call(case.call),
        "tool_version": case.tool_version,
        "errors": [_error(error) for error in case.errors],
    }


# ---- entries ----


def _entry(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Said):
        return {"is": "said", "text": entry.text}
    if isinstance(entry, Given):
        return {"is": "given", "messages": list(entry.messages), "dialect": entry.dialect}
    if isinstance(entry, Turned):
        return {"is": "turned", "turn": _turn(entry.turn)}
    replies = [{**asdict(reply), "call": _call(reply.call)} for reply in entry.replies]
    return {"is": "answered", "replies": replies, "note": entry.note}


def _to_entry(stored: dict[str, Any]) -> Entry:
    kind = stored["is"]
    if kind == "said":
        return Said(stored["text"])
    if kind == "given":
        return Given(tuple(stored["messages"]), stored["dialect"])
    if kind == "turned":
        return Turned(_to_turn(stored["turn"]))
    replies = tuple(Reply(**{**one, "call": _to_call(one["call"])}) for one in stored["replies"])
    return Answered(replies, stored["note"])


def _turn(turn: ModelTurn) -> dict[str, Any]:
    return {
        "messages": list(turn.messages),
        "dialect": turn.dialect,
        "text": turn.text,
        "calls": [_call(call) for call in turn.calls],
        "end": str(turn.end),
        "usage": asdict(turn.usage),
        "model": turn.model,
        "detail": turn.detail,
    }


def _to_turn(stored: dict[str, Any]) -> ModelTurn:
    return ModelTurn(
        **{
            **stored,
            "messages": tuple(stored["messages"]),
            "calls": tuple(_to_call(one) for one in stored["calls"]),
            "end": TurnEnd(stored["end"]),
            "usage": Usage(**stored["usage"]),
        }
    )


def _call(call: ToolCall) -> dict[str, Any]:
    given = call.arguments
    arguments = given.decode("utf-8", "replace") if isinstance(given, bytes) else given
    if arguments is not None and not isinstance(arguments, str):
        arguments = dict(arguments)
    return {"id": call.id, "name": call.name, "arguments": arguments, "truncated": call.truncated}


def _to_call(stored: dict[str, Any]) -> ToolCall:
    return ToolCall(**stored)


# ---- results: what the model read of them, and what is said of them at the end ----


def _result(result: ToolResult) -> dict[str, Any]:
    return {
        "call": _call(result.call),
        "content": result.content,
        "error": None if result.error is None else _error(result.error),
        "attempts": result.attempts,
        "duration_s": result.duration_s,
        "details": {
            name: value
            for name in ("degraded", "degraded_by", "replayed", "joined", "late", "doubt")
            if (value := getattr(result, name))
        },
    }


def _to_result(stored: dict[str, Any]) -> ToolResult:
    call, content = _to_call(stored["call"]), stored["content"]
    source = CallContext(call.name, call.arguments, id=call.id, truncated=call.truncated)

    def render(_: ToolResult) -> tuple[Content, int]:
        return content, 0

    source._renderer = render
    error = None if stored["error"] is None else _to_error(stored["error"])
    value = content if error is None else None
    details = {**stored["details"], "error": error}
    return DetailedResult(value, source, stored["attempts"], stored["duration_s"], **details)


def _error(error: AgentError) -> dict[str, Any]:
    fields = error.fields()
    words = ("kind", "domain", "effect", "owner")
    return {name: str(value) if name in words else value for name, value in fields.items()}


def _to_error(stored: dict[str, Any]) -> AgentError:
    return make_error(**stored)
