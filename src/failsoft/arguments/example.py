"""An example value for a place in a schema, made from the schema and checked against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.arguments.shape import branches

if TYPE_CHECKING:
    from failsoft.arguments.shape import Node, Shape

__all__ = ["NO_EXAMPLE", "example_of"]

NO_EXAMPLE: Any = object()
_MAX_DEPTH = 4
_TEXTS = {
    "date": "2024-05-01",
    "date-time": "2024-05-01T10:00:00Z",
    "time": "10:00:00",
    "duration": "PT1H30M",
    "email": "name@example.com",
    "uri": "https://example.com/",
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}


def example_of(shape: Shape, node: Node) -> Any:
    """A value that is valid at the node, or `NO_EXAMPLE` where none is found cheaply."""
    for value in _candidates(shape, node, 0):
        if shape.fits(node, value):
            return value
    return NO_EXAMPLE


def _candidates(shape: Shape, node: Node, depth: int) -> list[Any]:
    node = shape.resolve(node)
    schema = node.schema
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return []
    examples = schema.get("examples")
    found = list(examples[:3]) if isinstance(examples, list) else []
    if "const" in schema:
        return [*found, schema["const"]]
    if schema.get("enum"):
        return [*found, *schema["enum"][:5]]
    for kind in ("anyOf", "oneOf", "allOf"):
        for part in list(branches(node, kind))[:5]:
            found += _candidates(shape, part, depth + 1)
    types = shape.types(node)
    if "string" in types:
        found += _texts(schema)
    if types & {"integer", "number"}:
        found += _numbers(schema)
    if "boolean" in types:
        found.append(True)
    if "array" in types:
        found += _lists(shape, node, depth)
    if "object" in types:
        found += _objects(shape, node, depth)
    if schema.get("default") is not None:
        found.append(schema["default"])
    return found[:24]


def _texts(schema: dict[str, Any]) -> list[Any]:
    text = _TEXTS.get(schema.get("format", ""), "text")
    least = schema.get("minLength", 0)
    most = schema.get("maxLength", len(text))
    return [text, (text + "x" * 40)[: max(least, min(most, 40))]] if least <= 40 else []


def _numbers(schema: dict[str, Any]) -> list[Any]:
    step = schema.get("multipleOf", 1)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    start = low if low is not None else high if high is not None else step
    near = [start, start + step, start - step, 1, 0]
    if low is not None and high is not None:
        near.append((low + high) / 2)
    if step:
        near.append(-(-start // step) * step)
    return [int(n) if isinstance(n, float) and n.is_integer() else n for n in near]


def _lists(shape: Shape, node: Node, depth: int) -> list[Any]:
    schema = node.schema
    if isinstance(schema.get("prefixItems"), list):
        firsts = [
            _first(shape, node.child("prefixItems", i), depth) for i in range(len(schema["prefixItems"]))
        ]
        return [firsts] if NO_EXAMPLE not in firsts else []
    if not isinstance(schema.get("items"), dict):
        return [[]]
    values = _candidates(shape, node.child("items"), depth + 1)[:8]
    least = max(schema.get("minItems", 1), 1)
    fitting = [value for value in values if shape.fits(node.child("items"), value)][:1]
    return [fitting * min(least, 10)] if fitting else [[]]


def _objects(shape: Shape, node: Node, depth: int) -> list[Any]:
    schema = node.schema
    value: dict[str, Any] = {}
    for name in list(schema.get("required") or ())[:12]:
        if name not in (schema.get("properties") or {}):
            return []
        item = _first(shape, node.child("properties", name), depth)
        if item is NO_EXAMPLE:
            return []
        value[name] = item
    return [value]


def _first(shape: Shape, node: Node, depth: int) -> Any:
    for value in _candidates(shape, node, depth + 1):
        if shape.fits(node, value):
            return value
    return NO_EXAMPLE
