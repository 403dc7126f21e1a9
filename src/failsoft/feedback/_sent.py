"""What the model sent with a call: read for looking at, never for running."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from failsoft.feedback._secret_words import is_secret_name

__all__ = ["read_sent", "texts_of"]

_MAX_READ_CHARS = 100_000
_MAX_DEPTH = 8
_MAX_ITEMS = 200


def read_sent(raw: Any) -> Any:
    """The arguments as a mapping where they can be read; else the text that was sent; None for nothing."""
    if isinstance(raw, (bytes, bytearray)):
        raw = bytes(raw[:_MAX_READ_CHARS]).decode("utf-8", "replace")
    if not isinstance(raw, str):
        return dict(raw) if isinstance(raw, Mapping) else raw
    if len(raw) > _MAX_READ_CHARS:
        return raw[:_MAX_READ_CHARS]
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def texts_of(sent: Any) -> tuple[list[str], list[str]]:
    """Every text in the arguments: those that may be said again, and those under a secret's name."""
    said: list[str] = []
    hidden: list[str] = []
    _sort(sent, said, hidden, False, 0)
    return said, hidden


def _sort(value: Any, said: list[str], hidden: list[str], is_hidden: bool, depth: int) -> None:
    if isinstance(value, str):
        (hidden if is_hidden else said).append(value)
    elif is_hidden and isinstance(value, int) and not isinstance(value, bool):
        hidden.append(str(value))
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for key, item in value.items():
            _sort(item, said, hidden, is_hidden or is_secret_name(str(key)), depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _MAX_DEPTH:
        for item in value[:_MAX_ITEMS]:
            _sort(item, said, hidden, is_hidden, depth + 1)
