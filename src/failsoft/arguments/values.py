"""Checks on values that came as a mapping or decoded: floats that JSON cannot say, and half characters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from failsoft.arguments.refusals import refuse
from failsoft.arguments.text import join_surrogates

__all__ = ["copied", "has_whole_float", "is_plain", "mend_text"]

_SIMPLE = frozenset((int, bool, type(None)))
_DEEP = frozenset((dict, list, float, Decimal))


def is_plain(value: Any) -> bool:
    """Whether a value is certainly plain JSON, at any depth, without half characters."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _encodes(value)
    if kind is dict:
        return all(
            type(key) is str and (type(item) in _SIMPLE or is_plain(item)) for key, item in value.items()
        )
    if kind is list:
        return all(type(item) in _SIMPLE or is_plain(item) for item in value)
    return kind in _SIMPLE or (kind is float and value - value == 0)


def copied(value: Any) -> Any:
    """A plain JSON value whose containers are its own: what a tool does to it stays out of the sender's message."""
    kind = type(value)
    if kind is dict:
        return {key: copied(item) if type(item) in _DEEP else item for key, item in value.items()}
    if kind is list:
        return [copied(item) if type(item) in _DEEP else item for item in value]
    return value


def has_whole_float(value: Any) -> bool:
    """Whether a plain JSON value holds a float without a fraction, at any depth."""
    kind = type(value)
    if kind is dict:
        return any(type(item) in _DEEP and has_whole_float(item) for item in value.values())
    if kind is list:
        return any(type(item) in _DEEP and has_whole_float(item) for item in value)
    if kind is Decimal:
        return bool(value == value.to_integral_value())
    return kind is float and value.is_integer()


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def mend_text(value: Any) -> Any:
    """`value` with half characters joined; the same object where there is nothing to do.

    Raises:
        InvalidArgument: A half character without its other half, or a float that is not finite.
    """
    if isinstance(value, str):
        return value if value.isascii() else join_surrogates(value)
    if isinstance(value, float) and value - value != 0:
        raise refuse("bad_json", "NaN and Infinity are not numbers in JSON")
    if type(value) is dict:
        new = {mend_text(key): mend_text(item) for key, item in value.items()}
        return value if len(new) == len(value) and all(new.get(k) is v for k, v in value.items()) else new
    if type(value) is list:
        items = [mend_text(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
