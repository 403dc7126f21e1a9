"""The shortest way for mappings: one strict pass of pydantic's core that gives the dict which the body is called with.

Only for models that are plain signatures of JSON's own types. There, what pydantic takes strictly is exactly what fits the
schema, so no second look is needed, and a dict instead of a model instance saves half of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["direct_validator"]

# Kinds of pydantic's core schema whose strict form is JSON's own type; with anything else the schema has the last word.
_PLAIN = frozenset({"int", "str", "float", "bool", "none", "nullable", "list", "dict", "literal", "default"})


def direct_validator(model_schema: Any) -> Callable[[Any], dict[str, Any]] | None:
    """A function from a dict to validated values with defaults; raises `ValidationError` for what does not fit strictly.

    Args:
        model_schema: The core schema of a pydantic model.

    Returns:
        None for a model that is more than a plain signature.
    """
    if (
        model_schema.get("type") != "model"
        or model_schema.get("root_model")
        or model_schema.get("custom_init")
    ):
        return None
    inner = model_schema["schema"]
    if inner.get("type") != "model-fields" or "extras_schema" in inner or model_schema.get("post_init"):
        return None
    config = dict(model_schema.get("config") or {})
    config.pop("title", None)
    if config and config != {"extra_fields_behavior": "forbid"}:
        return None
    fields = {}
    for name, field in inner["fields"].items():
        renamed = any(key in field for key in ("validation_alias", "serialization_alias", "frozen"))
        if renamed or field.get("metadata") or not _is_plain(field["schema"]):
            return None
        required = field["schema"]["type"] != "default"
        fields[name] = core_schema.typed_dict_field(field["schema"], required=required)
    schema = core_schema.typed_dict_schema(
        fields, extra_behavior="forbid", config=core_schema.CoreConfig(strict=True)
    )
    return SchemaValidator(schema).validate_python


def _is_plain(node: Any) -> bool:
    """Whether every node below is of a plain kind and no function or hook of the user's has a say."""
    if not isinstance(node, dict):
        return False
    if (
        node.get("type") not in _PLAIN
        or node.get("metadata")
        or "default_factory" in node
        or "strict" in node
    ):
        return False
    children = [
        node[key] for key in ("schema", "items_schema", "keys_schema", "values_schema") if key in node
    ]
    return all(_is_plain(child) for child in children)
