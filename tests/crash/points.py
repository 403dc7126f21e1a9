"""Where a process can be made to die: `arm(point)` in a child, and it kills itself when it gets there.

A point is `STEP:MOMENT`. The moments of a store's verb, in order of time:

    asked      the harness calls the store
    entered    inside of the transaction, nothing written
    written    inside of the transaction, written, not committed
    committed  durable, and nobody has been told
    answered   the harness knows
"""

import os
import signal
from collections.abc import Callable
from functools import wraps
from typing import Any

from failsoft.harness import executor
from failsoft.harness import report as reporting
from failsoft.stores import operations

VERBS = ("begin", "settle", "renew", "resolve", "recover")


class _Armed:
    def __init__(self) -> None:
        self.point = ""
        self.since_begin: list[str] = []


_armed = _Armed()


def die_at(point: str) -> None:
    """End at once, as a power cut would."""
    if point == _armed.point:
        os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str, store: Any) -> Any:
    """Prepare this process, which nobody else uses, for death; the store to hand to a harness."""
    _armed.point = point
    for verb in VERBS:
        setattr(operations, verb, _in_transaction(verb, getattr(operations, verb)))
    if hasattr(store, "_writer"):
        _watch_commits(store._writer)
    for verb in ("look", *VERBS):
        setattr(store, verb, _around(verb, getattr(store, verb)))
    for verb in ("look", "begin", "settle"):
        setattr(store, f"{verb}_nowait", _around_nowait(verb, getattr(store, f"{verb}_nowait")))
    store.settle_soon = _late(store.settle_soon)
    executor.admit = _around_plainly("admit", executor.admit)
    reporting.ledger.close_flight = _around_plainly("report", reporting.ledger.close_flight)
    return store


def _in_transaction(verb: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def work(*args: Any, **kwargs: Any) -> Any:
        die_at(f"{verb}:entered")
        answer = plain(*args, **kwargs)
        die_at(f"{verb}:written")
        _armed.since_begin.append(verb)
        return answer

    return work


def _watch_commits(writer: Any) -> None:
    connect = writer._connect

    def watched() -> Any:
        connection = connect()
        plain = connection.commit

        def commit() -> None:
            verbs, _armed.since_begin = _armed.since_begin, []
            plain()
            for verb in verbs:
                die_at(f"{verb}:committed")

        connection.commit = commit
        return connection

    writer._connect = watched


def _around(verb: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    async def step(*args: Any, **kwargs: Any) -> Any:
        die_at(f"{verb}:asked")
        answer = await plain(*args, **kwargs)
        die_at(f"{verb}:answered")
        return answer

    return step


def _around_nowait(verb: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def step(*args: Any, **kwargs: Any) -> Any:
        die_at(f"{verb}:asked")
        answer = plain(*args, **kwargs)
        if answer is not None:  # else it is asked again, and waited for
            die_at(f"{verb}:answered")
        return answer

    return step


def _around_plainly(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def step(*args: Any, **kwargs: Any) -> Any:
        die_at(f"{name}:before")
        answer = plain(*args, **kwargs)
        die_at(f"{name}:after")
        return answer

    return step


def _late(plain: Callable[..., None]) -> Callable[..., None]:
    def settle_soon(key: str, owner_token: str, settlement: Any, on_done: Any = None) -> None:
        die_at("late:asked")

        def told(settled: Any) -> None:
            die_at("late:told")
            if on_done is not None:
                on_done(settled)

        plain(key, owner_token, settlement, told)
        die_at("late:queued")

    return settle_soon
