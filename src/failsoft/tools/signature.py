"""Reads a callable's parameters: names, resolved annotations, defaults, and which ones are not the model's."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.core.context import CallContext
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NO_DEFAULT", "Parameter", "Signature", "caller_namespace", "plain_function", "read_signature"]

NO_DEFAULT: Any = inspect.Parameter.empty

# Rooms that make tools of other people's functions: their own local names are not what annotations mean.
_MAKERS = ("failsoft.tools", "failsoft.harness", "failsoft.adapters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that can be given by name.

    Args:
        name: Its name.
        annotation: Its resolved type; `Any` where none is written.
        default: Its default; `NO_DEFAULT` where there is none.
        annotated: Whether a type is written.
        is_context: Whether it takes the `CallContext`.
    """

    name: str
    annotation: Any = Any
    default: Any = NO_DEFAULT
    annotated: bool = True
    is_context: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A callable's parameters.

    Args:
        parameters: Those that can be given by name, in order.
        takes_any: Whether there is a `**kwargs`.
        unbound: Whether it is a method that still lacks its object.
        odd: Parameters that cannot be given by name, as written: `*args`, positional-only ones.
    """

    parameters: tuple[Parameter, ...] = ()
    takes_any: bool = False
    unbound: bool = False
    odd: tuple[str, ...] = ()

    @property
    def context_parameter(self) -> str | None:
        """The name of the parameter that takes the `CallContext`."""
        return next((item.name for item in self.parameters if item.is_context), None)


def caller_namespace() -> dict[str, Any]:
    """The local names at the place where a tool is defined, for annotations that are written as text."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_MAKERS):
        frame = frame.f_back
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def plain_function(fn: Callable[..., Any]) -> Any:
    """The function behind partials, bound methods, wrappers and callable objects."""
    while True:
        if isinstance(fn, functools.partial | functools.partialmethod):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif not inspect.isroutine(fn) and not inspect.isclass(fn) and hasattr(type(fn), "__call__"):  # noqa: B004
            fn = type(fn).__call__
            if not inspect.isfunction(fn):
                return fn
        else:
            return fn


def read_signature(fn: Callable[..., Any], namespace: Mapping[str, Any], label: str) -> Signature:
    """The parameters of `fn`, their annotations resolved.

    Args:
        fn: A function, bound method, partial or callable object.
        namespace: Local names for annotations that are written as text.
        label: What to call the tool in messages.

    Raises:
        UsageError: Where the callable tells no signature, or an annotation names something unknown.
    """
    try:
        raw = inspect.signature(fn)
    except (TypeError, ValueError) as exc:
        raise UsageError(
            f"tool {label!r}: {fn!r} does not tell its parameters\n\nhint: wrap it in a function with annotations"
        ) from exc
    items = list(raw.parameters.values())
    unbound = _is_unbound(fn, items)
    if unbound:
        del items[0]
    fixed = _fixed_by_partial(fn)
    parameters, odd, takes_any = [], [], False
    for item in items:
        if item.kind is item.VAR_KEYWORD:
            takes_any = True
        elif item.kind in (item.VAR_POSITIONAL, item.POSITIONAL_ONLY):
            odd.append(f"*{item.name}" if item.kind is item.VAR_POSITIONAL else item.name)
        elif item.name not in fixed:
            parameters.append(_parameter(item, fn, namespace, label))
    return Signature(parameters=tuple(parameters), takes_any=takes_any, unbound=unbound, odd=tuple(odd))


def _is_unbound(fn: Callable[..., Any], items: list[inspect.Parameter]) -> bool:
    if not inspect.isfunction(fn) or not items:
        return False
    owner, first = fn.__qualname__.rpartition(".")[0], items[0]
    in_class = bool(owner) and not owner.endswith("<locals>")
    return (
        in_class and first.annotation is first.default is first.empty and first.kind is not first.VAR_KEYWORD
    )


def _fixed_by_partial(fn: Callable[..., Any]) -> set[str]:
    fixed: set[str] = set()
    while isinstance(fn, functools.partial):
        fixed |= set(fn.keywords)
        fn = fn.func
    return fixed


def _parameter(
    item: inspect.Parameter, fn: Callable[..., Any], namespace: Mapping[str, Any], label: str
) -> Parameter:
    if item.annotation is item.empty:
        return Parameter(name=item.name, default=item.default, annotated=False)
    annotation = _resolve(item.annotation, item.name, fn, namespace, label)
    return Parameter(
        name=item.name, annotation=annotation, default=item.default, is_context=_is_context(annotation)
    )


def _is_context(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
        return rest == [CallContext]
    return inspect.isclass(annotation) and issubclass(annotation, CallContext)


def _closure(fn: types.FunctionType) -> dict[str, Any]:
    """The names that a function takes from around it; what is defined only after it has no value yet."""
    found = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def _resolve(
    annotation: Any, name: str, fn: Callable[..., Any], namespace: Mapping[str, Any], label: str
) -> Any:
    plain = plain_function(fn)
    closure = _closure(plain) if inspect.isfunction(plain) else {}
    # CallContext is often imported for type checkers only, so its name is always known here.
    local = {"CallContext": CallContext, **getattr(plain, "__globals__", {}), **namespace, **closure}
    holder: Any = types.SimpleNamespace(
        __annotations__={name: annotation}, __type_params__=getattr(plain, "__type_params__", ())
    )
    try:
        return typing.get_type_hints(holder, local, local, include_extras=True)[name]
    except NameError as exc:
        raise UsageError(
            f"tool {label!r}: the annotation {annotation!r} of parameter {name!r} names {exc.name!r}, "
            "which is not known where the tool is defined\n\n"
            "hint: import it outside of `if TYPE_CHECKING:`, or define it before the tool"
        ) from exc
    except (TypeError, SyntaxError, AttributeError) as exc:
        raise UsageError(
            f"tool {label!r}: the annotation {annotation!r} of parameter {name!r} is no type: {exc}\n\n"
            "hint: write a type, such as `str` or `list[int]`"
        ) from exc
