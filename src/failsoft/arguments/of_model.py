"""The reader for pydantic models: validated Python values out.

rules of this file:
    text     pydantic reads it itself, strictly; a second look proves that no key was doubled
    mapping  its JSON form must fit the schema, then pydantic converts the values as given
    neither  the patient way: read, coerce by the schema, validate again

Strict and not lax, because lax takes "1" for 1, 1 for True and a number for a point in time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from failsoft.arguments.census import NOT_SURE, census_of, has_exactly
from failsoft.arguments.coerce import coerce
from failsoft.arguments.direct import direct_validator
from failsoft.arguments.problems import model_problems, schema_problems, unknown_fields
from failsoft.arguments.reader import ArgumentReader, Raw, Values
from failsoft.arguments.refusals import MAX_CHARS
from failsoft.arguments.schemas import (
    compile_schema,
    explicit_extra,
    kinds_in,
    schema_of,
    with_text_checked,
    without_fields,
)
from failsoft.arguments.shape import Shape
from failsoft.arguments.text import strict_value
from failsoft.arguments.values import has_whole_float, is_plain, mend_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from failsoft.core.calls import Repair

__all__ = ["ModelReader"]

_NOT_VALID = (ValidationError, ValueError, RecursionError)
_NUMBER_AS_TEXT = re.compile(r'"[-+]?[0-9.]+["eE]')


class ModelReader(ArgumentReader):
    """Reads by a pydantic model."""

    def __init__(
        self, model: type[BaseModel], *, tool_name: str, hidden: frozenset[str] = frozenset()
    ) -> None:
        shown = without_fields(model, hidden)
        schema = schema_of(shown, hidden)
        super().__init__(tool_name=tool_name, shape=Shape(schema))
        self.hidden = hidden
        core_schema: Any = shown.__pydantic_core_schema__
        self._validator = shown.__pydantic_validator__
        self._directly = direct_validator(core_schema)
        self._schema_validator = compile_schema(schema)
        self._conforms = compile_schema(with_text_checked(schema)).is_valid
        self._census = census_of(core_schema)
        # Where no model of the tree speaks for itself, unknown fields are refused at every depth.
        self._extra: Any = None if explicit_extra(core_schema) else "forbid"
        self._has_moment = '"date-time"' in json.dumps(schema)
        kinds = kinds_in(core_schema)
        # pydantic reads a JSON number for a Decimal by way of a float, which loses digits.
        self._decimals = "decimal" in kinds and "any" not in kinds
        self._bytes = "bytes" in kinds
        is_direct = self._extra is not None and not hidden and not self._bytes
        self.parse_values = self._direct("any" in kinds) if is_direct else self._careful

    def _direct(self, has_any: bool) -> Callable[..., Values]:
        """The fast way for models whose fields are the values.

        Unknown fields need no look of their own: they spoil the count of the keys, and do not fit the schema.
        """
        validate_json, validate_python = self._validator.validate_json, self._validator.validate_python
        conforms, careful = self._conforms, self._careful
        census = self._census or (lambda model: NOT_SURE)
        # With `Any` fields the keys would be counted by a walk in Python, which is slower than a second scan.
        counts = self._census is not None and not has_any
        reads_text = not self._decimals
        has_moment = self._has_moment
        none: tuple[Repair, ...] = ()
        directly = self._directly

        def parse_values(raw: Any, truncated: bool = False) -> Values:
            kind = type(raw)
            try:
                if truncated:
                    pass
                elif kind is dict:
                    if conforms(raw) and (not has_any or is_plain(raw)):
                        return validate_python(raw).__dict__, none
                elif kind is str and reads_text and len(raw) <= MAX_CHARS and ":\\" not in raw:
                    if counts:
                        model = validate_json(raw, strict=True)
                        is_whole = has_exactly(raw, census(model))
                    else:
                        model = validate_json(raw, strict=True, extra="forbid")
                        is_whole = strict_value(raw) is not None
                    if is_whole and not (has_moment and _NUMBER_AS_TEXT.search(raw)):
                        return model.__dict__, none
            except _NOT_VALID:
                pass
            return careful(raw, truncated)

        if directly is None:
            return parse_values

        def parse_mapping(raw: Any, truncated: bool = False) -> Values:
            if type(raw) is dict and not truncated:
                try:
                    return directly(raw), none
                except _NOT_VALID:
                    return careful(raw, truncated)
            return parse_values(raw, truncated)

        return parse_mapping

    def _careful(self, raw: Any, truncated: bool = False) -> Values:
        """The next way: one mapping, which must fit the schema."""
        try:
            value = strict_value(raw, self._decimals) if type(raw) is str and len(raw) <= MAX_CHARS else raw
            if value is raw:
                is_sound = type(raw) is dict and mend_text(raw) is raw
            else:
                # Whole floats go the patient way, where it is noted that they became integers.
                is_sound = type(value) is dict and not has_whole_float(value)
            if is_sound and not truncated and self._conforms(value):
                return self._converted(value), ()
        except _NOT_VALID:
            pass
        return self._patient(raw, truncated)

    def _converted(self, value: Any) -> dict[str, Any]:
        """Values of a mapping whose JSON form fits the schema."""
        if self._bytes and is_plain(value):
            # JSON has its own spelling for bytes, which the model's configuration names.
            model = self._validator.validate_json(json.dumps(value), strict=True, extra=self._extra)
        else:
            model = self._validator.validate_python(value, extra=self._extra)
        return self._values_of(model)

    def _values_of(self, model: Any) -> dict[str, Any]:
        values: dict[str, Any] = model.__dict__
        if self._extra is None and model.__pydantic_extra__:
            values = {**values, **model.__pydantic_extra__}
        return (
            {key: item for key, item in values.items() if key not in self.hidden} if self.hidden else values
        )

    def _settle(self, raw: Raw, truncated: bool) -> Values:
        value, repairs = self._read(raw, truncated, decimals=self._decimals)
        value = mend_text(value)
        is_given = isinstance(raw, Mapping)
        form = self._json_form(value) if is_given else value
        if form is not None:
            self._refuse_hidden(form)
            changed, coerced = coerce(self.shape, form)
            if self._fits(changed):
                try:
                    return self._converted(value if changed is form else changed), (*repairs, *coerced)
                except ValidationError as exc:
                    raise model_problems(self, changed, exc, self._schema_validator) from exc
        else:
            changed = value
        try:
            return self._by_pydantic(value, is_given), tuple(repairs)
        except ValidationError as exc:
            raise model_problems(self, changed, exc, self._schema_validator) from exc

    def _by_pydantic(self, value: dict[str, Any], is_given: bool) -> dict[str, Any]:
        """The model itself has the last word where its JSON Schema says no, such as for types of one's own."""
        if is_given:
            model = self._validator.validate_python(value, strict=True, extra=self._extra)
        else:
            text = to_json(value)
            if self._has_moment and _NUMBER_AS_TEXT.search(text.decode()):
                raise schema_problems(self, value, self._schema_validator)
            model = self._validator.validate_json(text, strict=True, extra=self._extra)
        return self._values_of(model)

    def _fits(self, value: Any) -> bool:
        try:
            return isinstance(value, dict) and self._conforms(value)
        except ValueError:
            return False

    def _refuse_hidden(self, value: dict[str, Any]) -> None:
        sent = sorted(self.hidden & value.keys())
        if sent:
            raise unknown_fields(self, value, sent)

    @staticmethod
    def _json_form(value: dict[str, Any]) -> dict[str, Any] | None:
        """A mapping of Python values as JSON values; None where JSON has no word for one of them."""
        try:
            form: dict[str, Any] = to_jsonable_python(value)
        except (PydanticSerializationError, ValueError):
            return None
        return form
