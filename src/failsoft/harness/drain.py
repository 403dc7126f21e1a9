"""Tools that yield: `Progress` goes to the listener, everything else becomes the list that the tool returns."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import Progress
from failsoft.core.context import current

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

__all__ = ["PARTIAL", "drained", "drained_async"]

PARTIAL = "failsoft_partial"
"""Attribute of an exception that holds what a generator gave before it failed."""


def drained(fn: Callable[..., Iterator[Any]]) -> Callable[..., list[Any]]:
    """A generator function as a function that returns the list of its items."""

    @functools.wraps(fn)
    def run(*args: Any, **values: Any) -> list[Any]:
        items: list[Any] = []
        try:
            for item in fn(*args, **values):
                _take(item, items)
        except Exception as exc:
            _leave_partial(exc, items)
            raise
        return items

    return run


def drained_async(fn: Callable[..., AsyncIterator[Any]]) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """An async generator function as a coroutine function that returns the list of its items."""

    @functools.wraps(fn)
    async def run(*args: Any, **values: Any) -> list[Any]:
        items: list[Any] = []
        stream = fn(*args, **values)
        try:
            async for item in stream:
                _take(item, items)
        except Exception as exc:
            _leave_partial(exc, items)
            raise
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        return items

    return run


def _take(item: Any, items: list[Any]) -> None:
    if isinstance(item, Progress):
        current().report(item)
    else:
        items.append(item)
        call = current()
        call.yielded, call.partial = True, items


def _leave_partial(exc: Exception, items: list[Any]) -> None:
    if items:
        exc.__dict__[PARTIAL] = list(items)
