"""Causes, contexts and groups: the real error is found wherever it is."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

import pytest
import tenacity

from failsoft.classify import classify
from failsoft.core.errors import NotFound, RateLimited
from failsoft.core.kinds import Effect, ErrorKind


def _from(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def _during(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__context__ = inner
    return outer


def _group(*inside: BaseException) -> BaseException:
    return BaseExceptionGroup("unhandled errors in a TaskGroup", list(inside))


class _Custom(Exception):
    """A type that no table knows."""


def test_named_cause_is_found() -> None:
    """An unknown exception takes the kind of the cause that it names, with its own words in front."""
    error = classify(_from(_Custom("could not load the orders"), ConnectionRefusedError(111, "refused")))
    assert (error.kind, error.effect) == (ErrorKind.NETWORK, Effect.NONE)
    assert error.message.startswith("could not load the orders: ")


def test_cause_of_a_cause() -> None:
    """A cause is found several levels down."""
    exc: BaseException = TimeoutError()
    for level in range(5):
        exc = _from(_Custom(f"level {level}"), exc)
    assert classify(exc).kind == ErrorKind.TIMEOUT


def test_context_proves_no_effect() -> None:
    """What was being handled tells the kind, but proves nothing for what was raised after it."""
    error = classify(_during(_Custom("x"), ConnectionRefusedError(111, "refused")))
    assert (error.kind, error.effect) == (ErrorKind.NETWORK, Effect.POSSIBLE)


def test_suppressed_context_is_left_alone() -> None:
    """`raise ... from None` hides the context, and it stays hidden."""
    exc = _during(_Custom("x"), ConnectionRefusedError(111, "refused"))
    exc.__suppress_context__ = True
    assert classify(exc).kind == ErrorKind.UNKNOWN


def test_bug_while_handling_stays_a_bug() -> None:
    """A KeyError raised while a refusal was handled is not a refusal."""
    assert (
        classify(_during(ValueError("x"), ConnectionRefusedError(111, "refused"))).kind == ErrorKind.INTERNAL
    )


def test_one_real_error_in_a_group() -> None:
    """Cancellations beside one real error are its shadow."""
    error = classify(_group(asyncio.CancelledError(), _group(ConnectionRefusedError(111, "refused"))))
    assert (error.kind, error.retryable, error.effect) == (ErrorKind.NETWORK, True, Effect.NONE)
    assert "TaskGroup" not in error.message


def test_several_errors_in_a_group() -> None:
    """Several errors give the least retryable kind and the most possible effect."""
    error = classify(
        _group(TimeoutError(), PermissionError(13, "Permission denied"), ConnectionRefusedError())
    )
    assert (error.kind, error.retryable, error.effect) == (
        ErrorKind.PERMISSION_DENIED,
        False,
        Effect.POSSIBLE,
    )
    assert "2 other failures" in error.message


def test_group_waits_for_the_longest() -> None:
    """Of several hints the longest is kept."""
    error = classify(_group(RateLimited("a", retry_after_s=3), RateLimited("b", retry_after_s=9)))
    assert (error.kind, error.retry_after_s) == (ErrorKind.RATE_LIMITED, 9)


def test_agent_error_inside() -> None:
    """An AgentError deeper down keeps all its fields; the exception that was raised stays the cause."""
    inner = NotFound("no such order", suggestion="list the orders", context={"id": 5})
    exc = _from(_Custom("lookup failed"), inner)
    error = classify(exc)
    assert isinstance(error, NotFound)
    assert error is not inner
    assert (error.suggestion, error.context, error.__cause__) == ("list the orders", {"id": 5}, exc)


def test_retries_of_tenacity() -> None:
    """The last attempt's failure is found behind tenacity's RetryError."""
    future: Any = tenacity.Future(1)
    future.set_exception(ConnectionResetError(104, "reset"))
    error = classify(tenacity.RetryError(future))
    assert error.kind == ErrorKind.NETWORK
    assert "RetryError" not in error.message


def test_unfinished_future_is_not_waited_for() -> None:
    """A future that still runs is left alone."""
    exc = _Custom("x")
    exc.last_attempt = Future()  # type: ignore[attr-defined]
    assert classify(exc).kind == ErrorKind.UNKNOWN


def test_cycles_end() -> None:
    """Causes that run in a circle end."""
    first, second = _Custom("a"), _Custom("b")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).kind == ErrorKind.UNKNOWN


def test_very_deep_chains_and_groups() -> None:
    """Ten thousand causes, or groups within groups, neither raise nor take long."""
    exc: BaseException = ConnectionResetError()
    for _ in range(10_000):
        exc = _from(_Custom("x"), exc)
    assert classify(exc).kind in (ErrorKind.NETWORK, ErrorKind.UNKNOWN)
    exc = ConnectionResetError()
    for _ in range(200):
        exc = ExceptionGroup("x", [exc])  # type: ignore[list-item]
    assert classify(exc).kind in (ErrorKind.NETWORK, ErrorKind.UNKNOWN)


def test_exceptions_that_misbehave() -> None:
    """An exception whose text or attributes raise is classified all the same."""

    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

        @property
        def response(self) -> Any:
            raise RuntimeError("no")

    assert classify(Broken()).kind == ErrorKind.UNKNOWN


@pytest.mark.parametrize(
    "exc", [_Custom(), RuntimeError(), ValueError(), TimeoutError(), KeyError(), OSError(), Exception()]
)
def test_empty_texts(exc: BaseException) -> None:
    """An exception without a text still gives a sentence."""
    assert len(classify(exc).message) > 5


def test_duck_typed_status() -> None:
    """An unknown exception that carries a status is read as that answer."""
    exc = _Custom("nope")
    exc.status_code, exc.headers = 429, {"Retry-After": "4"}  # type: ignore[attr-defined]
    error = classify(exc)
    assert (error.kind, error.retry_after_s) == (ErrorKind.RATE_LIMITED, 4)


def test_method_of_the_caller() -> None:
    """A method that the caller names rules an effect out where a repeat has none."""
    assert classify(TimeoutError(), method="GET").effect == Effect.NONE
    assert classify(TimeoutError(), method="POST").effect == Effect.POSSIBLE
    assert classify(ValueError("x"), method="GET").effect == Effect.POSSIBLE
