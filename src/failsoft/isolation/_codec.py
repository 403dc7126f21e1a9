"""How arguments and results cross to a worker and back: as JSON, through the types that the body's signature names."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Awaitable, Iterator
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic_core import PydanticSerializationError, SchemaError, from_json, to_json
from typing_extensions import TypedDict  # pydantic refuses that of `typing` before Python 3.12

from failsoft.core.context import CallContext
from failsoft.core.errors import InvalidOutput, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Codec", "read_result", "write_result"]

# Exact both ways: bytes as base64, not-a-number and infinity as they are.
_EXACT = ConfigDict(
    ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants", extra="allow"
)
_STREAMS = (Iterator, AsyncIterator, Awaitable)
_NO_TYPES = (PydanticSchemaGenerationError, PydanticUserError, SchemaError)


class Codec:
    """Writes and reads the arguments of one body.

    Args:
        fn: The body; parameters without a type that pydantic knows cross as plain JSON.

    Raises:
        UsageError: A parameter's type cannot be written as JSON.
    """

    __slots__ = ("_adapter", "context_names", "returns")

    def __init__(self, fn: Callable[..., Any]) -> None:
        hints = _hints(fn)
        names = [
            name
            for name, each in _parameters(fn).items()
            if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        ]
        self.context_names = tuple(name for name in names if _is_context(hints.get(name)))
        fields = {name: hints.get(name, Any) for name in names if name not in self.context_names}
        for name, hint in fields.items():
            try:
                _adapter(hint)
            except _NO_TYPES as exc:
                raise UsageError(
                    f"isolation='process' cannot hand parameter {name!r} to a worker: {hint!r} cannot be written as JSON"
                ) from exc
        shape = TypedDict("Arguments", fields, total=False)  # type: ignore[misc]
        shape.__pydantic_config__ = {**_EXACT, "extra": "allow"}  # type: ignore[attr-defined]
        self._adapter: TypeAdapter[Any] = _adapter(shape)
        self.returns = None if _yields(fn) else _result_adapter(hints.get("return", Any))

    def write(self, values: Mapping[str, Any]) -> bytes:
        """Arguments as JSON. The worker fills in the call's context itself.

        Raises:
            UsageError: A value cannot be written as JSON.
        """
        if self.context_names:
            values = {name: value for name, value in values.items() if name not in self.context_names}
        try:
            return self._adapter.dump_json((dict(values),), warnings=False)
        except (PydanticSerializationError, UnicodeEncodeError) as exc:
            raise UsageError(f"an argument cannot be handed to a worker: {exc}") from exc

    def read(self, text: bytes) -> dict[str, Any]:
        """Arguments as the values that were written."""
        return self._adapter.validate_json(text)[0]  # type: ignore[no-any-return]


def _adapter(hint: Any) -> TypeAdapter[Any]:
    """In a tuple of one, because pydantic takes a configuration only with a type that has none of its own."""
    one: Any = GenericAlias(tuple, (hint,))
    return TypeAdapter(one, config=_EXACT)


def _parameters(fn: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(fn).parameters


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    """The types by name; a name that cannot be resolved makes all of them unknown."""
    try:
        return typing.get_type_hints(inspect.unwrap(fn), include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def _yields(fn: Callable[..., Any]) -> bool:
    plain = inspect.unwrap(fn)
    return inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)


def _is_context(hint: Any) -> bool:
    return any(
        isinstance(each, type) and issubclass(each, CallContext) for each in (hint, *typing.get_args(hint))
    )


def _result_adapter(hint: Any) -> TypeAdapter[Any] | None:
    """None where plain JSON says it all, or where the type is not pydantic's to know, such as a generator's."""
    if hint in (Any, None, type(None), str, bytes, int, float, bool, object):
        return None
    if isinstance(typing.get_origin(hint), type) and issubclass(typing.get_origin(hint), _STREAMS):
        return None
    try:
        return _adapter(hint)
    except _NO_TYPES:
        return None


def write_result(value: Any, returns: TypeAdapter[Any] | None) -> tuple[bytes, bytes]:
    """A result as its tag and its bytes.

    Raises:
        InvalidOutput: It cannot be written as JSON.
    """
    kind = type(value)
    if kind is str:
        return b"s", value.encode("utf-8", "surrogatepass")
    if kind is bytes:
        return b"b", value
    try:
        if returns is not None:
            return b"t", returns.dump_json((value,), warnings=False)
        return b"j", to_json(value, bytes_mode="base64", inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError, TypeError, AttributeError) as exc:
        raise InvalidOutput(
            f"The tool ran, but its result of type {kind.__name__} cannot leave its process: {exc}",
            reason="unserializable",
            suggestion="Return text, numbers, lists, dictionaries, or a type that pydantic knows.",
        ) from exc


def read_result(tag: bytes, body: bytes, returns: TypeAdapter[Any] | None) -> Any:
    """The result again; a value that breaks the type which the body names comes as plain JSON, for others to judge."""
    if tag == b"s":
        return body.decode("utf-8", "surrogatepass")
    if tag == b"b":
        return body
    if tag == b"t" and returns is not None:
        try:
            return returns.validate_json(body)[0]
        except ValueError:
            return from_json(body)[0]
    return from_json(body)
