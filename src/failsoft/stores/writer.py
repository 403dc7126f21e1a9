"""One connection, and group commit: whoever waits for a disk's sync at the same time shares it.

Work takes one of two lanes, both of which commit in groups:

    quick   on the caller's event loop, while the disk is quick and nobody else is at work: at once for a task that is
            alone in this turn of the loop, else at the end of the turn, for all tasks that asked during it
    queue   on the writer's own thread, otherwise

Nothing here knows SQL.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from queue import SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from failsoft.core.errors import AgentError, UsageError
from failsoft.stores.forking import keep_safe
from failsoft.stores.jobs import Job, answer_failed, attempt, call_safely, outcomes_of, take, wake, wake_here
from failsoft.stores.lane import Lane
from failsoft.stores.pace import Pace
from failsoft.stores.troubles import Troubles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.ledger.records import Found, Intent
    from failsoft.stores.connection import Connection
    from failsoft.stores.jobs import Outcome
    from failsoft.stores.tables import Tables

__all__ = ["Writer"]

T = TypeVar("T")

_MAX_BATCH = 512
_RETRY_S = 0.5
_EXIT_WAIT_S = 5.0
_FORK_WAIT_S = 10.0


class Writer:
    """Runs work in transactions; usable from any thread and any event loop.

    Args:
        connect: Opens the connection, on the writer's thread, when first needed and after it was lost.
        name: For the thread.
        may_block: Whether the quick lane is open at all.
    """

    def __init__(self, connect: Callable[[], Connection], *, name: str, may_block: bool = True) -> None:
        self.troubles = Troubles(name)
        self._connect = connect
        self._name = name
        self._may_block = may_block
        self._start_anew()
        _alive.add(self)
        keep_safe(self)

    def _start_anew(self) -> None:
        self._pace = Pace()
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._queued = 0  # in the queue, or being worked on by the thread
        self._kept: list[Job] = []
        self._calls: list[tuple[Callable[[Any], object], Any]] = []  # to be made when no lock is held
        self._outcomes: list[Outcome] = []
        self._starting = threading.Lock()
        self._at_work = threading.Lock()  # held by whoever uses the connection
        self._here = threading.local()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None
        self._last_error: Exception | None = None
        self._is_closed = False
        self._is_forking = False
        self._pid = os.getpid()

    def before_fork(self) -> None:
        """See `Forkable`. What is being written is waited for; what waits stays with the parent."""
        self._is_forking = self._pid == os.getpid() and self._at_work.acquire(timeout=_FORK_WAIT_S)
        if self._is_forking and self._connection is not None:
            self._connection.close()
            self._connection = None

    def after_fork(self, *, is_child: bool) -> None:
        """See `Forkable`. A child that got an open connection with it is refused for ever."""
        if self._is_forking:
            self._is_forking = False
            self._start_anew() if is_child else self._at_work.release()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or being tried again."""
        return self._queued == 0 and not self._kept

    async def run(self, work: Callable[[Tables], T], *, pending: T | None = None, is_long: bool = False) -> T:
        """Run `work` and wait until it is durable.

        Args:
            pending: Given back, instead of raising, where the engine is in trouble; the work is then tried again.
            is_long: Leave it to the thread in any case.

        Raises:
            AgentError: What `work` raised, or kind `unavailable` where the engine is in trouble.
        """
        loop = asyncio.get_running_loop()
        job = Job(work, pending=pending, is_kept=pending is not None)
        job.loop, job.future = loop, loop.create_future()
        if not is_long and self._is_quick():
            lane = self._lane_of(loop)
            if not lane.jobs:
                loop.call_soon(self._run_lane, lane)
            lane.jobs.append(job)
        else:
            self._put(job)
        return cast("T", await job.future)

    def at_once(self, work: Callable[..., T], *args: Any) -> tuple[T] | None:
        """Run `work` here and now, durable on return, where the quick lane lets this task go first.

        Returns:
            A tuple of its value; None where it has to queue, and nothing was done.
        """
        if not self._is_quick():
            return None
        lane = self._lane_of(asyncio.get_running_loop())
        if not lane.is_alone() or not self._at_work.acquire(blocking=False):
            return None
        connection = self._connection
        try:
            if connection is None:
                return None
            connection.begin(wait=False)
            value = work(connection.tables, *args)
            started = perf_counter()
            connection.commit()
        except BaseException as error:
            if connection is not None:
                connection.rollback()
            if isinstance(error, Exception):  # the ordinary way meets it too and has a name for it
                return None
            raise
        finally:
            self._at_work.release()
        self._note(lane, started)
        return (value,)

    def run_soon(
        self,
        work: Callable[[Tables], T],
        on_done: Callable[..., object] | None = None,
        *,
        is_kept: bool = True,
    ) -> None:
        """Run `work` soon; `on_done` is called on the writer's thread.

        Args:
            is_kept: Try again until it is durable; otherwise `on_done` is called with None where it failed.
        """
        self._put(Job(work, on_done=on_done, is_kept=is_kept))

    def found(self, intent: Intent) -> Found | None:
        """Look here and now; None where somebody is at work, or where that fails."""
        if not self._at_work.acquire(blocking=False):
            return None
        try:
            connection = self._connection
            if connection is None or self._pid != os.getpid():
                return None
            return connection.tables.found(intent)
        except Exception:  # whatever it is, the writer meets it too and has a name for it
            return None
        finally:
            self._at_work.release()

    async def close(self) -> None:
        """Do what is queued, then let go of the connection. Work that comes later opens it for itself."""
        self._is_closed = True
        if self._thread is None:
            return
        with contextlib.suppress(AgentError):  # what could not be written is reported as lost
            await self.run(_nothing)
        if (thread := self._thread) is not None:
            # It has nothing left to do but to let go of the connection.
            await asyncio.to_thread(thread.join, _EXIT_WAIT_S)

    def flush(self, timeout_s: float) -> bool:
        """The same without an event loop; False when `timeout_s` seconds were not enough."""
        self._is_closed = True
        if (thread := self._thread) is None:
            return True
        with contextlib.suppress(RuntimeError):  # the interpreter no longer starts threads
            self._put(Job(_nothing))
        thread.join(timeout_s)
        return not thread.is_alive()

    def _is_quick(self) -> bool:
        if self._connection is None or not self._may_block or self._is_closed or self._queued or self._kept:
            return False
        return self._pace.is_quick(perf_counter()) and self._pid == os.getpid()

    def _lane_of(self, loop: asyncio.AbstractEventLoop) -> Lane:
        lane: Lane | None = getattr(self._here, "lane", None)
        if lane is None or lane.loop is not loop:
            lane = self._here.lane = Lane(loop)
        return lane

    def _run_lane(self, lane: Lane) -> None:
        jobs, lane.jobs = lane.jobs, []
        lane.is_crowded = len(jobs) > 1
        jobs = [job for job in jobs if not job.is_dropped]
        if not jobs:
            return
        if self._run_now(jobs, lane):
            wake_here(jobs)
        else:
            for job in jobs:
                self._put(job)

    def _run_now(self, jobs: Sequence[Job], lane: Lane) -> bool:
        """Whether it worked out at the first go; all trouble is left to the thread."""
        if not self._at_work.acquire(blocking=False):
            return False
        try:
            connection = self._connection
            return connection is not None and self._commit_now(connection, jobs, lane)
        finally:
            self._at_work.release()

    def _commit_now(self, connection: Connection, jobs: Sequence[Job], lane: Lane) -> bool:
        try:
            connection.begin(wait=False)
            for job in jobs:
                attempt(job, connection.tables)
            started = perf_counter()
            connection.commit()
        except BaseException as error:
            connection.rollback()
            if isinstance(error, Exception):
                return False
            raise
        self._note(lane, started)
        return True

    def _note(self, lane: Lane, started: float) -> None:
        ended = perf_counter()
        lane.left_s -= ended - started
        self._pace.note(ended - started, ended)

    def _put(self, job: Job) -> None:
        if self._pid != os.getpid():
            raise UsageError(
                "this process was forked while the store could not let go of its connection, which a child must not use\n\n"
                "hint: start the child by 'spawn' or 'forkserver', or fork before the first call"
            )
        with self._starting:
            self._queued += 1
            self._queue.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while self._work_once():
            pass

    def _work_once(self) -> bool:
        """Do what has queued up, then tell; False when there will be no more."""
        taken = take(self._queue, _MAX_BATCH, _RETRY_S if self._kept else None)
        batch = [job for job in taken if not job.is_dropped]
        if batch or self._kept:
            with self._at_work:
                self._do(batch)
        with self._starting:
            self._queued -= len(taken)
            goes_on = not (self._is_closed and self._queue.empty())
            if not goes_on:
                with self._at_work:
                    self._give_up()
                self._thread = None
            calls, self._calls = self._calls, []
            outcomes, self._outcomes = self._outcomes, []
        # No lock is held: this is somebody's code, and whoever is woken finds the quick lane open.
        for fn, value in calls:
            call_safely(fn, value)
        wake(outcomes)
        return goes_on

    def _do(self, batch: list[Job]) -> None:
        """First what was kept: it is older, and may settle a key that is asked for again."""
        kept, self._kept = self._kept, []
        if kept:
            lost = self.troubles.stats().lost
            self._commit(kept)
            self._report(
                "settlement_written", len(kept) - len(self._kept) - (self.troubles.stats().lost - lost)
            )
        if batch:
            self._commit(batch)
        self.troubles.note_kept(len(self._kept))

    def _commit(self, batch: list[Job]) -> None:
        """All of it in one transaction; where one piece of work breaks that, each in its own."""
        try:
            connection = self._begin()
        except Exception as error:
            return self._fail(batch, error, may_pass=True)
        is_committing = False
        try:
            for job in batch:
                attempt(job, connection.tables)
            is_committing = True
            connection.commit()
        except Exception as error:
            connection.rollback()
            may_pass = connection.is_trouble(error)
            is_unknown = self._lose(error) and is_committing
            if len(batch) == 1 or may_pass:
                return self._fail(batch, error, may_pass=may_pass, is_unknown=is_unknown)
            for job in batch:
                self._commit([job])
            return None
        self._calls += [(job.on_done, job.value) for job in batch if job.on_done is not None]
        self._outcomes += outcomes_of(batch)
        return None

    def _begin(self) -> Connection:
        """Begin a transaction, on a new connection where the old one was lost while nobody looked."""
        is_fresh = self._connection is None
        while True:
            connection = self._connection = self._connection or self._connect()
            try:
                connection.begin(wait=True)
            except Exception as error:
                if not self._lose(error) or is_fresh:
                    raise
                is_fresh = True
            else:
                return connection

    def _lose(self, error: BaseException) -> bool:
        """Whether the connection had to be given up."""
        connection = self._connection
        if connection is None or not connection.is_lost(error):
            return False
        connection.close()
        self._connection = None
        return True

    def _fail(self, batch: list[Job], error: Exception, *, may_pass: bool, is_unknown: bool = False) -> None:
        """Answer those who wait; keep what must be written in the end."""
        kept = [job for job in batch if job.is_kept and may_pass]
        lost = [job for job in batch if job.is_kept and not may_pass]
        fresh = [job for job in kept if not job.is_late]
        answer_failed(batch, error, is_unknown=is_unknown)
        self._outcomes += outcomes_of(batch)
        self._calls += [(job.on_done, None) for job in batch if not job.is_kept and job.on_done is not None]
        for job in kept:
            job.future, job.is_late = None, True
        self._kept += kept
        self._last_error = error
        self._report("settlement_pending", len(fresh))
        self._report("settlement_lost", len(lost))

    def _give_up(self) -> None:
        kept, self._kept = self._kept, []
        self._report("settlement_lost", len(kept))
        self.troubles.note_kept(0)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _report(self, what: str, count: int) -> None:
        if count:
            error = None if what == "settlement_written" else self._last_error
            self._calls += self.troubles.note(what, count, error)


def _nothing(_: Any) -> None: ...


_alive: weakref.WeakSet[Writer] = weakref.WeakSet()


@atexit.register
def _flush_at_exit() -> None:
    for writer in list(_alive):
        if writer._pid == os.getpid():
            writer.flush(_EXIT_WAIT_S)
