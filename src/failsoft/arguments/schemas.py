"""The JSON Schema of a model, without what the model must not see, and validators for schemas.

Source of the rules: JSON Schema draft 2020-12; jsonschema-rs reads drafts 4 to 2020-12.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from pydantic import BaseModel, create_model
from pydantic.json_schema import GenerateJsonSchema

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

__all__ = ["compile_schema", "explicit_extra", "kinds_in", "schema_of", "with_text_checked", "without_fields"]

_VALUES = frozenset({"const", "default", "enum", "examples", "required"})
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_DURATION = re.compile(r"[+-]?P.+|-?(\d+ days?,? )?\d\d?:\d\d(:\d\d(\.\d+)?)?", re.ASCII)


class _ClosedObjects(GenerateJsonSchema):
    """Objects of models allow no unknown fields unless their configuration says so."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        target = self.resolve_ref_schema(found)
        if target.get("type") == "object" and not schema.get("root_model"):
            extra = schema.get("config", {}).get("extra_fields_behavior")
            if extra is None:
                target.setdefault("additionalProperties", False)
        return found


def without_fields(model: type[BaseModel], hidden: frozenset[str]) -> type[BaseModel]:
    """A model of the same rules in which the `hidden` fields are optional; validators see None for them."""
    fields: dict[str, Any] = {name: (Any, None) for name in hidden if name in model.model_fields}
    if not fields:
        return model
    return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)


def schema_of(model: type[BaseModel], hidden: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The JSON Schema of what the language model may send."""
    schema = model.model_json_schema(schema_generator=_ClosedObjects)
    properties = schema.setdefault("properties", {})
    for name in hidden:
        properties.pop(name, None)
    if hidden and "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in hidden]
    schema.setdefault("type", "object")
    return schema


def explicit_extra(core_schema: Any) -> bool:
    """Whether any model in the tree says itself what becomes of unknown fields, other than forbidding them."""
    if isinstance(core_schema, dict):
        for key in ("extra_behavior", "extra_fields_behavior"):
            if core_schema.get(key) in ("allow", "ignore"):
                return True
        return any(explicit_extra(value) for value in core_schema.values())
    if isinstance(core_schema, list | tuple):
        return any(explicit_extra(value) for value in core_schema)
    return False


def kinds_in(core_schema: Any) -> set[str]:
    """The kinds of nodes in a core schema of pydantic's, such as `int` or `model`."""
    found: set[str] = set()
    todo = [core_schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            kind = node.get("type")
            if isinstance(kind, str):
                found.add(kind)
            todo.extend(node.values())
        elif isinstance(node, list | tuple):
            todo.extend(node)
    return found


def with_text_checked(schema: Any) -> Any:
    """The same schema, but every text is looked at, so that half characters are found.

    The validator skips texts that no keyword asks about; an empty pattern costs next to nothing.
    """
    if isinstance(schema, list):
        return [with_text_checked(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: item if key in _VALUES else with_text_checked(item) for key, item in schema.items()}
    kind = kept.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        kept.setdefault("pattern", "")
    return kept


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


# RFC 3339 wants an offset; models leave it out and pydantic accepts that, so both readings are let through.
_FORMATS: dict[str, Callable[..., bool]] = {
    "date-time": _matches(_DATE_TIME),
    "time": _matches(_TIME),
    "duration": _matches(_DURATION),
}


def compile_schema(
    schema: Mapping[str, Any] | bool, registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    """A validator that never reaches for the network.

    Raises:
        UsageError: The schema itself is not valid, or refers to something outside of it.
    """
    try:
        return jsonschema_rs.validator_for(
            schema if isinstance(schema, bool) else copy.deepcopy(dict(schema)),
            validate_formats=True,
            formats=_FORMATS,
            offline=True,
            registry=registry,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as exc:
        text = str(exc).split("\n", 1)[0]
        raise UsageError(f"this JSON Schema cannot be used: {text}\n\nhint: mend the tool's schema") from exc
