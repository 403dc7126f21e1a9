"""From any Python value to plain JSON data. Never raises: the tool has already acted."""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import math
import os
import uuid
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["text_of_bytes", "to_plain"]

_MAX_DEPTH = 60
_MAX_ITEMS = 1_000_000
_MAX_BASE64_BYTES = 2_000
_MAX_CELLS = 200_000
_PLAIN = (str, bool, type(None))
# Known by the module of their type, so that none of them is ever imported here.
_ARRAYS = frozenset({"numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "cupy", "xarray"})


def to_plain(value: Any) -> Any:
    """Dicts, lists, text, numbers, booleans and None that say what `value` says.

    Decimals, dates and paths are text, exactly; not-a-number and infinities are text; bytes are text where they are UTF-8,
    else base64 or their size; cycles and what is nested deeper than 60 levels are named.
    """
    return _plain(value, 0, ())


def _plain(value: Any, depth: int, path: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind in _PLAIN or kind is int:
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if depth > _MAX_DEPTH:
        return f"({kind.__name__}, nested too deep to show)"
    if id(value) in path:
        return f"({kind.__name__}, contains itself)"
    try:
        return _converted(value, depth, (*path, id(value)))
    except RecursionError:
        return f"({kind.__name__}, nested too deep to show)"
    except Exception as exc:
        return f"({kind.__name__}, cannot be shown: {type(exc).__name__})"


def _converted(value: Any, depth: int, path: tuple[int, ...]) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth + 1, path)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _plain(float(value), depth, path)
    for kinds, convert in _BY_TYPE:
        if isinstance(value, kinds):
            return convert(value)
    if isinstance(value, BaseModel):
        return _plain(_dumped(value), depth + 1, path)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.repr]
        return {name: _plain(getattr(value, name, None), depth + 1, path) for name in names}
    if type(value).__module__.partition(".")[0] in _ARRAYS:
        return _plain(_from_array(value), depth + 1, path)
    if isinstance(value, collections.abc.Mapping):
        return {_key(key): _plain(part, depth + 1, path) for key, part in value.items()}
    if isinstance(value, collections.abc.Set):
        return [_plain(part, depth + 1, path) for part in _sorted(value)]
    if isinstance(value, collections.abc.Sequence | collections.abc.ValuesView | collections.abc.KeysView):
        return [_plain(part, depth + 1, path) for part in value]
    return _of_object(value, depth, path)


def _dumped(value: BaseModel) -> Any:
    for mode in ("json", "python"):
        try:
            return value.model_dump(mode=mode, warnings=False)
        except Exception:  # noqa: S112  # a field that pydantic cannot dump: the next way may
            continue
    return dict(value.__dict__)


def _key(key: Any) -> str:
    plain = key.value if isinstance(key, enum.Enum) else key
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, bool):
        return {None: "null", True: "true", False: "false"}[plain]
    if isinstance(plain, tuple):
        return ", ".join(_key(part) for part in plain)
    made = _plain(plain, 0, ())
    return made if isinstance(made, str) else str(made)


def _sorted(value: Any) -> list[Any]:
    parts = list(value)
    try:
        return sorted(parts)
    except TypeError:
        return sorted(parts, key=repr)


def text_of_bytes(data: bytes) -> str:
    """Bytes as text: UTF-8 as it is, other bytes as base64 where they are few, else their size."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if len(data) <= _MAX_BASE64_BYTES:
            return f"base64:{base64.b64encode(data).decode('ascii')}"
        return f"({len(data)} bytes of binary data, not shown)"


def _from_array(value: Any) -> Any:
    """numpy, pandas and their kin: the values where they are few, else a description."""
    size = getattr(value, "size", None)
    if isinstance(size, int) and size > _MAX_CELLS:
        shape = getattr(value, "shape", None)
        return f"({type(value).__name__}, shape {shape}, {size} values, too many to show)"
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        try:
            return value.to_dict(orient="records")
        except TypeError:
            return value.to_dicts()
    for verb in ("to_dict", "isoformat", "tolist", "to_list", "item"):
        convert = getattr(value, verb, None)
        if callable(convert):
            made = convert()
            if made is not value:
                return made
    return None if repr(value) in ("<NA>", "NaT") else str(value)


def _of_object(value: Any, depth: int, path: tuple[int, ...]) -> Any:
    if isinstance(value, type) or callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    kind = type(value)
    if any(getattr(kind, word) is not getattr(object, word) for word in ("__str__", "__repr__")):
        return str(value)
    # The default text is a memory address; what a plain object says is its public attributes.
    attributes = {name: part for name, part in getattr(value, "__dict__", {}).items() if name[:1] != "_"}
    if not attributes:
        return f"({kind.__name__})"
    return {name: _plain(part, depth + 1, path) for name, part in attributes.items()}


_BY_TYPE: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (decimal.Decimal, str),
    (datetime.datetime | datetime.date | datetime.time, lambda value: value.isoformat()),
    (datetime.timedelta, str),
    (uuid.UUID, str),
    (os.PathLike, os.fspath),
    (bytes, text_of_bytes),
    (bytearray | memoryview, lambda value: text_of_bytes(bytes(value))),
    (complex, str),
)
