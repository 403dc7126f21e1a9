"""What a tool takes; and the first of its three sources, a function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import UsageError
from failsoft.tools.docs import Docs, read_docs
from failsoft.tools.schema import (
    defaults_of_model,
    model_from,
    parameter_docs,
    reader_for,
    shown_schema,
)
from failsoft.tools.signature import NO_DEFAULT, Signature, plain_function, read_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.tools.options import Options

__all__ = [
    "FunctionSource",
    "Shape",
    "Source",
    "check_key",
    "check_keywords",
    "docs_of",
    "hidden_names",
    "own_name",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A tool's parameters, ready to be shown and read.

    Args:
        schema: JSON Schema of the arguments, as the model may give them.
        reader: Reads what the model gave.
        model: The pydantic model; None for a foreign tool.
        description: From the docstring.
        params: Description by parameter name.
        defaults: Default by visible parameter name, without factories.
        names: The visible parameters, by the names that the body takes.
        hidden: The parameters that the runtime fills.
        context_parameter: The one that takes the `CallContext`.
        unannotated: Visible parameters without a written type.
        unbound: Whether the function is a method that still lacks its object.
        body: What is called with the values as keywords; None: the function itself.
    """

    schema: dict[str, Any]
    reader: ArgumentReader
    model: type[BaseModel] | None = None
    description: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    context_parameter: str | None = None
    unannotated: tuple[str, ...] = ()
    unbound: bool = False
    body: Callable[..., Any] | None = None


class Source(Protocol):
    """Where a tool's shape comes from."""

    def shape(self, options: Options, label: str) -> Shape:
        """The shape under these options; `label` is the tool's name.

        Raises:
            UsageError: Where no tool can be made of it.
        """
        ...


def own_name(fn: Callable[..., Any]) -> str | None:
    """The name that a callable brings along; None where it has none that could be shown."""
    inner = plain_function(fn) if not hasattr(fn, "__name__") else fn
    name = getattr(inner, "__name__", None)
    if name == "__call__":
        return type(fn).__name__
    return None if name == "<lambda>" else name


def docs_of(fn: Callable[..., Any]) -> Docs:
    """The docstring of a function, or of the class of a callable object."""
    if inspect.isroutine(fn):
        return read_docs(fn.__doc__)
    plain = plain_function(fn)
    own = read_docs(getattr(plain, "__doc__", None))
    if own.description or not hasattr(type(fn), "__call__") or type(fn).__module__ == "functools":  # noqa: B004
        return own
    return read_docs(type(fn).__doc__)


def check_key(options: Options, signature: Signature, label: str) -> None:
    """Whether the parameters that the runtime fills are there, each for one thing.

    Raises:
        UsageError: The key's parameter is not there or takes the context, or two parameters take the context.
    """
    contexts = [item.name for item in signature.parameters if item.is_context]
    if len(contexts) > 1:
        raise UsageError(
            f"tool {label!r}: {' and '.join(contexts)} both take the CallContext\n\nhint: keep one of them"
        )
    key = options.idempotency_key
    names = [item.name for item in signature.parameters]
    if key is not None and key not in names and not signature.takes_any:
        raise UsageError(
            f"tool {label!r}: idempotency_key={key!r} names no parameter; parameters: {', '.join(names) or 'none'}"
            "\n\nhint: add a parameter of that name to the function; failsoft fills it, the model does not see it"
        )
    if key is not None and key == signature.context_parameter:
        raise UsageError(
            f"tool {label!r}: {key!r} takes the CallContext and cannot take the idempotency key too"
            "\n\nhint: read `ctx.idempotency_key`, or add a parameter for the key"
        )


def hidden_names(options: Options, signature: Signature) -> frozenset[str]:
    """The parameters that the runtime fills and the model does not see."""
    return frozenset(name for name in (signature.context_parameter, options.idempotency_key) if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSource:
    """A plain function: its annotations and docstring say everything."""

    signature: Signature
    docs: Docs

    @classmethod
    def of(cls, fn: Callable[..., Any], namespace: Mapping[str, Any], label: str) -> FunctionSource:
        """Read a function once."""
        return cls(signature=read_signature(fn, namespace, label), docs=docs_of(fn))

    def shape(self, options: Options, label: str) -> Shape:
        """One pydantic model from the visible parameters."""
        signature = self.signature
        self._refuse_odd(label)
        check_key(options, signature, label)
        hidden = hidden_names(options, signature)
        visible = [item for item in signature.parameters if item.name not in hidden]
        model = model_from(label, visible, self.docs.params)
        reader = reader_for(label, model)
        schema = shown_schema(reader)
        return Shape(
            schema=schema,
            reader=reader,
            model=model,
            description=self.docs.description,
            params=parameter_docs(schema),
            defaults=defaults_of_model(model),
            names=tuple(item.name for item in visible),
            hidden=hidden,
            context_parameter=signature.context_parameter,
            unannotated=tuple(item.name for item in visible if not item.annotated),
            unbound=signature.unbound,
        )

    def _refuse_odd(self, label: str) -> None:
        odd = [*self.signature.odd, *(["**kwargs"] if self.signature.takes_any else [])]
        if odd:
            raise UsageError(
                f"tool {label!r}: {', '.join(odd)} cannot be given by name, and a model gives arguments by name"
                "\n\nhint: write the parameters out, or use Tool.from_schema(name, schema, fn)"
            )


def check_keywords(label: str, signature: Signature, hidden: frozenset[str], names: tuple[str, ...]) -> None:
    """Whether the function can be called with these keywords, as far as it can be known now."""
    own = {item.name: item for item in signature.parameters}
    missing = [name for name in names if name not in own]
    if missing and not signature.takes_any:
        raise UsageError(
            f"tool {label!r}: the function takes no parameter {missing[0]!r}, which the schema has"
            "\n\nhint: add the parameter, or **kwargs"
        )
    extra = [
        name for name, item in own.items() if name not in (*names, *hidden) and item.default is NO_DEFAULT
    ]
    if extra or signature.odd:
        word = (extra or list(signature.odd))[0]
        raise UsageError(
            f"tool {label!r}: nobody would fill the function's parameter {word!r}: the schema has no such property"
            "\n\nhint: give it a default, or annotate it with CallContext if that is what it takes"
        )
