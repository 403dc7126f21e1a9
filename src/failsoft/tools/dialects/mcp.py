"""Model Context Protocol: `Tool` entries with annotations, `tools/call` requests in, `CallToolResult` out."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from failsoft.tools.dialects.base import Adapted, Dialect, Entry, Found, as_text, blocks_of, get
from failsoft.tools.names import ANY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.results import ToolResult

__all__ = ["DIALECT"]

_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def adapt(schema: dict[str, Any]) -> Adapted:
    """The schema as it is: MCP takes all of JSON Schema."""
    return Adapted(schema=copy.deepcopy(schema))


def entry(item: Entry) -> dict[str, Any]:
    """A `Tool`; effects that are not declared are not claimed."""
    made: dict[str, Any] = {"name": item.name, "inputSchema": item.adapted.schema}
    if item.description:
        made["description"] = item.description
    effects = item.tool.annotations
    hints = {
        hint: getattr(effects, word) for word, hint in _HINTS.items() if getattr(effects, word) is not None
    }
    if hints:
        made["annotations"] = hints
    return made


def find_calls(message: Any) -> list[Found]:
    """The call of a `tools/call` request, or of its params."""
    params = get(message, "params") or message
    if get(params, "name") is None:
        return []
    given = get(message, "id") if params is not message else None
    # JSON-RPC ids may be numbers and stay what they are: the result travels under the request's own id.
    return [Found({"id": given}, "id", get(params, "name"), get(params, "arguments"))]


def to_messages(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One `CallToolResult` per result."""
    return [
        {"content": [_block(block) for block in blocks_of(result)], "isError": not result.ok}
        for result in results
    ]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    if get(source, "type") == "base64":
        kind, media, data = block.get("type"), get(source, "media_type"), get(source, "data")
        if kind in ("image", "audio"):
            return {"type": kind, "data": data, "mimeType": media}
        if kind == "document":
            uri = f"attachment:{block.get('title') or 'document'}"
            return {"type": "resource", "resource": {"uri": uri, "mimeType": media, "blob": data}}
    return {"type": "text", "text": as_text(block)}


DIALECT = Dialect(
    name="mcp",
    adapt=adapt,
    entry=entry,
    find_calls=find_calls,
    to_messages=to_messages,
    rule=ANY_NAME,
    property_rule=ANY_NAME,
)
