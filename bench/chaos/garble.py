"""A model that spoils what it sends: arguments that are garbled or cut off, and names that are nearly right.

None of these says something else than what was meant, or it says nothing that can be read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["spoiled"]


def spoiled(name: str, text: str, rng: random.Random) -> tuple[str, str]:
    """A call as a model may send it: name and text, one of them spoiled in one of the ways below."""
    if rng.random() < 0.25:
        return rng.choice(_NAMES)(name), text
    return name, rng.choice(_TEXTS)(text)


def _numbers_as_words(text: str) -> str:
    def told(value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return value

    return json.dumps({key: told(value) for key, value in json.loads(text).items()})


_TEXTS: tuple[Callable[[str], str], ...] = (
    lambda text: f"```json\n{text}\n```",
    lambda text: f"Sure, here is the call:\n{text}",
    lambda text: f"{text[:-1]},}}" if len(text) > 2 else text,
    lambda text: repr(json.loads(text)),
    lambda text: text[: max(1, len(text) * 2 // 3)],
    lambda text: text[:-1],
    json.dumps,
    lambda text: f'{{"arguments": {text}}}',
    _numbers_as_words,
)
_NAMES: tuple[Callable[[str], str], ...] = (
    lambda name: f"functions.{name}",
    lambda name: name.replace("_", "-"),
    lambda name: "".join(part.capitalize() for part in name.split("_")),
    lambda name: name[:-1],
    lambda name: f"{name}_v2",
)
