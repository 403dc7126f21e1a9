"""The exceptions inside an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["explicit_inner", "implicit_inner", "leaves"]

_MOST_LEAVES = 100
_HOLDERS = (
    "orig",
    "reason",
    "os_error",
    "original_error",
    "inner_exception",
    "error",
    "original_exception",
    "args",
    "errors",
)


def explicit_inner(exc: BaseException) -> Iterator[BaseException]:
    """What an exception names as its cause: `__cause__`, a driver's own error, the reason in its arguments."""
    if exc.__cause__ is not None:
        yield exc.__cause__
    if exc.__class__.__module__ == "builtins":
        yield from _held(exc.args)
        return
    for name in _HOLDERS:
        yield from _held(_safe(exc, name))
    future = _safe(exc, "last_attempt")
    if future is not None:
        yield from _failure_of(future)


def implicit_inner(exc: BaseException) -> BaseException | None:
    """What was being handled when it was raised, unless that was hidden on purpose."""
    return None if exc.__suppress_context__ else exc.__context__


def leaves(exc: BaseException, depth: int = 0) -> Iterator[BaseException]:
    """The exceptions of a group, however nested; the exception itself where it is none."""
    if not isinstance(exc, BaseExceptionGroup) or depth > 50:
        yield exc
        return
    for one in exc.exceptions[:_MOST_LEAVES]:
        yield from leaves(one, depth + 1)


def _safe(exc: BaseException, name: str) -> Any:
    try:
        return getattr(exc, name, None)
    except Exception:
        return None


def _held(value: Any) -> Iterator[BaseException]:
    if isinstance(value, BaseException):
        yield value
    elif isinstance(value, tuple | list):
        for one in value[:5]:
            if isinstance(one, BaseException):
                yield one


def _failure_of(future: Any) -> Iterator[BaseException]:
    """The exception of a finished attempt, as tenacity keeps it; a future that still runs is not waited for."""
    try:
        found = future.exception() if future.done() else None
    except BaseException as exc:
        found = exc
    if isinstance(found, BaseException):
        yield found
