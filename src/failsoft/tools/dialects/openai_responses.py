"""OpenAI Responses: flat function tools, `function_call` items in, `function_call_output` items out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.tools.dialects import openai
from failsoft.tools.dialects.base import Dialect, Entry, Found, as_text, blocks_of, get, items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.results import ToolResult

__all__ = ["DIALECT"]


def entry(item: Entry) -> dict[str, Any]:
    """A `FunctionToolParam`; there, `strict` has to be said."""
    made: dict[str, Any] = {
        "type": "function",
        "name": item.name,
        "parameters": item.adapted.schema,
        "strict": item.adapted.strict,
    }
    if item.description:
        made["description"] = item.description
    return made


def find_calls(message: Any) -> list[Found]:
    """The `function_call` items of a response or a list of items; paired by `call_id`, not by the item's id."""
    output = items(message) or items(get(message, "output"))
    found = [
        Found(item, "call_id", get(item, "name"), get(item, "arguments"), get(item, "status") == "incomplete")
        for item in output
        if get(item, "type") == "function_call"
    ]
    reason = get(get(message, "incomplete_details"), "reason")
    if found and reason == "max_output_tokens" and get(output[-1], "type") == "function_call":
        found[-1].truncated = True
    return found


def to_messages(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One `function_call_output` item per result. There is no error flag: the text says so."""
    return [
        {"type": "function_call_output", "call_id": result.call.id, "output": _output(result)}
        for result in results
    ]


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    content = result.content
    if isinstance(content, str) and content:
        return content
    return [_part(block) for block in blocks_of(result)]


def _part(block: dict[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    url = get(source, "url")
    if get(source, "type") == "base64":
        url = f"data:{get(source, 'media_type')};base64,{get(source, 'data')}"
    if block.get("type") == "image" and url:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if block.get("type") == "document" and url:
        name = str(block.get("title") or "document.pdf")
        return {
            "type": "input_file",
            "filename": name,
            "file_data" if url.startswith("data:") else "file_url": url,
        }
    return {"type": "input_text", "text": as_text(block)}


DIALECT = Dialect(
    name="openai-responses",
    adapt=openai.adapt,
    entry=entry,
    find_calls=find_calls,
    to_messages=to_messages,
)
