"""What the corruptions share: the two registers, and how a field is picked from a call."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Values = dict[str, Any]
Spoiler = Callable[[random.Random, Values, Values], Any]
HARMLESS: dict[str, Spoiler] = {}
HARMFUL: dict[str, Spoiler] = {}


def harmless(spoiler: Spoiler) -> Spoiler:
    """Register a corruption after which every reader agrees on the meaning."""
    HARMLESS[spoiler.__name__] = spoiler
    return spoiler


def harmful(spoiler: Spoiler) -> Spoiler:
    """Register a corruption after which nothing may run."""
    HARMFUL[spoiler.__name__] = spoiler
    return spoiler


def types(schema: Values, name: str) -> Any:
    return schema["properties"].get(name, {}).get("type")


def pick(rng: random.Random, schema: Values, values: Values, *kinds: str) -> str | None:
    names = [name for name in values if types(schema, name) in kinds and values[name] is not None]
    return rng.choice(names) if names else None


def plain_text(rng: random.Random, schema: Values, values: Values) -> str | None:
    names = [
        name
        for name in values
        if types(schema, name) == "string"
        and isinstance(values[name], str)
        and not {"enum", "pattern", "format"} & schema["properties"][name].keys()
    ]
    return rng.choice(names) if names else None


def absent(rng: random.Random, schema: Values, values: Values) -> str | None:
    names = [n for n in schema["properties"] if n not in values and n not in schema.get("required", ())]
    names = [n for n in names if isinstance(types(schema, n), str)]
    return rng.choice(names) if names else None
