"""One piece of work on its way to the writer, and how its waiter is woken."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from queue import Empty
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from queue import SimpleQueue

    from failsoft.stores.tables import Tables

__all__ = [
    "Job",
    "Outcome",
    "answer_failed",
    "attempt",
    "call_safely",
    "outcomes_of",
    "take",
    "unavailable",
    "wake",
    "wake_here",
]

Outcome = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Any, BaseException | None]
"""A waiter's loop and future, and the value or the error for it."""

_log = logging.getLogger("failsoft.stores")


class Job:
    """A plain class and no record: two are made for every protected call.

    Args:
        work: Runs inside of a transaction.
        pending: What the waiter gets where the engine is in trouble and the work is kept.
        is_kept: Whether the work is tried again until it is durable.
    """

    __slots__ = ("error", "future", "is_kept", "is_late", "loop", "on_done", "pending", "value", "work")

    def __init__(
        self,
        work: Callable[[Tables], Any],
        *,
        on_done: Callable[[Any], object] | None = None,
        pending: Any = None,
        is_kept: bool = False,
    ) -> None:
        self.work = work
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | None = None
        self.on_done = on_done
        self.pending = pending
        self.is_kept = is_kept
        self.is_late = False
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def is_dropped(self) -> bool:
        """Whether its waiter went away before it was begun, and nothing is lost by leaving it."""
        return not self.is_kept and self.future is not None and self.future.cancelled()


def take(queue: SimpleQueue[Job], most: int, timeout_s: float | None) -> list[Job]:
    """What has queued up, waiting for the first of it; nothing where none came in time."""
    batch: list[Job] = []
    try:
        batch.append(queue.get(timeout=timeout_s))
        while len(batch) < most:
            batch.append(queue.get_nowait())
    except Empty:
        pass
    return batch


def attempt(job: Job, tables: Tables) -> None:
    """Run the work; an `AgentError` is its answer, such as "no such doubt": operations raise before they write."""
    job.error = None
    try:
        job.value = job.work(tables)
    except AgentError as error:
        job.error = error


def answer_failed(jobs: Iterable[Job], error: Exception, *, is_unknown: bool) -> None:
    """What their waiters get where nothing could be written."""
    for job in jobs:
        job.value = job.pending
        job.error = None if job.is_kept else unavailable(error, is_unknown=is_unknown)


def outcomes_of(jobs: Iterable[Job]) -> list[Outcome]:
    """What to tell the waiters of `jobs`, as it is now."""
    return [
        (job.loop, job.future, job.value, job.error)
        for job in jobs
        if job.loop is not None and job.future is not None
    ]


def wake(outcomes: Iterable[Outcome]) -> None:
    """Wake the waiters from another thread: once for each loop, not for each of them."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any, Any]]] = defaultdict(list)
    for loop, future, value, error in outcomes:
        loops[loop].append((future, value, error))
    for loop, found in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed, nobody waits
            loop.call_soon_threadsafe(_settle, found)


def wake_here(jobs: Iterable[Job]) -> None:
    """Wake the waiters of the loop that this runs on."""
    _settle((job.future, job.value, job.error) for job in jobs)


def _settle(outcomes: Iterable[tuple[Any, Any, BaseException | None]]) -> None:
    for future, value, error in outcomes:
        if future is None or future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def call_safely(fn: Callable[[Any], object], value: Any) -> None:
    """Call somebody's callback; what it raises is logged and goes no further."""
    try:
        fn(value)
    except Exception:
        _log.exception("a callback of the store raised")


def unavailable(cause: Exception, *, is_unknown: bool = False) -> AgentError:
    """The claim could not be made durable, so the effect must not begin.

    Args:
        is_unknown: The connection was lost during the commit: what was asked for may be in the store.
    """
    error = make_error(
        "unavailable",
        "The ledger cannot be written, so nothing was done.",
        reason="ledger_unavailable",
        domain="runtime",
        effect="none",
        context={"store": str(cause), **({"may_be_written": True} if is_unknown else {})},
    )
    error.__cause__ = cause
    return error
