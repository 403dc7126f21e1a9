"""Questions about one JSON Schema: what does a reference mean, which types does a node allow, does a value fit there.

A `Node` is a sub-schema together with its JSON pointer (RFC 6901), so that a validator for it can be made when asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import jsonschema_rs

from failsoft.arguments.schemas import compile_schema
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ALL_TYPES", "Node", "Shape", "branches", "json_type"]

ALL_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_ROOT = "urn:failsoft:arguments"
_MAX_HOPS = 50


def json_type(value: object) -> str:
    """The JSON type of a Python value; `integer` for whole numbers written as such."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float | Decimal):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


@dataclass(frozen=True, slots=True)
class Node:
    """A sub-schema and where it is."""

    schema: Any
    pointer: str

    def child(self, *steps: str | int) -> Node:
        """The node some steps below."""
        schema, pointer = self.schema, self.pointer
        for step in steps:
            schema = schema[step]
            pointer += "/" + str(step).replace("~", "~0").replace("/", "~1")
        return Node(schema, pointer)


class Shape:
    """Reads one schema. Thread-safe: its caches only ever gain equal values."""

    __slots__ = ("_registry", "_types", "_validators", "root")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.root = Node(schema, "")
        self._types: dict[str, frozenset[str]] = {}
        self._validators: dict[str, jsonschema_rs.Validator | None] = {}
        self._registry: jsonschema_rs.Registry | None = None

    def resolve(self, node: Node) -> Node:
        """The node that a chain of local references ends at; a reference elsewhere is left as it is."""
        for _ in range(_MAX_HOPS):
            ref = node.schema.get("$ref") if isinstance(node.schema, dict) else None
            target = self._target(ref) if isinstance(ref, str) else None
            if target is None:
                return node
            node = target
        return node

    def _target(self, ref: str) -> Node | None:
        if not ref.startswith("#"):
            return None
        node, pointer = self.root.schema, unquote(ref[1:])
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return Node(node, pointer) if not pointer or pointer.startswith("/") else None

    def types(self, node: Node) -> frozenset[str]:
        """The JSON types that may be valid at a node; all of them where it does not say."""
        found = self._types.get(node.pointer)
        if found is None:
            found = self._types[node.pointer] = self._find_types(node, frozenset())
        return found

    def _find_types(self, node: Node, seen: frozenset[str]) -> frozenset[str]:
        schema = node.schema
        if not isinstance(schema, dict):
            return ALL_TYPES if schema is not False else frozenset()
        if node.pointer in seen:
            return frozenset()
        seen |= {node.pointer}
        types = self._own_types(schema)
        if "$ref" in schema:
            target = self.resolve(node)
            types &= self._find_types(target, seen) if target is not node else ALL_TYPES
        for kind in ("anyOf", "oneOf"):
            if schema.get(kind):
                types &= frozenset[str]().union(*(self._find_types(n, seen) for n in branches(node, kind)))
        for part in branches(node, "allOf"):
            types &= self._find_types(part, seen)
        return types

    @staticmethod
    def _own_types(schema: dict[str, Any]) -> frozenset[str]:
        types = ALL_TYPES
        if "type" in schema:
            named = schema["type"]
            types = frozenset([named] if isinstance(named, str) else named)
            if "number" in types:
                types |= {"integer"}
        values = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
        if values is not None:
            listed = {json_type(value) for value in values}
            types &= frozenset(listed | {"integer", "number"} if listed & {"integer", "number"} else listed)
        return types

    def fits(self, node: Node, value: Any) -> bool:
        """Whether a value is valid at a node; False where that cannot be found out."""
        if node.pointer not in self._validators:
            self._validators[node.pointer] = self._compile(node)
        validator = self._validators[node.pointer]
        try:
            return validator is not None and validator.is_valid(value)
        except ValueError:
            return False

    def _compile(self, node: Node) -> jsonschema_rs.Validator | None:
        try:
            if self._registry is None:
                root = {key: value for key, value in self.root.schema.items() if key not in ("$id", "id")}
                # A copy by way of JSON: the registry takes plain containers only.
                self._registry = jsonschema_rs.Registry([(_ROOT, json.loads(json.dumps(root)))])
            target = f"{_ROOT}#{quote(node.pointer, safe='/~$')}"
            return compile_schema({"$ref": target}, self._registry)
        except (UsageError, jsonschema_rs.ReferencingError, TypeError, ValueError):
            return None


def branches(node: Node, keyword: str) -> Iterator[Node]:
    """The nodes of a list of sub-schemas such as `anyOf`; none where there is no such list."""
    found = node.schema.get(keyword) if isinstance(node.schema, dict) else None
    for number in range(len(found) if isinstance(found, list) else 0):
        yield node.child(keyword, number)
