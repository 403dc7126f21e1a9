"""Gemini: function declarations in an OpenAPI subset, `functionCall` parts in, `functionResponse` parts out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.core.context import new_id
from failsoft.tools.dialects._schema import framed, inlined, merged_top, walk
from failsoft.tools.dialects._simplify import Simplifier, described
from failsoft.tools.dialects.base import Adapted, Dialect, Entry, Found, as_text, blocks_of, get, items
from failsoft.tools.names import GEMINI

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.core.results import ToolResult

__all__ = ["DIALECT"]

# The fields of `Schema` in the Gemini API.
_KEPT = frozenset(
    {
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "nullable",
        "pattern",
        "properties",
        "required",
        "type",
    }
)
_FORMATS = frozenset({"date-time", "double", "enum", "float", "int32", "int64"})
_NO_ID = "noid"


def adapt(schema: dict[str, Any]) -> Adapted:
    """References written out, null as `nullable`, only text enumerated."""
    plain, lost = inlined(framed(schema))
    merged, rules = merged_top(plain)
    simplifier = Simplifier(_KEPT, nullable=True, formats=_FORMATS, text_enums=True)
    opened = walk(merged, lambda node, path: _closed(node, path, simplifier))
    made = framed(walk(simplifier.apply(opened), _any_of_alone))
    drops = [*lost, *(f"only in the description: {rule}" for rule in rules), *simplifier.drops]
    return Adapted(schema=made, drops=tuple(drops), rules=tuple(rules))


def _closed(node: dict[str, Any], path: str, simplifier: Simplifier) -> dict[str, Any]:
    """Every part with a type: without one, or with an object without properties, the whole request is refused.

    "schema didn't specify the schema type field"; "properties: should be non-empty for OBJECT type".
    The reader decodes the text of an object where an object is declared.
    """
    if not path:
        return node
    if node.get("type") == "array" and not node.get("items") and not node.get("prefixItems"):
        simplifier.lose("that items may be anything (sent as text)", path)
        return {**node, "items": {"type": "string"}}
    typed = any(word in node for word in ("type", "anyOf", "oneOf", "allOf", "enum", "const"))
    if typed and (node.get("type") != "object" or node.get("properties")):
        return node
    kept = {word: part for word, part in node.items() if word in ("description", "default")}
    if typed:
        simplifier.lose("the free form (sent as text)", path)
        return described({**kept, "type": "string"}, "The text of a JSON object.")
    simplifier.lose("that it may be anything (sent as text)", path)
    return {**kept, "type": "string"}


def _any_of_alone(node: dict[str, Any], path: str) -> dict[str, Any]:
    """Vertex: "when using any_of, it must be the only field set"."""
    parts = node.get("anyOf")
    if not isinstance(parts, list) or not path:
        return node
    shared = {word: node[word] for word in ("description", "nullable") if word in node}
    return {"anyOf": [{**shared, **part} for part in parts]}


def entry(item: Entry) -> dict[str, Any]:
    """A `FunctionDeclaration`; without parameters where the tool takes none."""
    made: dict[str, Any] = {"name": item.name, "description": item.description or item.name}
    if item.adapted.schema["properties"]:
        made["parameters"] = item.adapted.schema
    return made


def find_calls(message: Any) -> list[Found]:
    """The `functionCall` parts of a response, a candidate, a content or a list of parts."""
    candidates = items(get(message, "candidates"))
    candidate = candidates[0] if candidates else message
    content = get(candidate, "content") or candidate
    parts = items(content) or items(get(content, "parts"))
    found = []
    for part in parts:
        call = get(part, "functionCall") or get(part, "function_call")
        if call is not None:
            holder = call if get(call, "id") else {"id": new_id(_NO_ID)}
            found.append(Found(holder, "id", get(call, "name"), get(call, "args")))
    reason = get(candidate, "finishReason") or get(candidate, "finish_reason")
    if found and str(getattr(reason, "value", reason)) == "MAX_TOKENS":
        found[-1].truncated = True
    return found


def to_messages(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One content with a `functionResponse` part per result, in the order of the calls."""
    parts = [{"functionResponse": _response(result)} for result in results]
    return [{"role": "user", "parts": parts}] if parts else []


def _response(result: ToolResult) -> dict[str, Any]:
    call, texts, binary = result.call, [], []
    for block in blocks_of(result):
        source = block.get("source")
        if block.get("type") in ("image", "document", "audio") and get(source, "type") == "base64":
            binary.append(
                {"inlineData": {"mimeType": get(source, "media_type"), "data": get(source, "data")}}
            )
        else:
            texts.append(as_text(block))
    text = "\n".join(texts) or "(the answer is attached)"
    made: dict[str, Any] = {"name": call.name, "response": {"result" if result.ok else "error": text}}
    # Gemini often sends no ids and then pairs by order; an id of our own making would be refused.
    if not call.id.startswith(f"{_NO_ID}_"):
        made["id"] = call.id
    if binary:
        made["parts"] = binary
    return made


DIALECT = Dialect(
    name="gemini",
    adapt=adapt,
    entry=entry,
    find_calls=find_calls,
    to_messages=to_messages,
    rule=GEMINI,
)
