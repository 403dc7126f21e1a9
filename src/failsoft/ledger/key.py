"""When are two calls the same call? Canonical arguments, fingerprints and ledger keys.

The provider's call id is never part of it: a model that asks again does so under a new id.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["KEY_VERSION", "Identity", "canonical", "identity_of", "key_of"]

KEY_VERSION = 1
"""Part of every key; raised when `canonical` changes, so that an old record is never mistaken for a new one."""

_MAX_DEPTH = 60
_TEXT = "\u00b6"  # stands for any free text in a near fingerprint

# Names under which tools take prose. A value of another name is prose when it looks like prose (`_is_prose`).
_PROSE_NAMES = frozenset(
    {
        "body",
        "caption",
        "comment",
        "comments",
        "content",
        "description",
        "details",
        "html",
        "memo",
        "message",
        "note",
        "notes",
        "reason",
        "subject",
        "summary",
        "text",
        "title",
    }
)
_PROSE_WORDS = 4
_PROSE_CHARS = 80


@dataclass(slots=True, kw_only=True)  # not frozen, as `Intent` is not
class Identity:
    """What makes a call the same as another one; nobody changes it.

    Args:
        fingerprint: Equal for two calls that mean the same.
        near_fingerprint: Equal also for calls that differ in free text only; empty where a caller's key decides.
        arguments_hash: Fingerprint of the arguments even where a caller's key is the identity, so that one key for
            two different calls is noticed.
    """

    fingerprint: str
    near_fingerprint: str
    arguments_hash: str


def canonical(value: Any) -> str:
    """JSON text that is equal for values that mean the same.

    Order of mappings and sets, whole floats and integers, equal decimals and Unicode composition make no difference;
    dates, enumerations, dataclasses and pydantic models have one stable form, without fields that equal their default.
    True is not 1, and text is not a number.

    Raises:
        ValueError: For a value that is nested more than 60 deep, or contains itself.
    """
    return json.dumps(_plain(value, 0), separators=(",", ":"), ensure_ascii=False)


def identity_of(
    tool_name: str,
    arguments: Mapping[str, Any],
    *,
    identity: tuple[str, ...] | None = None,
    defaults: Mapping[str, Any] | None = None,
    hidden: Collection[str] = (),
    key: str | None = None,
) -> Identity:
    """The identity of a call.

    Args:
        tool_name: The tool's registered name.
        arguments: Validated values by parameter name.
        identity: The parameters that count; None for all of them.
        defaults: Static defaults by name; an argument equal to its default is left out. Leave default factories out.
        hidden: Parameters that never count: injected values and factories' results.
        key: The caller's own key, which then decides alone.

    Raises:
        ValueError: As `canonical`.
    """
    counted = {
        name: _plain(value, 0)
        for name, value in arguments.items()
        if name not in hidden and (identity is None or name in identity)
    }
    if defaults:
        _leave_out(counted, defaults)
    counted = dict(sorted(counted.items()))
    own = _digest("args", tool_name, counted)
    if key is not None:
        return Identity(fingerprint=_digest("key", tool_name, key), near_fingerprint="", arguments_hash=own)
    near = _digest("near", tool_name, _without_prose(counted))
    return Identity(fingerprint=own, near_fingerprint=near, arguments_hash=own)


def key_of(
    scope: str,
    run_id: str | None,
    tool_name: str,
    fingerprint: str,
    occurrence: int = 1,
    key: str | None = None,
) -> str:
    """The ledger's key of a call.

    Args:
        scope: Whose calls may be confused with whose.
        run_id: The run; None for a call without one.
        tool_name: The tool's registered name.
        fingerprint: From `identity_of`.
        occurrence: 2 for a deliberate second identical call, and so on.
        key: The caller's own key; stands in for fingerprint and occurrence.
    """
    what = ["key", key] if key is not None else ["args", fingerprint, occurrence]
    return f"{KEY_VERSION}:{tool_name}:{_digest(scope, run_id, tool_name, *what)}"


def _digest(*parts: Any) -> str:
    # `ascii` and not JSON: as exact for what `_plain` leaves, the same in every Python, a fourth of the time.
    return hashlib.blake2b(ascii((KEY_VERSION, *parts)).encode(), digest_size=16).hexdigest()


def _leave_out(counted: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    for name, default in defaults.items():
        # As text: True == 1 in Python, as arguments they differ.
        if name in counted and ascii(counted[name]) == ascii(_plain(default, 0)):
            del counted[name]


def _plain(value: Any, depth: int) -> Any:
    """The value in JSON's own types, equal for what means the same."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is float:
        return _number(value)
    if depth >= _MAX_DEPTH:
        raise ValueError(f"arguments are nested more than {_MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return dict(sorted(_items(value, depth), key=_first))
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return _plain_other(value, depth)


_first = itemgetter(0)


def _items(value: Mapping[Any, Any], depth: int) -> Iterable[tuple[str, Any]]:
    return ((_name(name), _plain(item, depth + 1)) for name, item in value.items())


def _plain_other(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, depth + 1)
    if isinstance(value, (str, int, float, Decimal)):
        return _plain_subclass(value)
    if isinstance(value, (datetime, date, time, timedelta)):
        return _moment(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, Set):
        return sorted((_plain(item, depth + 1) for item in value), key=ascii)
    if callable(getattr(value, "model_dump", None)):
        # The fields' own values and not a dump, so that nested models go by the same rules.
        return _plain(dict(_model_items(value)), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dict(_dataclass_items(value)), depth + 1)
    return _opaque(value, depth)


def _name(name: Any) -> str:
    if isinstance(name, str) and not isinstance(name, Enum):
        return unicodedata.normalize("NFC", name)
    plain = _plain(name, _MAX_DEPTH - 1)
    return plain if isinstance(plain, str) else ascii(plain)


def _plain_subclass(value: Any) -> Any:
    if isinstance(value, str):
        return _plain(str.__str__(value), 0)
    if isinstance(value, Decimal):
        return _decimal(value)
    return int(value) if isinstance(value, int) else _number(float(value))


def _number(value: float) -> Any:
    if math.isfinite(value):
        return int(value) if value.is_integer() else value
    return {"$number": str(value)}


def _decimal(value: Decimal) -> Any:
    if not value.is_finite():
        return {"$number": str(value).lower()}
    if abs(value.adjusted()) < 400:
        if value == value.to_integral_value():
            return int(value)
        # 0.10 and the float 0.1 are the same number to whoever wrote either.
        if Decimal(repr(float(value))) == value:
            return float(value)
    return {"$number": str(value.normalize())}


def _moment(value: datetime | date | time | timedelta) -> Any:
    if isinstance(value, timedelta):
        return {"$seconds": _number(value.total_seconds())}
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).isoformat()  # noqa: UP017 - one name for 3.11 to 3.13
    return value.isoformat()


