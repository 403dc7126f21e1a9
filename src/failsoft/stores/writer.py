"""One thread that owns one connection and commits whatever has queued up as one group.

A synchronous commit costs a disk's sync; those who wait at the same time share it. Nothing here knows SQL.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import weakref
from collections import defaultdict
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from failsoft.core.errors import AgentError, UsageError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.stores.tables import Tables

__all__ = ["Connection", "Trouble", "Writer"]

T = TypeVar("T")
_log = logging.getLogger("failsoft.stores")

_MAX_BATCH = 512
_RETRY_S = 0.5
_EXIT_WAIT_S = 5.0


class Connection(Protocol):
    """An engine's connection, used by one thread."""

    @property
    def tables(self) -> Tables:
        """The rows, inside of the transaction."""
        ...

    def begin(self) -> None:
        """Begin a transaction that may write."""
        ...

    def commit(self) -> None:
        """Make it durable."""
        ...

    def rollback(self) -> None:
        """Undo it; never raises."""
        ...

    def is_lost(self, error: BaseException) -> bool:
        """Whether a new connection is needed after this error."""
        ...

    def is_trouble(self, error: BaseException) -> bool:
        """Whether this error is the engine's, and may pass; False for a fault in the work itself."""
        ...

    def close(self) -> None:
        """Let go; never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that a store could not do in the background.

    Args:
        what: `settlement_pending` (will be tried again), `settlement_lost` (given up at close; the claim will lapse
            into a doubt), or `journal_lost`.
        count: How many records it is about.
        error: What the engine said.
    """

    what: str
    count: int = 1
    error: BaseException | None = None


class _Job:
    """One piece of work and whoever waits for it. A plain class: two are made for every protected call."""

    __slots__ = ("error", "future", "is_kept", "is_late", "loop", "on_done", "pending", "value", "work")

    def __init__(self, work: Callable[[Tables], Any]) -> None:
        self.work = work
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | None = None
        self.on_done: Callable[[Any], object] | None = None
        self.pending: Any = None
        self.is_kept = False
        self.is_late = False
        self.value: Any = None
        self.error: BaseException | None = None


