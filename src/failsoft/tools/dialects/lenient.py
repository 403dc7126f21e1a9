"""Endpoints that speak OpenAI's format but refuse parts of JSON Schema: local servers, gateways, smaller providers.

Only what all of them take is sent: references are written out, unions at the top merged, rare keywords left out.
"""

from __future__ import annotations

from typing import Any

from failsoft.tools.dialects import openai
from failsoft.tools.dialects._schema import framed, inlined, merged_top, with_items
from failsoft.tools.dialects._simplify import Simplifier
from failsoft.tools.dialects.base import Adapted, Dialect

__all__ = ["DIALECT", "adapt"]

_KEPT = frozenset(
    {
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "properties",
        "required",
        "type",
    }
)


def adapt(schema: dict[str, Any]) -> Adapted:
    """The plainest schema that says the most."""
    plain, lost = inlined(framed(schema))
    merged, rules = merged_top(plain)
    simplifier = Simplifier(_KEPT)
    made = framed(simplifier.apply(with_items(merged)))
    if not made["properties"]:
        # DeepSeek and others refuse an empty object that could be anything.
        made["additionalProperties"] = False
    drops = [*lost, *(f"only in the description: {rule}" for rule in rules), *simplifier.drops]
    return Adapted(schema=made, drops=tuple(drops), rules=tuple(rules))


DIALECT = Dialect(
    name="lenient",
    adapt=adapt,
    entry=openai.entry,
    find_calls=openai.find_calls,
    to_messages=openai.to_messages,
)
