"""A tool's shape from a pydantic model, and a function that takes its fields or the instance."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, RootModel

from failsoft.core.errors import UsageError
from failsoft.tools.schema import defaults_of_model, parameter_docs, reader_for, shown_schema
from failsoft.tools.shape import Shape, check_key, check_keywords, docs_of, hidden_names
from failsoft.tools.signature import Signature, read_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.tools.options import Options

__all__ = ["ModelSource"]


@dataclass(frozen=True, slots=True)
class _FromInstance:
    """Calls a function that takes the validated model itself. A class, so that it can be sent to a process."""

    fn: Callable[..., Any]
    model: type[BaseModel]
    parameter: str
    hidden: frozenset[str]

    def __call__(self, **values: Any) -> Any:
        extra = {name: values.pop(name) for name in self.hidden if name in values}
        extra[self.parameter] = self.model.model_construct(**values)
        return self.fn(**extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """A pydantic model, and a function that takes either its fields as keywords or the instance."""

    model: type[BaseModel]
    fn: Callable[..., Any]
    signature: Signature

    @classmethod
    def of(
        cls, model: type[BaseModel], fn: Callable[..., Any], namespace: Mapping[str, Any], label: str
    ) -> ModelSource:
        """Check the model, read the function once."""
        given: Any = model
        if not (inspect.isclass(given) and issubclass(given, BaseModel)) or issubclass(given, RootModel):
            raise UsageError(
                f"tool {label!r}: wanted a pydantic model class with named fields, got {model!r}"
                "\n\nhint: Tool.from_model(Model, fn); for a JSON Schema use Tool.from_schema"
            )
        return cls(model=model, fn=fn, signature=read_signature(fn, namespace, label))

    def shape(self, options: Options, label: str) -> Shape:
        """The model as it is."""
        check_key(options, self.signature, label)
        hidden = hidden_names(options, self.signature)
        instance = self._instance_parameter(hidden)
        if instance is None:
            check_keywords(label, self.signature, hidden, tuple(self.model.model_fields))
        if clash := hidden & set(self.model.model_fields):
            raise UsageError(
                f"tool {label!r}: {min(clash)!r} is a field of {self.model.__name__}, so the model would see it"
                "\n\nhint: leave it out of the pydantic model and keep it as a parameter of the function"
            )
        reader = reader_for(label, self.model)
        schema = shown_schema(reader)
        own = docs_of(self.fn).description
        return Shape(
            schema=schema,
            reader=reader,
            model=self.model,
            description=own or str(schema.get("description", "")),
            params=parameter_docs(schema),
            defaults=defaults_of_model(self.model),
            names=tuple(self.model.model_fields),
            hidden=hidden,
            context_parameter=self.signature.context_parameter,
            body=None if instance is None else _FromInstance(self.fn, self.model, instance, hidden),
        )

    def _instance_parameter(self, hidden: frozenset[str]) -> str | None:
        rest = [item for item in self.signature.parameters if item.name not in hidden]
        fits = len(rest) == 1 and not self.signature.takes_any and not self.signature.odd
        if fits and inspect.isclass(rest[0].annotation) and issubclass(self.model, rest[0].annotation):
            return rest[0].name if issubclass(rest[0].annotation, BaseModel) else None
        return None
