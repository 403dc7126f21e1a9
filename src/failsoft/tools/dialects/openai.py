"""OpenAI Chat Completions: `tools=[{"type": "function", "function": {...}}]`, `tool_calls`, one `tool` message per result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.tools.dialects._schema import framed, merged_top, with_items, without_root_words
from failsoft.tools.dialects.base import Adapted, Dialect, Entry, Found, get, items, mark_last, text_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.results import ToolResult

__all__ = ["DIALECT", "adapt", "entry", "find_calls", "to_messages"]

# "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
_REFUSED = ("enum", "not", "const")


def adapt(schema: dict[str, Any]) -> Adapted:
    """Unions at the top are merged; `enum`, `const` and `not` are dropped there."""
    merged, rules = merged_top(framed(schema))
    made, _ = without_root_words(merged, ("$schema", "$id", "title"))
    made, drops = without_root_words(made, _REFUSED)
    lost = [*(f"only in the description: {rule}" for rule in rules), *drops]
    return Adapted(schema=with_items(framed(made)), drops=tuple(lost), rules=tuple(rules))


def entry(item: Entry) -> dict[str, Any]:
    """A `ChatCompletionFunctionToolParam`."""
    function: dict[str, Any] = {"name": item.name, "parameters": item.adapted.schema}
    if item.description:
        function["description"] = item.description
    if item.adapted.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def find_calls(message: Any) -> list[Found]:
    """The calls of a completion, a choice or an assistant message; also the old `function_call`."""
    finish = get(message, "finish_reason")
    choices = items(get(message, "choices"))
    if choices:
        finish = get(choices[0], "finish_reason")
        message = get(choices[0], "message")
    elif get(message, "message") is not None:
        message = get(message, "message")
    calls = items(get(message, "tool_calls")) or items(message)
    found = [item for call in calls if (item := _found(call)) is not None]
    old = get(message, "function_call")
    if not found and old is not None:
        found = [Found(old, "id", get(old, "name"), get(old, "arguments"))]
    return mark_last(found) if finish == "length" else found


def _found(call: Any) -> Found | None:
    inner = get(call, "function")
    if inner is not None:
        return Found(call, "id", get(inner, "name"), get(inner, "arguments"))
    custom = get(call, "custom")
    return None if custom is None else Found(call, "id", get(custom, "name"), get(custom, "input"))


def to_messages(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One `tool` message per result. There is no error flag, and only text may go in: the text says so."""
    return [
        {"role": "tool", "tool_call_id": result.call.id, "content": text_only(result)} for result in results
    ]


DIALECT = Dialect(name="openai", adapt=adapt, entry=entry, find_calls=find_calls, to_messages=to_messages)
