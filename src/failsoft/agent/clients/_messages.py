"""The Messages API: what comes back as a turn. Knows no SDK."""

from __future__ import annotations

from typing import Any

from failsoft.agent.clients._sdk import unreadable_answer
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from
from failsoft.tools.names import safe_name

__all__ = ["turn_of"]

_ENDS = {
    "end_turn": TurnEnd.FINISHED,
    "stop_sequence": TurnEnd.FINISHED,
    "tool_use": TurnEnd.CALLS,
    "max_tokens": TurnEnd.TRUNCATED,
    "pause_turn": TurnEnd.PAUSED,
    "refusal": TurnEnd.REFUSED,
    "model_context_window_exceeded": TurnEnd.CONTEXT_FULL,
}


def turn_of(message: dict[str, Any]) -> ModelTurn:
    """The turn in a response of the Messages API.

    Raises:
        ModelError: It is no message.
    """
    content = message.get("content")
    if not isinstance(content, list) or message.get("role") != "assistant":
        raise unreadable_answer()
    # Empty text is refused when it is sent back; everything else goes back as it came.
    blocks = [
        b for b in content if not (isinstance(b, dict) and b.get("type") == "text" and not b.get("text"))
    ]
    message = {**message, "content": blocks}
    calls = tuple(calls_from("anthropic", message))
    blocks = [_sendable(block) for block in blocks]
    word = str(message.get("stop_reason"))
    details = message.get("stop_details") or {}
    return ModelTurn(
        messages=({"role": "assistant", "content": blocks},) if blocks else (),
        dialect="anthropic",
        text="".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        calls=calls,
        end=_ENDS.get(word, TurnEnd.CALLS if calls else TurnEnd.FINISHED),
        usage=_usage(message.get("usage") or {}),
        model=str(message.get("model", "")),
        detail=str(details.get("explanation") or "") if isinstance(details, dict) else "",
        raw=message,
    )


def _sendable(block: Any) -> Any:
    """A call that the API would not take back, in a form that it takes; the call itself is read as it was sent."""
    if not isinstance(block, dict) or block.get("type") != "tool_use":
        return block
    given, name = block.get("input"), str(block.get("name") or "")
    if isinstance(given, dict) and safe_name(name) == name:
        return block
    if not isinstance(given, dict):
        given = {} if given in (None, "") else {"unreadable_arguments": given}
    return {**block, "name": safe_name(name), "input": given}


def _usage(given: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=given.get("input_tokens") or 0,
        output_tokens=given.get("output_tokens") or 0,
        cache_read_tokens=given.get("cache_read_input_tokens") or 0,
        cache_write_tokens=given.get("cache_creation_input_tokens") or 0,
        requests=1,
    )
