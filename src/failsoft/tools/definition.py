"""`Tool`: a function, what the model may know of it, its effects and its policies."""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from failsoft.core.annotations import Annotations, Standing
from failsoft.core.errors import UsageError
from failsoft.tools.checks import make_options
from failsoft.tools.from_model import ModelSource
from failsoft.tools.from_schema import SchemaSource
from failsoft.tools.options import ForeignKeywords, IsolationMode, Options, ToolKeywords
from failsoft.tools.returns import ResultCheck
from failsoft.tools.shape import FunctionSource, Shape, Source, own_name
from failsoft.tools.signature import caller_namespace, plain_function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self, Unpack

    from pydantic import BaseModel

    from failsoft.arguments import ArgumentReader, Parsed
    from failsoft.policies import Policy

__all__ = ["Tool"]

P = ParamSpec("P")
R = TypeVar("R")

_FROM_OPTIONS = (
    "version",
    "atomic",
    "category",
    "roles",
    "approval",
    "parallel",
    "poll",
    "verify",
    "verify_after_s",
    "idempotency_key",
    "key_ttl_s",
    "error_from_result",
    "returns",
)
_FROM_SHAPE = (
    "schema",
    "reader",
    "model",
    "params",
    "defaults",
    "hidden",
    "context_parameter",
    "unannotated",
    "unbound",
)


