"""From a `ToolResult` to the answer that a client gets: the server's own bytes where nothing is to be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.adapters.mcp import wire
from failsoft.tools.dialects.mcp import DIALECT
from failsoft.tools.jsonable import to_plain

if TYPE_CHECKING:
    from failsoft.adapters.mcp.calls import ClientCall
    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.errors import AgentError
    from failsoft.core.results import ToolResult

__all__ = ["META", "answer_to", "error_result", "late_result", "passed_answer", "success_result"]

META = "failsoft"
"""The name in `_meta` under which the machine's fields stand."""


def answer_to(call: ClientCall, result: ToolResult) -> bytes:
    """The line that answers a call."""
    if result.error is not None:
        if call.rpc_error is not None and result.doubt is None:
            return passed_answer(call, call.rpc_error, b"")
        modern = wire.is_modern(call.message)
        return wire.encode(wire.response(call.id, error_result(result, modern=modern)))
    extra = _extra(result)
    if not extra and call.answer is not None and result.value is call.answer.get("result"):
        return passed_answer(call, call.answer, call.answer_line)
    return wire.encode(wire.response(call.id, _with_extra(result, extra)))


def passed_answer(call: ClientCall, answer: Message, line: bytes) -> bytes:
    """The server's answer under the client's id."""
    if line and answer.get("id") == call.id:
        return line + b"\n"
    return wire.encode({**answer, "id": call.id})


def _extra(result: ToolResult) -> dict[str, Any]:
    """What there is to tell of a success beside the server's own words."""
    told: dict[str, Any] = {}
    if result.attempts > 1:
        told["attempts"] = result.attempts
    if result.repairs:
        told["repairs"] = [
            {"rule": repair.rule, "field": repair.field, "detail": repair.detail} for repair in result.repairs
        ]
    if result.replayed:
        told["replayed"] = True
    if result.degraded:
        told["degraded_by"] = result.degraded_by
    if result.doubt is not None:
        told["doubt"] = result.doubt
    return told


def _with_extra(result: ToolResult, extra: dict[str, Any]) -> Message:
    value = result.value
    made = dict(value) if isinstance(value, dict) and "content" in value else {"content": _blocks(value)}
    note = _note(result)
    if note and isinstance(made["content"], list):
        made["content"] = [{"type": "text", "text": note}, *made["content"]]
    return _marked(made, extra)


def _marked(result: Message, fields: dict[str, Any]) -> Message:
    meta = result.get("_meta")
    return {**result, "_meta": {**(meta if isinstance(meta, dict) else {}), META: {"v": 1, **fields}}}


def _blocks(value: Any) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": value if isinstance(value, str) else wire.encode(value).decode().strip()}
    ]


def _note(result: ToolResult) -> str:
    if result.replayed:
        return "[already done: this call was not run again; this is the recorded result]"
    if result.degraded:
        return f"[degraded: the tool failed; this answer is from {result.degraded_by}]"
    return ""


def success_result(result: ToolResult) -> Message:
    """A success of a tool of our own: what the model reads, and the value itself where it is an object."""
    made: Message = {"content": DIALECT.to_messages([result])[0]["content"]}
    plain = to_plain(result.value)
    if isinstance(plain, dict):
        made["structuredContent"] = plain
    extra = _extra(result)
    return _marked(made, extra) if extra else made


def late_result(answer: Message) -> Message:
    """The result of an earlier identical call whose answer came after its time was over."""
    result = answer["result"]
    note = (
        "[already done: an earlier identical call was answered late; this is its answer, nothing was run now]"
    )
    content = result.get("content")
    made = {
        **result,
        "content": [{"type": "text", "text": note}, *(content if isinstance(content, list) else ())],
    }
    return _marked(made, {"replayed": True, "late": True})


def error_result(result: ToolResult, *, modern: bool = False) -> Message:
    """A failure as the model is to read it, and its fields for machines."""
    error = result.error
    assert error is not None
    content = result.content
    made: Message = {
        "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        "isError": True,
    }
    if modern:
        made["resultType"] = "complete"
    return _marked(made, fields_of(error, result))


def fields_of(error: AgentError, result: ToolResult) -> dict[str, Any]:
    """The fields of an error; what is not known is left out."""
    fields = {
        "error": str(error.kind),
        "reason": error.reason,
        "domain": str(error.domain),
        "retryable": error.retryable,
        "effect": str(error.effect),
        "owner": str(error.owner),
        "retry_after_s": error.retry_after_s,
        "attempts": result.attempts,
        "doubt": result.doubt,
        "problems": error.context.get("problems"),
        "did_you_mean": error.context.get("did_you_mean"),
        "code": error.context.get("code"),
    }
    return {name: value for name, value in fields.items() if value is not None}
