"""Tools that yield, or give back what yields: `Progress` goes to the listener, the rest becomes the list that they return."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import Progress
from failsoft.core.context import current

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

__all__ = ["PARTIAL", "drained", "drained_async", "may_stream", "whole", "whole_async"]

PARTIAL = "failsoft_partial"
"""Attribute of an exception that holds what a generator gave before it failed."""


def may_stream(fn: Callable[..., Any]) -> bool:
    """Whether what an async function gives back may have to be awaited or drained: it promises so, or nothing."""
    promised = getattr(fn, "__annotations__", {}).get("return", inspect.Parameter.empty)
    if promised is inspect.Parameter.empty:
        return True
    return any(
        word in str(promised) for word in ("Iterat", "Iterable", "Generator", "Awaitable", "Coroutine")
    )


def drained(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose value is a list where `fn` yields or gives back a generator."""

    @functools.wraps(fn)
    def run(*args: Any, **values: Any) -> Any:
        value = fn(*args, **values)
        return _drain(value) if inspect.isgenerator(value) else value

    return run


def drained_async(fn: Callable[..., AsyncIterator[Any]]) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """An async generator function as a coroutine function that returns the list of its items."""

    @functools.wraps(fn)
    async def run(*args: Any, **values: Any) -> list[Any]:
        return await _drain_async(fn(*args, **values))

    return run


def whole_async(fn: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """An async function whose value is awaited or drained where it has to be."""

    @functools.wraps(fn)
    async def run(*args: Any, **values: Any) -> Any:
        return await whole(await fn(*args, **values))

    return run


async def whole(value: Any) -> Any:
    """A value, with what is only promised in it awaited, and what is a stream drained."""
    while inspect.isawaitable(value):
        value = await value
    if inspect.isasyncgen(value):
        return await _drain_async(value)
    return _drain(value) if inspect.isgenerator(value) else value


def _drain(stream: Iterator[Any]) -> list[Any]:
    items: list[Any] = []
    try:
        for item in stream:
            _take(item, items)
    except Exception as exc:
        _leave_partial(exc, items)
        raise
    return items


async def _drain_async(stream: AsyncIterator[Any]) -> list[Any]:
    items: list[Any] = []
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
