"""The reader for foreign JSON Schemas: plain JSON values in, plain JSON values out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from failsoft.arguments.coerce import coerce
from failsoft.arguments.problems import schema_problems
from failsoft.arguments.reader import ArgumentReader, Raw, Values
from failsoft.arguments.refusals import MAX_CHARS, refuse, short
from failsoft.arguments.schemas import compile_schema
from failsoft.arguments.shape import Shape
from failsoft.arguments.text import strict_value
from failsoft.arguments.values import copied, has_whole_float, is_plain, mend_text

if TYPE_CHECKING:
    from failsoft.core.calls import Repair

__all__ = ["SchemaReader"]


class SchemaReader(ArgumentReader):
    """Reads by a JSON Schema and the validator made from it."""

    def __init__(self, schema: Mapping[str, Any], *, tool_name: str) -> None:
        super().__init__(tool_name=tool_name, shape=Shape(schema))
        self._validator = compile_schema(schema)
        self._is_valid = self._validator.is_valid
        self.parse_values = self._fast

    def _fast(self, raw: Raw, truncated: bool = False) -> Values:
        """Values as sent, where they are valid as they are."""
        value: Any = None
        try:
            if type(raw) is str and len(raw) <= MAX_CHARS:
                value = strict_value(raw)
            elif type(raw) is dict and is_plain(raw):
                value = copied(raw)
            if not truncated and type(value) is dict and self._is_valid(value):
                # A whole float may stand where an integer is declared; there it becomes one.
                return self._coerced(value, []) if has_whole_float(value) else (value, ())
        except (ValueError, RecursionError):
            pass
        return self._patient(raw, truncated)

    def _settle(self, raw: Raw, truncated: bool) -> Values:
        value, repairs = self._read(raw, truncated)
        if isinstance(raw, Mapping):
            value = mend_text(plain(mend_text(value)))
        return self._coerced(value, repairs)

    def _coerced(self, value: dict[str, Any], repairs: list[Repair]) -> Values:
        changed, found = coerce(self.shape, value)
        if not isinstance(changed, dict) or not self._fits(changed):
            raise schema_problems(self, changed, self._validator)
        return changed, (*repairs, *found)

    def _fits(self, value: dict[str, Any]) -> bool:
        try:
            return self._is_valid(value)
        except ValueError:
            return False


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """A mapping that may hold Python values as JSON values.

    Raises:
        InvalidArgument: It holds something that JSON has no word for.
    """
    try:
        found = to_jsonable_python(value)
    except (PydanticSerializationError, ValueError, RecursionError) as exc:
        raise refuse(
            "bad_json", f"The arguments hold something that JSON cannot say ({short(str(exc))})"
        ) from exc
    assert isinstance(found, dict)  # a mapping becomes a mapping
    return found