def _model_items(model: Any) -> Iterable[tuple[str, Any]]:
    fields = type(model).model_fields
    for name, item in vars(model).items():
        field = fields.get(name)
        if field is None or not _equals(item, field.default):
            yield name, item
    yield from (getattr(model, "__pydantic_extra__", None) or {}).items()


def _dataclass_items(record: Any) -> Iterable[tuple[str, Any]]:
    for field in dataclasses.fields(record):
        item = getattr(record, field.name)
        if field.compare and not _equals(item, field.default):
            yield field.name, item


def _equals(item: Any, default: Any) -> bool:
    return type(item) is type(default) and bool(item == default)


def _opaque(value: Any, depth: int) -> Any:
    """An object of a foreign type: its printed form where the type has one, else its attributes."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if _is_text_like(value):
        return str(value)
    # Printed only where the type itself says how; the inherited forms hold an address in memory.
    if any("__str__" in cls.__dict__ or "__repr__" in cls.__dict__ for cls in kind.__mro__[:-1]):
        return {"$object": [name, str(value)]}
    return {"$object": [name, _plain(getattr(value, "__dict__", {}), depth + 1)]}


def _is_text_like(value: Any) -> bool:
    """Paths, UUIDs, addresses and URLs mean the same as the text that they were read from."""
    return type(value).__module__.partition(".")[0] in {
        "pathlib",
        "uuid",
        "ipaddress",
        "pydantic",
        "pydantic_core",
    }


def _without_prose(plain: Any, name: str = "") -> Any:
    if isinstance(plain, dict):
        return {inner: _without_prose(item, inner) for inner, item in plain.items()}
    if isinstance(plain, list):
        return [_without_prose(item, name) for item in plain]
    return _TEXT if isinstance(plain, str) and _is_prose(plain, name) else plain


def _is_prose(text: str, name: str) -> bool:
    return name.lower() in _PROSE_NAMES or len(text) > _PROSE_CHARS or len(text.split()) >= _PROSE_WORDS
