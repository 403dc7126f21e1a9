"""`@tool`: from a function to a `Tool`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from failsoft.core.errors import UsageError
from failsoft.tools.definition import Tool
from failsoft.tools.signature import caller_namespace

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from failsoft.tools.options import ToolKeywords

__all__ = ["tool"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def tool(fn: Callable[P, R], /, **options: Unpack[ToolKeywords]) -> Tool[P, R]: ...


@overload
def tool(fn: None = None, /, **options: Unpack[ToolKeywords]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(fn: Callable[..., Any] | None = None, /, **options: Unpack[ToolKeywords]) -> Any:
    """Make a tool of a function: `@tool`, `@tool(read_only=True)` or `tool(fn, read_only=True)`.

    The keywords, their defaults and their meaning are those of `failsoft.tools.Options`.

    Raises:
        UsageError: Where no tool can be made of it; says what was wanted, what came and what to do.
    """
    namespace = caller_namespace()

    def make(function: Callable[..., Any]) -> Tool[..., Any]:
        if isinstance(function, staticmethod):
            function = function.__func__
        if isinstance(function, Tool):
            raise UsageError(
                f"{function.name!r} is a tool already\n\nhint: use tool.replace(...) to change its options"
            )
        if not callable(function):
            raise UsageError(
                f"tool() takes a function, got {function!r}\n\n"
                "hint: options are given by keyword; for a class method, hand in the bound one: tool(Class.method)"
            )
        return Tool.from_function(function, namespace, **options)

    return make if fn is None else make(fn)