class Tool(Generic[P, R]):
    """One tool. Called like the function that it was made from; fixed once built, `replace()` gives a changed copy.

    Made by `@tool`, `Tool.from_model` and `Tool.from_schema`.

    Attributes:
        name: What the model calls it.
        description: What the model reads of it.
        fn: What the runtime calls, with the validated values as keywords.
        schema: JSON Schema of its arguments; the one source of what is shown and checked. Do not change it.
        model: The pydantic model behind it; None for foreign tools.
        params: Description by parameter.
        defaults: Default by visible parameter; factories are left out.
        reader: Reads raw arguments.
        annotations: Effects as declared, with the category's words.
        standing: Repeatable, protected or undeclared.
        identity: Names of the parameters that make two calls the same.
        doubts: Who may resolve a doubt.
        hidden: Parameters that the runtime fills and the model does not see.
        context_parameter: The one of them that takes the `CallContext`.
        is_async: Whether calling `fn` gives an awaitable.
        is_generator: Whether it gives an iterator.
        is_async_generator: Whether it gives an async iterator.
        policy: The policies that were given; unset where not.
        options: The declaration as it was made.
    """

    name: str
    description: str
    fn: Callable[..., Any]
    __wrapped__: Callable[P, R]
    options: Options
    schema: dict[str, Any]
    reader: ArgumentReader
    model: type[BaseModel] | None
    params: Mapping[str, str]
    defaults: Mapping[str, Any]
    hidden: frozenset[str]
    context_parameter: str | None
    unannotated: tuple[str, ...]
    unbound: bool
    annotations: Annotations
    standing: Standing
    policy: Policy
    version: str
    atomic: bool
    category: str | None
    roles: frozenset[str]
    approval: str | Callable[..., Any]
    isolation: IsolationMode
    parallel: bool
    poll: bool
    identity: tuple[str, ...]
    verify: Callable[..., Any] | None
    verify_after_s: float | None
    doubts: Literal["model", "human"]
    idempotency_key: str | None
    key_ttl_s: float
    error_from_result: Callable[[Any], Any] | None
    returns: Any
    is_async: bool
    is_generator: bool
    is_async_generator: bool

    def __init__(self, fn: Callable[P, R], source: Source, options: Options) -> None:
        name = options.name or own_name(fn)
        if name is None:
            raise UsageError(f"{fn!r} has no name that a model could call\n\nhint: give name=")
        options = make_options({"name": name}, options)
        shape = source.shape(options, name)
        fields = self.__dict__
        fields["__wrapped__"] = fn
        fields.update(
            {word: getattr(fn, word) for word in functools.WRAPPER_ASSIGNMENTS if hasattr(fn, word)}
        )
        fields["name"], fields["options"], fields["_source"] = name, options, source
        fields["description"] = shape.description if options.description is None else options.description
        for word in _FROM_OPTIONS:
            fields[word] = getattr(options, word)
        for word in _FROM_SHAPE:
            fields[word] = getattr(shape, word)
        fields["isolation"] = options.isolation_mode
        fields["fn"] = shape.body or fn
        fields["policy"] = options.policy()
        fields["annotations"] = options.annotations()
        fields["standing"] = self.annotations.standing
        fields["identity"] = _identity(options, shape, name)
        fields["doubts"] = options.doubts or ("human" if self.annotations.destructive else "model")
        fields["_check"] = None if options.returns is None else ResultCheck(options.returns, name)
        fields.update(_kinds(fn))

    @classmethod
    def from_function(
        cls,
        fn: Callable[P, R],
        namespace: Mapping[str, Any] | None = None,
        /,
        **options: Unpack[ToolKeywords],
    ) -> Tool[P, R]:
        """A tool from a function's annotations and docstring; what `@tool` calls.

        Args:
            fn: A function, bound method, partial or callable object, sync or async, or a generator.
            namespace: Local names for annotations that are written as text; default those of the caller.
            options: As for `tool`.

        Raises:
            UsageError: Where no tool can be made of it; says what to change.
        """
        made = make_options(dict(options), label=own_name(fn))
        label = made.name or own_name(fn) or "(unnamed)"
        names = caller_namespace() if namespace is None else namespace
        return cls(fn, FunctionSource.of(fn, names, label), made)

    @classmethod
    def from_model(
        cls, model: type[BaseModel], fn: Callable[P, R], **options: Unpack[ToolKeywords]
    ) -> Tool[P, R]:
        """A tool whose arguments are a pydantic model.

        Args:
            model: Describes and checks the arguments.
            fn: Takes the model's fields as keywords;
                or the validated instance, if its one parameter is annotated with the model.
            options: As for `tool`.

        Raises:
            UsageError: Where model and function do not fit.
        """
        made = make_options(dict(options), label=own_name(fn))
        label = made.name or own_name(fn) or "(unnamed)"
        return cls(fn, ModelSource.of(model, fn, caller_namespace(), label), made)

    @classmethod
    def from_schema(
        cls,
        name: str,
        schema: Mapping[str, Any] | None,
        fn: Callable[P, R],
        *,
        description: str | None = None,
        **options: Unpack[ForeignKeywords],
    ) -> Tool[P, R]:
        """A tool from somebody else's JSON Schema (draft 7 to 2020-12).

        Args:
            name: As the other side calls it.
            schema: Of the arguments; empty or None: no arguments.
            fn: Called with the arguments as keywords; `**kwargs` takes any name, also one that is no identifier.
            description: What the model reads; default the function's docstring.
            options: As for `tool`.

        Raises:
            UsageError: Where schema and function do not fit.
        """
        made = make_options({**options, "name": name, "description": description})
        return cls(fn, SchemaSource.of(schema, fn, caller_namespace(), name), made)

    def parse(self, raw: Any, *, truncated: bool = False) -> Parsed:
        """Read, repair and validate raw arguments.

        Args:
            raw: Text, bytes, a mapping, or None when nothing was sent.
            truncated: Whether the output limit cut the call off.

        Raises:
            InvalidArgument: With `reason` and `problems`, written for a model.
        """
        return self.reader.parse(raw, truncated=truncated)

    def check_result(self, value: Any) -> Any:
        """The result as `returns` shapes it; unchanged where nothing was declared.

        Raises:
            InvalidOutput: Where it does not fit.
        """
        check: ResultCheck | None = self.__dict__["_check"]
        return value if check is None else check(value)

    def replace(self, *, fn: Callable[..., Any] | None = None, **changes: Any) -> Tool[P, R]:
        """A copy with other options, checked anew; with `fn`, another body of the same parameters.

        Raises:
            UsageError: As when the tool was built.
        """
        if changes:
            made = type(self)(self.__wrapped__, self.__dict__["_source"], make_options(changes, self.options))
        else:
            made = object.__new__(type(self))
            made.__dict__.update(self.__dict__)
        body = self.fn if fn is None else fn
        if body is not made.fn:
            made.__dict__.update({"fn": body, "__wrapped__": body, **_kinds(body)})
        made.__dict__["unbound"] = self.unbound and fn is None
        return made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: no policy, no validation."""
        return self.__wrapped__(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> Tool[..., R]: ...

    def __get__(self, instance: object | None, owner: Any = None) -> Tool[..., R]:
        if instance is None or not self.unbound:
            return self
        return self.replace(fn=types.MethodType(self.fn, instance))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tool is fixed once built; use tool.replace({name}=...)")

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {self.standing}, parameters=[{', '.join(self.schema['properties'])}])"


def _identity(options: Options, shape: Shape, name: str) -> tuple[str, ...]:
    if options.identity is None:
        return shape.names
    for word in options.identity:
        if word not in shape.names:
            known = ", ".join(shape.names) or "none"
            raise UsageError(
                f"tool {name!r}: identity names {word!r}, which is no visible parameter; parameters: {known}"
                "\n\nhint: name the parameters that make two calls the same"
            )
    return options.identity


def _kinds(fn: Callable[..., Any]) -> dict[str, bool]:
    if isinstance(fn, functools.partial):
        return _kinds(fn.func)
    inner: Any = fn if inspect.isroutine(fn) else plain_function(fn)
    return {
        "is_async": inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(inner),
        "is_generator": inspect.isgeneratorfunction(inner),
        "is_async_generator": inspect.isasyncgenfunction(inner),
    }
