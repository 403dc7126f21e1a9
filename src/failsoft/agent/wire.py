"""The exact shapes of a conversation in each dialect, and what must hold before it is sent.

The shapes of calls and results are those of `failsoft.tools.dialects`; here is what a whole conversation adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from failsoft.core.errors import UsageError
from failsoft.tools.dialects import to_messages
from failsoft.tools.names import safe_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.agent.transcript import Reply
    from failsoft.core.calls import ToolCall
    from failsoft.core.turns import ModelTurn

__all__ = ["CONVERSATIONS", "answered", "extend", "portable", "said", "spoken"]

CONVERSATIONS = ("anthropic", "openai", "openai-responses")
"""The dialects that a whole conversation can be held in."""

_ID = re.compile(r"[^a-zA-Z0-9_-]")


def said(text: str) -> dict[str, Any]:
    """A user's text: the same in every dialect."""
    return {"role": "user", "content": text}


def portable(call: ToolCall) -> ToolCall:
    """The call with an id that every provider takes; Anthropic's pattern is the narrowest."""
    clean = _ID.sub("_", call.id)
    return call if clean == call.id else replace(call, id=clean)


def answered(dialect: str, replies: Sequence[Reply], note: str) -> list[dict[str, Any]]:
    """Results first, in order, then the runtime's note."""
    made = to_messages(dialect, cast("Any", replies))
    return [*made, said(note)] if note else made


def spoken(dialect: str, turn: ModelTurn) -> list[dict[str, Any]]:
    """A turn that another provider's model wrote: its text and its calls, without what only that provider reads."""
    calls = [replace(portable(call), name=safe_name(call.name)) for call in turn.calls]
    if dialect == "anthropic":
        blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": _as_object(call)}
            for call in calls
        ]
        return [{"role": "assistant", "content": blocks or [{"type": "text", "text": "(no answer)"}]}]
    if dialect == "openai":
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _as_text(c)}}
                for c in calls
            ]
        return [message]
    if dialect == "openai-responses":
        items: list[dict[str, Any]] = [{"role": "assistant", "content": turn.text}] if turn.text else []
        return items + [
            {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": _as_text(c)}
            for c in calls
        ]
    raise UsageError(f"no conversation can be held in {dialect!r}\n\nhint: one of {', '.join(CONVERSATIONS)}")


def extend(dialect: str, messages: list[dict[str, Any]], more: Sequence[dict[str, Any]]) -> None:
    """Append; for Anthropic, neighbours of one role become one message: results before notes, a pause and what follows."""
    for message in more:
        last = messages[-1] if messages else None
        if dialect == "anthropic" and last is not None and last.get("role") == message.get("role"):
            messages[-1] = {**last, "content": [*_blocks(last["content"]), *_blocks(message["content"])]}
        else:
            messages.append(message)


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _as_object(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object, for history only: what cannot be read is kept as text and never run."""
    given = call.arguments
    if isinstance(given, bytes):
        given = given.decode("utf-8", "replace")
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except ValueError:
            return {"unreadable_arguments": given}
    if isinstance(given, Mapping):
        return dict(given)
    return {} if given is None else {"unreadable_arguments": given}


def _as_text(call: ToolCall) -> str:
    return json.dumps(_as_object(call), ensure_ascii=False, default=str)