class Writer:
    """Runs work in the order in which it came; usable from any thread and any event loop.

    Args:
        connect: Opens the connection, on the writer's thread, when first needed and after it was lost.
        name: For the thread.
    """

    def __init__(self, connect: Callable[[], Connection], *, name: str) -> None:
        self.on_trouble: Callable[[Trouble], object] | None = None
        self._connect = connect
        self._name = name
        self._queue: SimpleQueue[_Job] = SimpleQueue()
        self._kept: list[_Job] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None
        self._last_error: Exception | None = None
        self._is_closed = False
        self._pid = os.getpid()
        atexit.register(_flush_at_exit, weakref.ref(self))

    async def run(self, work: Callable[[Tables], T], *, pending: T | None = None) -> T:
        """Run `work` and wait until it is durable.

        Args:
            pending: Given back, instead of raising, where the engine is in trouble; the work is then tried again.

        Raises:
            AgentError: What `work` raised, or kind `unavailable` where the engine is in trouble.
        """
        job = _Job(work)
        job.loop = asyncio.get_running_loop()
        job.future = job.loop.create_future()
        job.pending, job.is_kept = pending, pending is not None
        self._put(job)
        value: T = await job.future
        return value

    def run_soon(self, work: Callable[[Tables], T], on_done: Callable[[T], object] | None = None) -> None:
        """Run `work` soon, and again until it is durable; `on_done` is called on the writer's thread."""
        job = _Job(work)
        job.on_done, job.is_kept = on_done, True
        self._put(job)

    async def close(self) -> None:
        """Do what is queued, then let go of the connection. Work that comes later opens it for itself."""
        if self._thread is None and not self._kept:
            self._is_closed = True
            return
        self._is_closed = True
        await self.run(lambda _: None, pending=None)
        thread = self._thread
        if thread is not None:
            # It has nothing left to do but to let go of the connection.
            await asyncio.to_thread(thread.join, _EXIT_WAIT_S)

    def flush(self, timeout_s: float) -> bool:
        """The same without an event loop; False when `timeout_s` seconds were not enough."""
        thread = self._thread
        self._is_closed = True
        if thread is None:
            return True
        with contextlib.suppress(RuntimeError):  # the interpreter no longer starts threads
            self.run_soon(lambda _: None)
        thread.join(timeout_s)
        return not thread.is_alive()

    def _put(self, job: _Job) -> None:
        if self._pid != os.getpid():
            raise UsageError(
                "this store was opened before a fork, and a connection cannot be shared with a child process\n\n"
                "hint: open the store, or make the Harness, in the child"
            )
        with self._lock:
            self._queue.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            batch = self._take()
            if batch or self._kept:
                self._do(batch)
            with self._lock:
                if self._is_closed and self._queue.empty():
                    self._give_up()
                    self._thread = None
                    return

    def _take(self) -> list[_Job]:
        batch: list[_Job] = []
        try:
            batch.append(self._queue.get(timeout=_RETRY_S if self._kept else None))
            while len(batch) < _MAX_BATCH:
                batch.append(self._queue.get_nowait())
        except Empty:
            pass
        return batch

    def _do(self, batch: list[_Job]) -> None:
        """All of it in one transaction; where one piece of work breaks that, each in its own."""
        # What was kept is older, and may be the settlement of a key that is asked for again.
        batch, self._kept = [*self._kept, *batch], []
        try:
            connection = self._open()
            connection.begin()
        except Exception as error:
            self._lose(error)
            return self._fail(batch, error, may_pass=True)
        try:
            for job in batch:
                _try(job, connection.tables)
            connection.commit()
        except Exception as error:
            connection.rollback()
            may_pass = connection.is_trouble(error)
            self._lose(error)
            if len(batch) == 1 or may_pass:
                return self._fail(batch, error, may_pass=may_pass)
            for job in batch:
                self._do([job])
            return None
        self._deliver(batch)
        return None

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _lose(self, error: BaseException) -> None:
        connection = self._connection
        if connection is not None and connection.is_lost(error):
            connection.close()
            self._connection = None

    def _fail(self, batch: list[_Job], error: Exception, *, may_pass: bool) -> None:
        """Answer those who wait; keep what must be written in the end."""
        kept = [job for job in batch if job.is_kept and may_pass]
        lost = [job for job in batch if job.is_kept and not may_pass]
        fresh = [job for job in kept if not job.is_late]
        for job in batch:
            job.value = job.pending
            job.error = None if job.is_kept else _unavailable(error)
        self._wake([job for job in batch if job.future is not None])
        for job in kept:
            job.future, job.is_late = None, True
        self._kept += kept
        for what, jobs in (("settlement_pending", fresh), ("settlement_lost", lost)):
            if jobs:
                self._report(Trouble(what=what, count=len(jobs), error=error))
        self._last_error = error

    def _give_up(self) -> None:
        if self._kept:
            kept, self._kept = self._kept, []
            self._report(Trouble(what="settlement_lost", count=len(kept), error=self._last_error))
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _report(self, trouble: Trouble) -> None:
        _log.error("store %s: %s (%d): %s", self._name, trouble.what, trouble.count, trouble.error)
        if self.on_trouble is not None:
            _call(self.on_trouble, trouble)

    def _deliver(self, batch: list[_Job]) -> None:
        for job in batch:
            if job.on_done is not None:
                _call(job.on_done, job.value)
        self._wake([job for job in batch if job.future is not None])

    def _wake(self, batch: list[_Job]) -> None:
        """One wake-up for each loop, not for each job."""
        loops: dict[asyncio.AbstractEventLoop | None, list[tuple[Any, Any, Any]]] = defaultdict(list)
        for job in batch:
            loops[job.loop].append((job.future, job.value, job.error))
        for loop, outcomes in loops.items():
            if loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop was closed, nobody waits
                    loop.call_soon_threadsafe(_wake, outcomes)


def _try(job: _Job, tables: Tables) -> None:
    job.error = None
    try:
        job.value = job.work(tables)
    except AgentError as error:
        job.error = error  # an answer, such as "no such doubt"; the operations raise before they write


def _wake(outcomes: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _call(fn: Callable[[Any], object], value: Any) -> None:
    try:
        fn(value)
    except Exception:
        _log.exception("a callback of the store raised")


def _unavailable(cause: Exception) -> AgentError:
    error = make_error(
        "unavailable",
        "The ledger cannot be written, so nothing was done.",
        reason="ledger_unavailable",
        domain="runtime",
        effect="none",
        context={"store": str(cause)},
    )
    error.__cause__ = cause
    return error


def _flush_at_exit(writer: weakref.ref[Writer]) -> None:
    alive = writer()
    if alive is not None and alive._pid == os.getpid():
        alive.flush(_EXIT_WAIT_S)
