"""Bodies in worker processes: stopped for certain, with everything that they started.

A worker serves one call at a time over a socket pair of its own, so that no lock or queue is shared with one that
is killed. Workers are forked by a process that has the tools imported, one more than needed, so that the next call
never waits for a kill. See `supervisor.py` for who owns them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import sys
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import Overloaded, UsageError
from failsoft.isolation._handle import Handle
from failsoft.isolation._job import Body, ProcessJob
from failsoft.isolation.importable import check_importable
from failsoft.isolation.supervisor import signal_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.context import CallContext
    from failsoft.isolation._link import Link

__all__ = ["ProcessJob", "ProcessRunner", "ProcessStats", "check_importable"]

log = logging.getLogger("failsoft.isolation")

_START_S = 10.0  # an import that takes longer is taken for one that hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStats:
    """What a `ProcessRunner` is doing.

    Args:
        workers: Worker processes that exist or are being made.
        idle: Those that wait for a call.
        busy: Calls at work.
        queued: Calls that wait for a worker.
        dying: Workers that were told to end and have not yet.
        killed_total: How many were killed, after time-outs and cancels.
        died_total: How many ended by themselves in a call.
        recycled_total: How many were used up.
        supervisor_pid: The supervisor's process id; None before the first call.
        pids: The workers' process ids.
    """

    workers: int
    idle: int
    busy: int
    queued: int
    dying: int
    killed_total: int
    died_total: int
    recycled_total: int
    supervisor_pid: int | None
    pids: tuple[int, ...]


class ProcessRunner:
    """Runs importable bodies in warm worker processes. Usable from several event loops at once.

    Args:
        max_workers: Calls at work at once; None: one a processor, at least 2.
        spares: Idle workers to have ready beyond the busy ones.
        memory_mb: MiB that a worker may have more than when it was new; Linux only.
        cpu_s: Seconds of processor time a call may use, rounded up.
        max_calls: Calls after which a worker is replaced.
        max_growth_mb: MiB by which a worker's peak may grow before it is replaced.
        max_result_bytes: Largest result, as written.
        kill_after_s: Seconds between SIGTERM and SIGKILL.
        grace_s: Seconds that `abandon` waits for the end of a killed worker.
        max_queued: Calls that may wait for a worker; beyond, new ones are refused.
        stdout: Where what bodies print goes: nowhere, so that nobody has to read it, or to standard error.

    Raises:
        UsageError: On Windows, or for a number that cannot work.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        spares: int = 1,
        memory_mb: int | None = None,
        cpu_s: float | None = None,
        max_calls: int = 10_000,
        max_growth_mb: int = 512,
        max_result_bytes: int = 64 << 20,
        kill_after_s: float = 0.1,
        grace_s: float = 1.0,
        max_queued: int = 10_000,
        stdout: Literal["discard", "stderr"] = "discard",
    ) -> None:
        if sys.platform == "win32":
            raise UsageError("isolation='process' needs Linux or macOS\n\nhint: use isolation='thread'")
        if min(max_workers or 1, max_calls, max_queued, max_result_bytes, max_growth_mb) < 1 or spares < 0:
            raise UsageError(
                "max_workers, max_calls, max_queued, max_result_bytes must be at least 1, spares 0"
            )
        self.grace_s = grace_s
        self._max_workers = max_workers or max(2, os.cpu_count() or 1)
        self._spares, self._max_calls, self._max_queued = spares, max_calls, max_queued
        self._kill_after_s, self._stdout = kill_after_s, stdout
        self._options = {
            "memory_mb": memory_mb,
            "cpu_s": cpu_s,
            "max_growth_mb": max_growth_mb,
            "max_result_bytes": max_result_bytes,
        }
        self._tokens = itertools.count(1)
        self._bodies: dict[Callable[..., Any], Body] = {}
        self._lock = threading.RLock()
        self._handles: dict[int, Handle] = {}
        self._idle: list[Handle] = []
        self._queue: deque[ProcessJob] = deque()
        self._busy = self._killed = self._died = self._recycled = 0
        self._preload = True
        self._closed = False
        self._free_bells: list[Callable[[], object]] = []
        self._gone_bells: list[Callable[[], object]] = []
        self._link: Link | None = None
        self._pid = os.getpid()

    # ---- what callers use

    def prepare(self, fn: Callable[..., Any]) -> None:
        """Look whether workers can find a body, and have it imported before the first worker is made.

        Raises:
            UsageError: They cannot; the message says why.
        """
        if fn not in self._bodies:
            body = Body(fn)
            with self._lock:
                self._bodies[fn] = body
                if self._link is not None and self._preload:
                    self._link.load(body.address)

    async def warm(self, timeout_s: float = 30.0) -> None:
        """Start the workers and wait until one is ready, so that the first call need not.

        Raises:
            TimeoutError: None is ready after `timeout_s` seconds.
        """
        self._grow()
        async with asyncio.timeout(timeout_s):
            while not self._idle:  # noqa: ASYNC110 - once in the life of a harness
                await asyncio.sleep(0.002)

    def start(self, fn: Callable[..., Any], values: Mapping[str, Any], call: CallContext) -> ProcessJob:
        """Run `fn(**values)` in a worker, or queue it; needs a running event loop.

        Raises:
            Overloaded: `max_queued` is reached.
            UsageError: The body or an argument cannot be handed to a worker, or the runner is closed.
        """
        if self._closed or self._pid != os.getpid():
            raise UsageError("this ProcessRunner is closed, or belongs to another process; make a new one")
        if fn not in self._bodies:
            self.prepare(fn)
        body = self._bodies[fn]
        job = ProcessJob(self, body, body.codec.write(values), call)
        with self._lock:
            if len(self._queue) >= self._max_queued:
                raise Overloaded("too many calls wait for a worker process", reason="queue_full")
            self._queue.append(job)
        self._go_on()
        return job

    def stats(self) -> ProcessStats:
        """Counts as of now."""
        with self._lock:
            handles = list(self._handles.values())
            return ProcessStats(
                workers=len(handles),
                idle=len(self._idle),
                busy=self._busy,
                queued=sum(not job.started for job in self._queue),
                dying=sum(handle.dying for handle in handles),
                killed_total=self._killed,
                died_total=self._died,
                recycled_total=self._recycled,
                supervisor_pid=None if self._link is None else self._link.pid,
                pids=tuple(handle.pid for handle in handles if handle.pid),
            )

    async def aclose(self, grace_s: float = 1.0) -> None:
        """Wait `grace_s` seconds at most for the calls at work, then kill every worker and the supervisor."""
        loop, free, gone = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        with self._lock:
            self._closed = True
            queued, link = list(self._queue), self._link
            self._queue.clear()
            self._free_bells.append(lambda: loop.call_soon_threadsafe(free.set))
            self._gone_bells.append(lambda: loop.call_soon_threadsafe(gone.set))
        for job in queued:
            _in_loop(
                job.loop,
                job.refuse,
                Overloaded("the runner was closed before the call began", reason="closed"),
            )
        self._ring_free()
        await _within(free, grace_s)
        if link is not None and self._link is link:
            link.close()
            await _within(gone, 3.0)
            link.join(0.2)

    # ---- what jobs and handles use

    def is_alone(self) -> bool:
        """Whether one call at most is at work."""
        return self._busy == 1

    def again(self, job: ProcessJob, handle: Handle) -> None:
        """A worker was gone before it got the call: give it to another one."""
        with self._lock:
            self._lose(handle)
            handle.job = None
        self.queue_again(job)

    def queue_again(self, job: ProcessJob) -> None:
        """Put a call that never began before all others."""
        with self._lock:
            self._queue.appendleft(job)
        self._go_on()

    def give_back(self, handle: Handle) -> None:
        """A call was dropped before its worker got it."""
        with self._lock:
            self._busy -= 1
            handle.job = None
            if not handle.dying:
                self._idle.append(handle)
        self._go_on()

    def done(self, handle: Handle, last: bool) -> None:
        """A call has its answer."""
        with self._lock:
            if handle.dying:
                return  # its job also waits for its end
            handle.job = None
            handle.calls += 1
            self._busy -= 1
            if last or handle.calls >= self._max_calls or self._closed:
                handle.dying = True
                self._recycled += 1
                handle.let_go()
            else:
                self._idle.append(handle)
                if not self._queue:
                    return  # the usual end of a call
        self._go_on()

    def condemn(self, handle: Handle, grace_s: float) -> None:
        """Kill a worker; its place is free at once."""
        with self._lock:
            self._lose(handle)
            handle.condemned = True
            self._killed += 1
            link = self._link
        if link is not None and handle.pid:
            link.kill(handle.pid, min(self._kill_after_s, grace_s))
        self._go_on()

    def check_start(self) -> None:
        """A call gave up waiting for a worker: a zygote that hangs in an import is replaced by one that imports nothing."""
        now = time.monotonic()
        with self._lock:
            hangs = any(not handle.pid and now - handle.born > _START_S for handle in self._handles.values())
            if hangs and self._link is not None:
                self._link.stop_zygote()

    # ---- the flow of calls and workers

    def _lose(self, handle: Handle) -> None:
        """Under the lock: a busy worker will not be free again."""
        if not handle.dying:
            handle.dying = True
            self._busy -= 1

    def _go_on(self) -> None:
        """Give queued calls to idle workers, and make workers where some are missing."""
        with self._lock:
            pairs = []
            while self._queue and self._idle and self._busy < self._max_workers:
                job = self._queue.popleft()
                handle = self._pick(job.loop)
                handle.job = job
                self._busy += 1
                pairs.append((job, handle))
        for job, handle in pairs:
            if not _in_loop(job.loop, job.begin, handle):
                self.give_back(handle)
        if len(self._idle) < self._spares or self._queue:
            self._grow()
        if self._free_bells:
            self._ring_free()

    def _pick(self, loop: asyncio.AbstractEventLoop) -> Handle:
        for i in range(len(self._idle) - 1, -1, -1):
            if self._idle[i].loop is loop:
                return self._idle.pop(i)
        return self._idle.pop()

    def _grow(self) -> None:
        with self._lock:
            if self._closed:
                return
            alive = sum(not handle.dying for handle in self._handles.values())
            wanted = min(self._max_workers, self._busy + len(self._queue)) + self._spares
            link = self._link or self._connect()
            for _ in range(max(wanted, 1) - alive):
                handle = Handle(next(self._tokens), time.monotonic(), self.done)
                self._handles[handle.token] = handle
                with handle.open() as other:
                    link.fork(handle.token, {**self._options, "log_level": logging.root.level}, other)

    def _connect(self) -> Link:
        from failsoft.isolation._link import Link

        link = self._link = Link(_Ears(self), self._stdout)
        weakref.finalize(self, _end, link, self._handles)
        if self._preload:
            for body in self._bodies.values():
                link.load(body.address)
        return link

    def _ring_free(self) -> None:
        if not self._busy:
            _ring(self._free_bells)

    # ---- what the link tells, from its thread

    def worker_up(self, token: int, pid: int) -> None:
        """A worker exists."""
        with self._lock:
            handle = self._handles.get(token)
            if handle is None:
                return
            if pid < 0:
                del self._handles[token]
                handle.end(0)
                refused = list(self._queue) if not self._busy else []
                for job in refused:
                    self._queue.remove(job)
            else:
                handle.pid = pid
                self._idle.append(handle)
                refused = []
        for job in refused:
            _in_loop(
                job.loop, job.refuse, Overloaded("the system refuses another process", reason="no_processes")
            )
        if pid > 0:
            self._go_on()

    def worker_exit(self, pid: int, status: int) -> None:
        """A worker has ended, and everything below it."""
        with self._lock:
            handle = next((handle for handle in self._handles.values() if handle.pid == pid), None)
            if handle is None:
                return
            del self._handles[handle.token]
            if handle in self._idle:
                self._idle.remove(handle)
                handle.dying = True
            elif not handle.dying:
                self._died += 1
                self._lose(handle)
        if not _in_loop(handle.loop, handle.end, status):
            handle.end(status)
        self._go_on()

    def zygote_exit(self, status: int) -> None:
        """The process that imports the tools has ended: a module of theirs crashed it, or hung and was killed."""
        with self._lock:
            lost = [handle for handle in self._handles.values() if not handle.pid]
            for handle in lost:
                del self._handles[handle.token]
            link, closed = self._link, self._closed
            self._preload = False
        for handle in lost:
            handle.end(status)
        if link is not None and not closed:
            log.error(
                "importing the tools for their processes failed; from now on each worker imports them itself"
            )
            link.renew()
            self._go_on()

    def lost(self) -> None:
        """The supervisor has ended, and the workers with it."""
        with self._lock:
            handles = list(self._handles.values())
            self._handles.clear()
            self._idle.clear()
            self._busy = 0
            self._link = None
            for handle in handles:
                handle.dying = True
        signal_all([handle.pid for handle in handles if handle.pid], signal.SIGKILL, os.killpg)
        for handle in handles:
            if not _in_loop(handle.loop, handle.end, signal.SIGKILL):
                handle.end(signal.SIGKILL)
        if not self._closed:
            log.error(
                "the supervisor of the worker processes was killed; a new one is started when it is needed"
            )
            if self._queue:
                self._go_on()
        self._ring_free()
        _ring(self._gone_bells)

    def __repr__(self) -> str:
        return f"ProcessRunner(max_workers={self._max_workers}, {self.stats()!r})"


