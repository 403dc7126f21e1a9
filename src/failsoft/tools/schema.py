"""From parameters to one pydantic model, and from a model to the JSON Schema that a model reads."""

from __future__ import annotations

import keyword
import typing
import warnings
from typing import TYPE_CHECKING, Any

import pydantic
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import UsageError
from failsoft.tools.signature import NO_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from failsoft.tools.signature import Parameter

__all__ = ["defaults_of_model", "model_from", "parameter_docs", "reader_for", "shown_schema"]

# Unknown fields are the reader's to refuse, which it does wherever a model says nothing of them.
_CONFIG = ConfigDict(protected_namespaces=())


def model_from(label: str, parameters: Iterable[Parameter], docs: Mapping[str, str]) -> type[BaseModel]:
    """The pydantic model of a function's visible parameters; unknown fields are refused.

    Args:
        label: The tool's name; becomes the model's.
        parameters: In order.
        docs: Description by name, from the docstring.

    Raises:
        UsageError: Where a name or a type cannot be a field.
    """
    fields: dict[str, Any] = {}
    for item in parameters:
        if item.name.startswith("_") or item.name in _taken():
            raise UsageError(
                f"tool {label!r}: a parameter cannot be called {item.name!r}\n\n"
                "hint: rename it; the model may still see the old name: Annotated[..., Field(alias='...')]"
            )
        fields[item.name] = (item.annotation, _field(item, docs.get(item.name)))
    try:
        return _create(label, fields)
    except pydantic.PydanticUserError as exc:
        _blame(label, fields)
        raise UsageError(f"tool {label!r}: no schema can be made of its parameters: {exc}") from exc


def _taken() -> frozenset[str]:
    # A field of one of these names would replace what pydantic itself calls on the class.
    return frozenset(name for name in dir(BaseModel) if name.startswith("model_"))


def _create(label: str, fields: dict[str, Any]) -> type[BaseModel]:
    name = label if label.isidentifier() and not keyword.iskeyword(label) else "Arguments"
    with warnings.catch_warnings():
        # A parameter called `schema` or `json` shadows a deprecated method: no harm, nothing to warn of.
        warnings.simplefilter("ignore", UserWarning)
        made: type[BaseModel] = create_model(name, __config__=_CONFIG, **fields)
    return made


def reader_for(label: str, model: type[BaseModel]) -> ArgumentReader:
    """The reader of a model.

    Raises:
        UsageError: Where a field has no JSON Schema; names the field.
    """
    try:
        with warnings.catch_warnings():
            # A default that JSON cannot hold, such as a sentinel, is left out of the schema: that is what is wanted.
            warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
            return ArgumentReader.for_model(model, tool_name=label)
    except pydantic.PydanticUserError as exc:
        _blame(label, {name: (field.annotation, field) for name, field in model.model_fields.items()})
        raise UsageError(f"tool {label!r}: {model.__name__} has no JSON Schema: {exc}") from exc


def _blame(label: str, fields: dict[str, Any]) -> None:
    for name, field in fields.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
                _create(label, {name: field}).model_json_schema()
        except pydantic.PydanticUserError as exc:
            why = str(exc).splitlines()[0]
            raise UsageError(
                f"tool {label!r}: the type {field[0]!r} of parameter {name!r} has no JSON Schema: {why}\n\n"
                "hint: take a type that JSON can carry (str, int, a pydantic model, a dataclass ...), "
                "or bind the value with functools.partial so that the model does not see it"
            ) from exc


def _field(item: Parameter, doc: str | None) -> FieldInfo:
    described = _described(item.annotation)
    default = item.default
    if isinstance(default, FieldInfo):
        if default.description is None and (described or doc):
            default = FieldInfo.merge_field_infos(default, description=described or doc)
        return default
    text = None if _has_description(item.annotation) else described or doc
    values: dict[str, Any] = {} if text is None else {"description": text}
    if default is not NO_DEFAULT:
        values["default"] = default
    made: FieldInfo = pydantic.Field(**values)
    return made


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ()


def _has_description(annotation: Any) -> bool:
    return any(isinstance(item, FieldInfo) and item.description for item in _metadata(annotation))


def _described(annotation: Any) -> str | None:
    """The text in `Annotated[str, "text"]` or `Annotated[str, Doc("text")]` (PEP 727)."""
    for item in _metadata(annotation):
        if isinstance(item, str):
            return item
        documentation = getattr(item, "documentation", None)
        if isinstance(documentation, str):
            return documentation
    return None


def shown_schema(reader: ArgumentReader) -> dict[str, Any]:
    """The schema that a reader enforces, as it is shown: without the titles that pydantic makes up."""
    schema: dict[str, Any] = _untitled(reader.schema)
    schema.pop("title", None)
    for name, part in schema.get("$defs", {}).items():
        if isinstance(part, dict) and part.get("title") == name:
            del part["title"]
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


def _untitled(part: Any) -> Any:
    if isinstance(part, list):
        return [_untitled(item) for item in part]
    if not isinstance(part, dict):
        return part
    made = {word: _untitled(value) for word, value in part.items()}
    properties = made.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        # Made from the name, so it tells nothing; a title that somebody wrote stays.
        if isinstance(inner, dict) and inner.get("title") == name.title().replace("_", " "):
            del inner["title"]
    return made


def defaults_of_model(model: type[BaseModel]) -> dict[str, Any]:
    """Default by field name; factories are left out, their value is not the same each time."""
    return {
        name: field.default
        for name, field in model.model_fields.items()
        if not field.is_required() and field.default_factory is None
    }


def parameter_docs(schema: Mapping[str, Any]) -> dict[str, str]:
    """Description by property name."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: part["description"]
        for name, part in properties.items()
        if isinstance(part, dict) and isinstance(part.get("description"), str)
    }
