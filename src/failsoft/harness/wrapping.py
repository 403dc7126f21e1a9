"""A tool as the function that it was made from, through the whole path: for code that is no model's."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.harness.harness import Harness

__all__ = ["wrapped"]


def wrapped(harness: Harness, fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` through the harness: async for async tools, sync for others.

    Raises:
        UsageError: `fn` is no tool of the harness.
    """
    tool = _tool_of(harness, fn)
    signature = inspect.signature(tool.__wrapped__)

    def values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind_partial(*args, **kwargs)
        return {name: value for name, value in bound.arguments.items() if name not in tool.hidden}

    if tool.is_async or tool.is_async_generator:

        @functools.wraps(tool.__wrapped__)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return (await harness.call(tool, values(args, kwargs))).unwrap()

        return call_async

    @functools.wraps(tool.__wrapped__)
    def call(*args: Any, **kwargs: Any) -> Any:
        return harness.call_sync(tool, values(args, kwargs)).unwrap()

    return call


def _tool_of(harness: Harness, fn: Callable[..., Any]) -> Tool[..., Any]:
    for tool in harness.tools:
        if fn is tool or fn is tool.__wrapped__ or (isinstance(fn, Tool) and fn.name == tool.name):
            return tool
    raise UsageError(
        f"{fn!r} is no tool of this harness\n\nhint: give it to Harness([...]) first; the tools are: "
        + ", ".join(tool.name for tool in harness.tools)
    )
