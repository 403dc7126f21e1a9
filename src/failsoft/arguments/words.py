"""Schemas and values in words that a model can act on."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from failsoft.arguments.shape import branches

if TYPE_CHECKING:
    from failsoft.arguments.shape import Node, Shape

__all__ = ["describe", "iso_date", "shown"]

_NAMES = {
    "null": "null",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "an object",
}
_FORMATS = {
    "date": "a date written YYYY-MM-DD",
    "date-time": "a date and time written YYYY-MM-DDTHH:MM:SS with an offset such as Z",
    "time": "a time written HH:MM:SS",
    "duration": "a duration written like PT1H30M",
    "email": "an e-mail address",
    "uri": "a URL",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "hostname": "a host name",
    "regex": "a regular expression",
    "path": "a path",
}
_RANGES = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "greater than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("minProperties", "at least {} keys"),
    ("maxProperties", "at most {} keys"),
)
_MAX_LISTED = 12
_MAX_CHARS = 240
# Spellings in which day and month cannot be mistaken for each other.
_DATES = ("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y")


def shown(value: Any, limit: int = 80) -> str:
    """A value as the model wrote it, bounded, with its type where that is not plain to see."""
    if isinstance(value, list) and len(value) > 8:
        value = value[:8]
    if isinstance(value, dict):
        keys = list(value)
        text = "an object with " + (", ".join(map(str, keys[:8])) or "no keys")
        return _cut(text, limit)
    if isinstance(value, str):
        value = value[: limit + 1]
    return _cut(json.dumps(value, ensure_ascii=False, default=str), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def describe(shape: Shape, node: Node, depth: int = 0) -> str:
    """What a node allows, in words: type, range, pattern, allowed values."""
    node = shape.resolve(node)
    schema = node.schema
    if not isinstance(schema, dict):
        return "any value" if schema is not False else "nothing"
    if "const" in schema:
        return shown(schema["const"])
    if "enum" in schema:
        return _listed(schema["enum"])
    for kind in ("anyOf", "oneOf"):
        parts = list(
            dict.fromkeys(describe(shape, part, depth + 1) for part in list(branches(node, kind))[:6])
        )
        if parts and depth < 3:
            return _cut(" or ".join(parts), _MAX_CHARS)
    return _cut(_plain(shape, node, depth), _MAX_CHARS)


def _listed(values: list[Any]) -> str:
    if len(values) == 1:
        return shown(values[0])
    text = ", ".join(shown(value, 40) for value in values[:_MAX_LISTED])
    more = len(values) - _MAX_LISTED
    return _cut(f"one of {text}" + (f" and {more} more" if more > 0 else ""), _MAX_CHARS)


def _plain(shape: Shape, node: Node, depth: int) -> str:
    schema = node.schema
    types = shape.types(node)
    names = [name for name in _NAMES if name in types and not (name == "integer" and "number" in types)]
    text = " or ".join(_NAMES[name] for name in names) if 0 < len(names) < len(_NAMES) - 1 else "a value"
    if "string" in types and schema.get("format") in _FORMATS:
        text = text.replace("text", _FORMATS[schema["format"]])
    if "array" in types and isinstance(schema.get("items"), dict) and depth < 2:
        text = text.replace("a list", f"a list, each item {describe(shape, node.child('items'), depth + 1)}")
    if types == {"object"} and schema.get("properties") and depth < 2:
        text += " with " + ", ".join(list(schema["properties"])[:_MAX_LISTED])
    limits = [form.format(schema[key]) for key, form in _RANGES if key in schema]
    if isinstance(schema.get("pattern"), str):
        limits.append(f"matching the pattern {_cut(schema['pattern'], 80)}")
    if schema.get("uniqueItems"):
        limits.append("all different")
    return ", ".join([text, *limits])


def iso_date(text: str) -> str | None:
    """The ISO spelling of a date in another common one; None where it is not certain which day is meant."""
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", text.strip()[:40])
    try:
        return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        pass
    for spelling in _DATES:
        try:
            return datetime.strptime(text, spelling).date().isoformat()  # noqa: DTZ007  # a day has no zone
        except ValueError:
            continue
    return _day_first(text)


def _day_first(text: str) -> str | None:
    found = re.fullmatch(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})", text)
    if found is None:
        return None
    first, second, year = map(int, found.groups())
    if first <= 12 and second <= 12 and first != second:
        return None
    try:
        return date(year, *((second, first) if first > 12 else (first, second))).isoformat()
    except ValueError:
        return None
