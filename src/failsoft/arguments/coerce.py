"""Coercion by the schema: what was sent in another spelling becomes what is declared, where only one thing can be meant.

rules of this file:
    text -> list, object, number, true/false, null   only where no text is allowed at that place
    1.0 -> 1                                          where integers are allowed and fractions are not
    null for an optional field that is not nullable   left out
    a value under anyOf/oneOf                         only when exactly one result validates

Nothing here makes a value valid by itself: the result is validated again.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from failsoft.arguments.shape import Node, Shape, branches, json_type
from failsoft.arguments.text import read_value
from failsoft.core.calls import Repair
from failsoft.core.errors import InvalidArgument

__all__ = ["coerce"]

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_TEXT_WORDS = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "True": ("boolean", True),
    "False": ("boolean", False),
    "null": ("null", None),
    "None": ("null", None),
}
_EXACT_FLOAT = 2**53
_MAX_TRIALS = 2_000
_MAX_REPAIRS = 50


def coerce(shape: Shape, value: dict[str, Any]) -> tuple[Any, list[Repair]]:
    """`value` with its spelling brought in line with the schema; the input is not changed.

    Returns:
        The new value, or the same object when there was nothing to do, and at most 50 repairs.
    """
    return _Coercion(shape).run(value)


class _Coercion:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.repairs: list[Repair] = []
        self.trials = 0

    def run(self, value: dict[str, Any]) -> tuple[Any, list[Repair]]:
        changed = self.at(value, self.shape.root, "", frozenset())
        return changed, self.repairs[:_MAX_REPAIRS]

    def note(self, rule: str, field: str, detail: str) -> None:
        if len(self.repairs) < _MAX_REPAIRS:
            self.repairs.append(Repair(rule=rule, field=field, detail=detail))

    def at(self, value: Any, node: Node, field: str, required: frozenset[str]) -> Any:
        schema = node.schema
        if not isinstance(schema, dict):
            return value
        value = self.leaf(value, self.shape.types(node), field)
        required |= self.required_of(node)
        target = self.shape.resolve(node)
        if target is not node:
            value = self.at(value, target, field, required)
        for part in branches(node, "allOf"):
            value = self.at(value, part, field, required)
        for kind in ("anyOf", "oneOf"):
            if schema.get(kind) and isinstance(value, dict | list):
                value = self.branch(value, list(branches(node, kind)), field, required)
        if isinstance(value, dict):
            return self.object(value, node, field, required)
        return self.array(value, node, field) if isinstance(value, list) else value

    def required_of(self, node: Node) -> frozenset[str]:
        names = frozenset(node.schema.get("required") or ())
        for part in branches(node, "allOf"):
            schema = self.shape.resolve(part).schema
            names |= frozenset(schema.get("required") or ()) if isinstance(schema, dict) else frozenset()
        return names

    def leaf(self, value: Any, types: frozenset[str], field: str) -> Any:
        if isinstance(value, str):
            return value if "string" in types or not types else self.text(value, types, field)
        if "integer" in types and "number" not in types and _is_whole(value):
            self.note("whole_float", field, "A whole number written with a fraction was read as an integer.")
            return int(value)
        return value

    def text(self, value: str, types: frozenset[str], field: str) -> Any:
        kind, word = _TEXT_WORDS.get(value, ("", None))
        if kind in types:
            self.note("text_to_value", field, f"The text {value!r} was read as the value.")
            return word
        if types & {"integer", "number"} and _JSON_NUMBER.fullmatch(value):
            return self.number(value, types, field)
        if types & {"array", "object"} and value.lstrip()[:1] in ("[", "{"):
            try:
                decoded, _ = read_value(value)
            except InvalidArgument:
                return value
            if json_type(decoded) in types:
                self.note("decoded_text", field, "A list or object sent as its JSON text was decoded.")
                return decoded
        return value

    def number(self, value: str, types: frozenset[str], field: str) -> Any:
        if len(value) > 400:
            return value
        exact = Decimal(value)
        whole = exact == exact.to_integral_value()
        if "number" not in types and not whole:
            return value
        number: Any
        if whole and (value.lstrip("-").isdecimal() or "number" not in types):
            number = int(exact)
        else:
            number = float(value)
            if number - number != 0:
                return value
        self.note("text_to_value", field, "A number sent as text was read as the number.")
        return number

    def branch(self, value: Any, nodes: list[Node], field: str, required: frozenset[str]) -> Any:
        if any(self.shape.fits(node, value) for node in nodes):
            return value
        kept = self.repairs
        results: dict[str, tuple[Any, list[Repair]]] = {}
        for node in nodes:
            self.trials += 1
            if self.trials > _MAX_TRIALS:
                break
            self.repairs = []
            changed = self.at(value, node, field, required)
            if changed is not value and self.shape.fits(node, changed):
                results.setdefault(json.dumps(changed, sort_keys=True, default=str), (changed, self.repairs))
        self.repairs = kept
        if len(results) != 1 or self.trials > _MAX_TRIALS:
            return value
        changed, found = next(iter(results.values()))
        for repair in found:
            self.note(repair.rule, repair.field, repair.detail)
        return changed

    def object(self, value: dict[str, Any], node: Node, field: str, required: frozenset[str]) -> Any:
        changed: dict[str, Any] | None = None
        properties = node.schema.get("properties") or {}
        for key, item in value.items():
            sub = node.child("properties", key) if key in properties else self.other(node, key)
            if sub is None:
                continue
            path = f"{field}.{key}" if field else key
            if (
                item is None
                and key in properties
                and key not in required
                and "null" not in self.shape.types(sub)
            ):
                changed = dict(value) if changed is None else changed
                del changed[key]
                self.note(
                    "null_dropped", path, "null for an optional field that is not nullable was left out."
                )
                continue
            new = self.at(item, sub, path, frozenset())
            if new is not item:
                changed = dict(value) if changed is None else changed
                changed[key] = new
        return value if changed is None else changed

    @staticmethod
    def other(node: Node, key: str) -> Node | None:
        """The node of a key that is not among the properties."""
        for pattern in node.schema.get("patternProperties") or {}:
            try:
                if re.search(pattern, key[:200]):
                    return node.child("patternProperties", pattern)
            except re.error:
                return None
        return node.child("additionalProperties") if "additionalProperties" in node.schema else None

    def array(self, value: list[Any], node: Node, field: str) -> Any:
        schema = node.schema
        fixed = "prefixItems" if "prefixItems" in schema else "items"
        first = len(schema[fixed]) if isinstance(schema.get(fixed), list) else 0
        rest = "items" if first == 0 or fixed == "prefixItems" else "additionalItems"
        changed: list[Any] | None = None
        for number, item in enumerate(value):
            if number < first:
                sub = node.child(fixed, number)
            elif rest in schema:
                sub = node.child(rest)
            else:
                break
            new = self.at(item, sub, f"{field}[{number}]", frozenset())
            if new is not item:
                changed = list(value) if changed is None else changed
                changed[number] = new
        return value if changed is None else changed


def _is_whole(value: Any) -> bool:
    """Whether a float or Decimal is a whole number, small enough to be exact."""
    is_fraction = isinstance(value, float | Decimal)
    return is_fraction and -_EXACT_FLOAT <= value <= _EXACT_FLOAT and bool(value == int(value))
