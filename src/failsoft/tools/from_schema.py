"""A tool's shape from somebody else's JSON Schema, and a function that takes the arguments as keywords."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.arguments import ArgumentReader
from failsoft.arguments.reader import Values
from failsoft.core.errors import InvalidArgument, UsageError
from failsoft.tools.names import PROPERTY, safe_name
from failsoft.tools.schema import parameter_docs
from failsoft.tools.shape import Shape, check_key, check_keywords, docs_of, hidden_names
from failsoft.tools.signature import Signature, read_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.tools.options import Options

__all__ = ["SchemaSource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSource:
    """A foreign tool: its JSON Schema, and a function that takes the arguments as keywords."""

    schema: dict[str, Any]
    fn: Callable[..., Any]
    signature: Signature

    @classmethod
    def of(
        cls, schema: Any, fn: Callable[..., Any], namespace: Mapping[str, Any], label: str
    ) -> SchemaSource:
        """Check the schema's frame, read the function once."""
        if schema is not None and not isinstance(schema, dict):
            raise UsageError(f"tool {label!r}: wanted a JSON Schema as a dict, got {schema!r}")
        kind = (schema or {}).get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise UsageError(
                f"tool {label!r}: the arguments of a tool are an object, the schema says type {kind!r}"
                '\n\nhint: wrap it: {"type": "object", "properties": {"value": ...}}'
            )
        return cls(schema=_framed(schema or {}), fn=fn, signature=read_signature(fn, namespace, label))

    def shape(self, options: Options, label: str) -> Shape:
        """The schema as it came, without what the runtime fills."""
        check_key(options, self.signature, label)
        hidden = hidden_names(options, self.signature)
        schema = _without(self.schema, hidden)
        names = tuple(schema["properties"])
        check_keywords(label, self.signature, hidden, names)
        return Shape(
            schema=schema,
            reader=_reader(schema, label),
            description=docs_of(self.fn).description,
            params=parameter_docs(schema),
            defaults={
                name: part["default"]
                for name, part in schema["properties"].items()
                if isinstance(part, dict) and "default" in part
            },
            names=names,
            hidden=hidden,
            context_parameter=self.signature.context_parameter,
        )


def _reader(schema: dict[str, Any], label: str) -> ArgumentReader:
    try:
        reader = ArgumentReader.for_schema(schema, tool_name=label)
    except UsageError as exc:
        raise UsageError(f"tool {label!r}: {exc}") from exc
    own_names = {alias: name for name in schema["properties"] if (alias := safe_name(name, PROPERTY)) != name}
    if own_names:
        reader.parse_values = _under_own_names(reader, own_names)
    return reader


def _under_own_names(reader: ArgumentReader, own_names: Mapping[str, str]) -> Callable[..., Values]:
    """Takes back the names that providers were given for parameters whose own names they refuse."""
    read = ArgumentReader.for_schema({"type": "object"}, tool_name=reader.tool_name).parse_values
    check = reader.parse_values

    def parse_values(raw: Any, truncated: bool = False) -> Values:
        sent, repairs = read(raw, truncated)
        own = {own_names.get(name, name): part for name, part in sent.items()}
        if len(own) < len(sent):
            both = next(alias for alias in own_names if alias in sent and own_names[alias] in sent)
            raise InvalidArgument(
                f"The parameter {both} came twice, also as {own_names[both]}; nothing was run.",
                reason="ambiguous",
                context={"problems": [{"field": both, "problem": "came under two names"}]},
            )
        values, more = check(own, False)
        return values, (*repairs, *more)

    return parse_values


def _framed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with the frame that every reader may rely on: an object with properties."""
    made = {
        name: part
        for name, part in copy.deepcopy(schema).items()
        if not (name == "required" and part is None)
    }
    properties = made.get("properties")
    made["type"] = "object"
    made["properties"] = dict(properties) if isinstance(properties, dict) else {}
    return made


def _without(schema: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    if not hidden & set(schema["properties"]):
        return schema
    made = dict(schema)
    made["properties"] = {name: part for name, part in schema["properties"].items() if name not in hidden}
    if "required" in made:
        made["required"] = [name for name in made["required"] if name not in hidden]
    return made
