"""OpenAI strict mode: the provider enforces the schema, of which it knows a subset.

Every property is required there, so an optional one may be null; the reader drops that null on the way in.
A tool whose schema has no strict form is sent without `strict`, and `drops` says why.
"""

from __future__ import annotations

import json
from typing import Any

from failsoft.tools.dialects import openai
from failsoft.tools.dialects._schema import framed, merged_top, walk
from failsoft.tools.dialects._simplify import Simplifier, described
from failsoft.tools.dialects.base import Adapted, Dialect

__all__ = ["DIALECT", "adapt"]

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "definitions",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "type",
    }
)
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})


def adapt(schema: dict[str, Any]) -> Adapted:
    """The strict form; the ordinary one where there is none."""
    merged, rules = merged_top(framed(schema))
    reasons = _obstacles(merged)
    if reasons:
        plain = openai.adapt(schema)
        why = f"sent without strict: {'; '.join(reasons)}"
        return Adapted(schema=plain.schema, drops=(why, *plain.drops), rules=plain.rules)
    defaulted = walk(merged, _with_default_said)
    simplifier = _Strict(_KEPT, formats=_FORMATS)
    made = framed(simplifier.apply(_unravelled(defaulted, defaulted)))
    made["additionalProperties"] = False
    made["required"] = list(made["properties"])
    drops = [*(f"only in the description: {rule}" for rule in rules), *simplifier.drops]
    return Adapted(schema=made, drops=tuple(drops), rules=tuple(rules), strict=True)


class _Strict(Simplifier):
    """Closes every object and makes optional properties nullable."""

    def _node(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        made = super()._node(node, path)
        properties = made.get("properties")
        if not isinstance(properties, dict):
            return made
        required = made.get("required") or []
        made["properties"] = {
            name: part if name in required else _nullable(part) for name, part in properties.items()
        }
        return {**made, "required": list(properties), "additionalProperties": False}

    def _types(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        return node


def _with_default_said(node: dict[str, Any], path: str) -> dict[str, Any]:
    made = {word: part for word, part in node.items() if word != "default"}
    if node.get("default") is None:
        return made
    text = json.dumps(node["default"], ensure_ascii=False, default=str)
    return described(made, f"Default: {text}." if _takes_null(made) else f"Null for the default, {text}.")


def _takes_null(part: Any) -> bool:
    kinds = part.get("type") if isinstance(part, dict) else None
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return isinstance(part, dict) and any(_takes_null(item) for item in part.get("anyOf") or [])


def _unravelled(schema: Any, root: dict[str, Any]) -> Any:
    """References with other keywords beside them written out: strict mode refuses those."""

    def change(node: dict[str, Any], path: str) -> dict[str, Any]:
        ref = node.get("$ref")
        if not isinstance(ref, str) or len(node) == 1:
            return node
        target: Any = root
        for part in ref.lstrip("#").split("/")[1:]:
            target = (
                target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            )
        return {**(target or {}), **{word: part for word, part in node.items() if word != "$ref"}}

    return walk(schema, change)


def _nullable(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kinds = part.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and "const" not in part:
        made = {**part, "type": list(dict.fromkeys([*kinds, "null"]))}
        if isinstance(part.get("enum"), list):
            made["enum"] = [*part["enum"], *([] if None in part["enum"] else [None])]
        return made
    if isinstance(part.get("anyOf"), list):
        return part if _takes_null(part) else {**part, "anyOf": [*part["anyOf"], {"type": "null"}]}
    inner = {word: value for word, value in part.items() if word != "description"}
    outer = {"description": part["description"]} if "description" in part else {}
    return {**outer, "anyOf": [inner, {"type": "null"}]}


def _obstacles(schema: dict[str, Any]) -> list[str]:
    """Why a schema has no strict form."""
    found: dict[str, None] = {}

    def look(node: dict[str, Any], path: str) -> dict[str, Any]:
        where = path or "the arguments"
        extra = node.get("additionalProperties")
        is_object = node.get("type") == "object" or "properties" in node
        if is_object and (isinstance(extra, dict) or extra is True or node.get("patternProperties")):
            found[f"{where} may have properties of any name"] = None
        elif is_object and path and not node.get("properties") and extra is not False:
            found[f"{where} is an object without named properties"] = None
        if node.get("type") == "array" and not isinstance(node.get("items"), dict):
            found[f"{where} is a list whose items have no single type"] = None
        if not any(word in node for word in ("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref")):
            found[f"{where} may be anything"] = None
        return node

    walk(schema, look)
    return list(found)[:5]


DIALECT = Dialect(
    name="openai-strict",
    adapt=adapt,
    entry=openai.entry,
    find_calls=openai.find_calls,
    to_messages=openai.to_messages,
)
