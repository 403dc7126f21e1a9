"""Anthropic Messages: `tools=[{"name", "description", "input_schema"}]`, `tool_use` and `tool_result` blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.tools.dialects._schema import framed, merged_top, without_root_words
from failsoft.tools.dialects.base import Adapted, Dialect, Entry, Found, as_text, blocks_of, get, items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.results import ToolResult

__all__ = ["DIALECT"]

# The API refuses unions at the top of a schema: "input_schema does not support oneOf, allOf, or anyOf at the top level".
_CUT = ("max_tokens", "model_context_window_exceeded")


def adapt(schema: dict[str, Any]) -> Adapted:
    """Unions at the top are merged; everything else is taken as it is."""
    merged, rules = merged_top(framed(schema))
    made, _ = without_root_words(merged, ("$schema", "$id", "title"))
    lost = [f"only in the description: {rule}" for rule in rules]
    return Adapted(schema=framed(made), drops=tuple(lost), rules=tuple(rules))


def entry(item: Entry) -> dict[str, Any]:
    """An `anthropic.types.ToolParam`."""
    made: dict[str, Any] = {"name": item.name, "input_schema": item.adapted.schema}
    if item.description:
        made["description"] = item.description
    return made


def find_calls(message: Any) -> list[Found]:
    """The `tool_use` blocks of a message, a message dict or a list of blocks."""
    blocks = items(message) or items(get(message, "content"))
    found = [
        Found(block, "id", get(block, "name"), get(block, "input"))
        for block in blocks
        if get(block, "type") == "tool_use"
    ]
    # A block that is followed by another one was complete when the limit came.
    if found and get(message, "stop_reason") in _CUT and get(blocks[-1], "type") == "tool_use":
        found[-1].truncated = True
    return found


def to_messages(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One user message with all `tool_result` blocks of the turn."""
    blocks = [_block(result) for result in results]
    return [{"role": "user", "content": blocks}] if blocks else []


def _block(result: ToolResult) -> dict[str, Any]:
    content = result.content
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": result.call.id,
        "content": content if isinstance(content, str) and content else _blocks(result),
    }
    if not result.ok:
        block["is_error"] = True
    return block


def _blocks(result: ToolResult) -> list[dict[str, Any]]:
    known = ("text", "image", "document", "search_result")
    # An error may hold only text: "all content must be type text if is_error is true".
    fits = known if result.ok else ("text",)
    return [
        block if block.get("type") in fits else {"type": "text", "text": as_text(block)}
        for block in blocks_of(result)
    ]


DIALECT = Dialect(name="anthropic", adapt=adapt, entry=entry, find_calls=find_calls, to_messages=to_messages)
