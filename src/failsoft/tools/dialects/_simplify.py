"""Rewrites parts of JSON Schema that a provider does not know into parts that it does, and lists what is lost."""

from __future__ import annotations

import json
from typing import Any

from failsoft.tools.dialects._schema import walk

__all__ = ["Simplifier", "described"]

_SILENT = frozenset(
    {
        "$schema",
        "$id",
        "$comment",
        "$anchor",
        "title",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)


def described(node: dict[str, Any], text: str) -> dict[str, Any]:
    """The node with one more sentence in its description."""
    own = str(node.get("description") or "").strip()
    own += "." if own and own[-1].isalnum() else ""
    return {**node, "description": f"{own} {text}".strip()}


class Simplifier:
    """Keeps a list of keywords, rewrites what has an equal, drops the rest.

    Args:
        keep: Keywords that the provider knows.
        nullable: Whether null is written as `nullable: true`, and not as a type.
        formats: Formats of text that the provider knows; None for all. Others are said in the description.
        text_enums: Whether only text may be enumerated.
    """

    def __init__(
        self,
        keep: frozenset[str],
        *,
        nullable: bool = False,
        formats: frozenset[str] | None = None,
        text_enums: bool = False,
    ) -> None:
        self.keep = keep
        self.nullable = nullable
        self.formats = formats
        self.text_enums = text_enums
        self.drops: dict[str, None] = {}

    def apply(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The simplified schema; `drops` then says what it lost."""
        made: dict[str, Any] = walk(schema, self._node)
        return made

    def lose(self, what: str, path: str) -> None:
        """Note one loss."""
        self.drops[f"{what} of {path}" if path else f"{what} at the top"] = None

    def _node(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        for step in (self._all_of, self._one_of, self._const, self._tuple, self._bounds, self._types):
            node = step(node, path)
        node = self._enum(self._format(node), path)
        kept = {}
        for word, part in node.items():
            if word in self.keep:
                kept[word] = part
            elif word not in _SILENT and not (word == "additionalProperties" and isinstance(part, bool)):
                self.lose(repr(word), path)
        return kept

    def _all_of(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        parts = node.get("allOf")
        if not isinstance(parts, list):
            return node
        made = {word: part for word, part in node.items() if word != "allOf"}
        for part in parts:
            for word, value in part.items() if isinstance(part, dict) else ():
                if word == "properties" and isinstance(made.get(word), dict):
                    made[word] = {**made[word], **value}
                elif word == "required" and isinstance(made.get(word), list):
                    made[word] = list(dict.fromkeys([*made[word], *value]))
                elif word in made and made[word] != value:
                    self.lose(f"{word!r} of an allOf", path)
                else:
                    made[word] = value
        return made

    def _one_of(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        if "oneOf" not in node:
            return node
        made = {word: part for word, part in node.items() if word not in ("oneOf", "discriminator")}
        if "anyOf" in made:
            self.lose("'oneOf' beside 'anyOf'", path)
        else:
            made["anyOf"] = node["oneOf"]
        return made

    def _const(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        if "const" not in node or "const" in self.keep:
            return node
        made = {word: part for word, part in node.items() if word != "const"}
        return {**made, "enum": [node["const"]]}

    def _tuple(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        parts = node.get("prefixItems")
        if parts is None and isinstance(node.get("items"), list):
            parts = node["items"]
        if not isinstance(parts, list):
            return node
        self.lose("the place of each item", path)
        made = {
            word: part
            for word, part in node.items()
            if word not in ("prefixItems", "items", "additionalItems")
        }
        kinds = [part for index, part in enumerate(parts) if part not in parts[:index]]
        made["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
        return made

    def _bounds(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        for word, plain, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
            bound = node.get(word)
            if word in self.keep or not isinstance(bound, int | float) or isinstance(bound, bool):
                continue
            node = {key: part for key, part in node.items() if key != word}
            if node.get("type") == "integer" and float(bound).is_integer():
                node.setdefault(plain, int(bound) + step)
            else:
                node = described(node, f"{'More' if step > 0 else 'Less'} than {bound}.")
        return node

    def _types(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        kinds = node.get("type")
        if isinstance(kinds, list):
            rest = [kind for kind in kinds if kind != "null"]
            null = len(rest) < len(kinds)
            made = {word: part for word, part in node.items() if word != "type"}
            if len(rest) == 1 and (self.nullable or not null):
                node = {**made, "type": rest[0]} | ({"nullable": True} if null else {})
            elif rest:
                outer: dict[str, Any] = {
                    word: made.pop(word) for word in ("description", "default") if word in made
                }
                parts = [_for_type(made, kind) for kind in rest]
                node = {**outer, "anyOf": [*parts, *([{"type": "null"}] if null else [])]}
        return self._null_branch(node) if self.nullable else node

    @staticmethod
    def _null_branch(node: dict[str, Any]) -> dict[str, Any]:
        parts = node.get("anyOf")
        if not isinstance(parts, list) or not any(_is_null(part) for part in parts):
            return node
        made = {word: part for word, part in node.items() if word != "anyOf"}
        rest = [part for part in parts if not _is_null(part)]
        if len(rest) == 1:
            return {**rest[0], **made, "nullable": True}
        return {**made, "anyOf": rest, "nullable": True}

    def _format(self, node: dict[str, Any]) -> dict[str, Any]:
        name = node.get("format")
        if self.formats is None or not isinstance(name, str) or name in self.formats:
            return node
        made = {word: part for word, part in node.items() if word != "format"}
        return described(made, f"Format: {name}.")

    def _enum(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        values = node.get("enum")
        if not isinstance(values, list):
            return node
        if "type" not in node and (kind := _kind(values)) is not None:
            node = {"type": kind, **node}
        if not self.text_enums or all(isinstance(value, str) for value in values):
            return node
        made = {word: part for word, part in node.items() if word != "enum"}
        if None in values:
            made["nullable"] = True
        rest = [value for value in values if value is not None]
        if rest and all(isinstance(value, str) for value in rest):
            return {**made, "enum": rest}
        made.setdefault("type", "string")
        self.lose("the list of allowed values (only in the description)", path)
        return described(made, f"One of: {', '.join(json.dumps(value) for value in rest)}.")


_OF_TYPE = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "object": ("properties", "required", "additionalProperties"),
    "number": ("minimum", "maximum", "multipleOf"),
    "integer": ("minimum", "maximum", "multipleOf"),
}


def _for_type(node: dict[str, Any], kind: str) -> dict[str, Any]:
    others = {word for name, words in _OF_TYPE.items() for word in words} - set(_OF_TYPE.get(kind, ()))
    return {"type": kind, **{word: part for word, part in node.items() if word not in others}}


def _is_null(part: Any) -> bool:
    return isinstance(part, dict) and (
        part.get("type") == "null"
        or part.get("enum") == [None]
        or ("const" in part and part["const"] is None)
    )


def _kind(values: list[Any]) -> str | None:
    kinds = {"string" if isinstance(v, str) else "integer" if type(v) is int else "" for v in values}
    return kinds.pop() or None if len(kinds) == 1 else None