class _Ears:
    """Passes on what the link hears, without keeping the runner alive."""

    def __init__(self, runner: ProcessRunner) -> None:
        self._runner = weakref.ref(runner)

    def worker_up(self, token: int, pid: int) -> None:
        if (runner := self._runner()) is not None:
            runner.worker_up(token, pid)

    def worker_exit(self, pid: int, status: int) -> None:
        if (runner := self._runner()) is not None:
            runner.worker_exit(pid, status)

    def zygote_exit(self, status: int) -> None:
        if (runner := self._runner()) is not None:
            runner.zygote_exit(status)

    def lost(self) -> None:
        if (runner := self._runner()) is not None:
            runner.lost()


def _in_loop(loop: asyncio.AbstractEventLoop | None, fn: Callable[..., Any], *args: Any) -> bool:
    """Call in the thread of a loop, at once where that is this one; False where the loop is gone."""
    if loop is None or loop.is_closed():
        return False
    if asyncio._get_running_loop() is loop:
        fn(*args)
        return True
    try:
        loop.call_soon_threadsafe(fn, *args)
    except RuntimeError:
        return False
    return True


def _ring(bells: list[Callable[[], object]]) -> None:
    for bell in bells:
        try:
            bell()
        except RuntimeError:
            log.debug("the event loop that closes the workers is gone")


async def _within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        log.debug("did not end within %s s", seconds)


def _end(link: Link, handles: dict[int, Handle]) -> None:
    """For a runner that nobody closed: at its collection, or at the end of the program."""
    link.close()
    link.join(2.0)
    for handle in list(handles.values()):
        handle.end(signal.SIGKILL)
