"""The workers of a `ProcessRunner` and the calls that wait for them.

Everything here is under one lock, which is never held while a body, a listener or another event loop is called.
A worker is starting (asked for, no process id yet), idle, busy, or dying: told to end, and not counted any more.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import Overloaded
from failsoft.isolation._handle import Handle, in_loop
from failsoft.isolation._link import Link
from failsoft.isolation.supervisor import signal_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.isolation._job import Body, ProcessJob

__all__ = ["Pool"]

log = logging.getLogger("failsoft.isolation")

_START_S = 10.0  # an import that takes longer is taken for one that hangs


class Pool:
    """Hands calls to workers, and keeps as many workers as are needed.

    Args:
        max_workers: Calls at work at once.
        spares: Idle workers beyond the busy ones.
        max_calls: Calls after which a worker is replaced.
        kill_after_s: Seconds between SIGTERM and SIGKILL.
        grace_s: Seconds that `abandon` waits for the end of a killed worker.
        stdout: Where what bodies print goes.
        options: What a worker needs to know; see `_worker.Worker`.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        spares: int,
        max_calls: int,
        kill_after_s: float,
        grace_s: float,
        stdout: str,
        options: Mapping[str, Any],
    ) -> None:
        self.grace_s = grace_s
        self._max_workers, self._spares, self._max_calls = max_workers, spares, max_calls
        self._kill_after_s, self._stdout, self._options = kill_after_s, stdout, options
        self._tokens = itertools.count(1)
        self._lock = threading.RLock()
        self.bodies: dict[Callable[..., Any], Body] = {}
        self.handles: dict[int, Handle] = {}
        self.idle: list[Handle] = []
        self.queue: deque[ProcessJob] = deque()
        self.busy = self.killed = self.died = self.recycled = 0
        self.closed = False
        self.link: Link | None = None
        self._preload = True
        self._free_bells: list[Callable[[], object]] = []
        self._gone_bells: list[Callable[[], object]] = []

    # ---- what the runner uses

    def know(self, fn: Callable[..., Any], body: Body) -> None:
        """Have a body imported before the next worker is made."""
        with self._lock:
            self.bodies[fn] = body
            if self.link is not None and self._preload:
                self.link.load(body.address)

    def put(self, job: ProcessJob, max_queued: int) -> None:
        """Give a call to a worker, or have it wait.

        Raises:
            Overloaded: `max_queued` calls wait already.
        """
        with self._lock:
            handle = self._at_once(job)
            if handle is None and len(self.queue) >= max_queued:
                raise Overloaded("too many calls wait for a worker process", reason="queue_full")
            if handle is None:
                self.queue.append(job)
        if handle is None:
            self.go_on()
            return
        job.begin(handle)
        if len(self.idle) < self._spares:
            self.grow()

    def _at_once(self, job: ProcessJob) -> Handle | None:
        """Under the lock: the usual case, an idle worker in the same event loop and nobody before."""
        if (
            self.queue
            or not self.idle
            or self.busy >= self._max_workers
            or self.idle[-1].loop is not job.loop
        ):
            return None
        handle = self.idle.pop()
        handle.job = job
        self.busy += 1
        return handle

    async def close(self, grace_s: float) -> None:
        """Wait `grace_s` seconds at most for the calls at work, then kill every worker and the supervisor."""
        loop, free, gone = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        with self._lock:
            self.closed = True
            queued, link = list(self.queue), self.link
            self.queue.clear()
            self._free_bells.append(lambda: loop.call_soon_threadsafe(free.set))
            self._gone_bells.append(lambda: loop.call_soon_threadsafe(gone.set))
        _refuse(queued, Overloaded("the runner was closed before the call began", reason="closed"))
        self._ring_free()
        await _within(free, grace_s)
        if link is not None and self.link is link:
            link.close()
            await _within(gone, 3.0)
            link.join(0.2)

    # ---- what jobs and handles use

    def again(self, job: ProcessJob, handle: Handle) -> None:
        """A worker was gone before it got the call: give it to another one."""
        with self._lock:
            self._lose(handle)
            handle.job = None
        self.queue_again(job)

    def queue_again(self, job: ProcessJob) -> None:
        """Put a call that never began before all others."""
        with self._lock:
            self.queue.appendleft(job)
        self.go_on()

    def give_back(self, handle: Handle) -> None:
        """A call was dropped before its worker got it."""
        with self._lock:
            self.busy -= 1
            handle.job = None
            if not handle.dying:
                self.idle.append(handle)
        self.go_on()

    def done(self, handle: Handle, last: bool) -> None:
        """A call has its answer."""
        with self._lock:
            if handle.dying:
                return  # its job also waits for its end
            handle.job = None
            handle.calls += 1
            self.busy -= 1
            if last or handle.calls >= self._max_calls or self.closed:
                handle.dying = True
                self.recycled += 1
                handle.let_go()
            else:
                self.idle.append(handle)
                if not self.queue:
                    return  # the usual end of a call
        self.go_on()

    def condemn(self, handle: Handle, grace_s: float) -> None:
        """Kill a worker; its place is free at once."""
        with self._lock:
            self._lose(handle)
            handle.condemned = True
            self.killed += 1
            link = self.link
        if link is not None and handle.pid:
            link.kill(handle.pid, min(self._kill_after_s, grace_s))
        self.go_on()

    def drop(self, job: ProcessJob) -> None:
        """A call gave up waiting: a zygote that hangs in an import is replaced by one that imports nothing."""
        now = time.monotonic()
        with self._lock:
            if job in self.queue:
                self.queue.remove(job)
            hangs = any(not handle.pid and now - handle.born > _START_S for handle in self.handles.values())
            if hangs and self.link is not None:
                self.link.stop_zygote()

    # ---- the flow of calls and workers

    def _lose(self, handle: Handle) -> None:
        """Under the lock: a busy worker will not be free again."""
        if not handle.dying:
            handle.dying = True
            self.busy -= 1

    def go_on(self) -> None:
        """Give queued calls to idle workers, and make workers where some are missing."""
        with self._lock:
            pairs = []
            while self.queue and self.idle and self.busy < self._max_workers:
                job = self.queue.popleft()
                handle = self._pick(job.loop)
                handle.job = job
                self.busy += 1
                pairs.append((job, handle))
        for job, handle in pairs:
            if not in_loop(job.loop, job.begin, handle):
                self.give_back(handle)
        if len(self.idle) < self._spares or self.queue:
            self.grow()
        if self._free_bells:
            self._ring_free()

    def _pick(self, loop: asyncio.AbstractEventLoop) -> Handle:
        for i in range(len(self.idle) - 1, -1, -1):
            if self.idle[i].loop is loop:
                return self.idle.pop(i)
        return self.idle.pop()

    def grow(self) -> None:
        """Ask for the workers that are missing."""
        refused: list[ProcessJob] = []
        with self._lock:
            if self.closed:
                return
            alive = sum(not handle.dying for handle in self.handles.values())
            wanted = min(self._max_workers, self.busy + len(self.queue)) + self._spares
            try:
                for _ in range(max(wanted, 1) - alive):
                    self._ask_for_worker()
            except OSError:
                log.exception("a worker process could not be made")
                if not self.handles:
                    refused = list(self.queue)
                    self.queue.clear()
        _refuse(refused, Overloaded("the system refuses another process", reason="no_processes"))

    def _ask_for_worker(self) -> None:
        link = self.link or self._connect()
        handle = Handle(next(self._tokens), time.monotonic(), self.done)
        with handle.open() as other:
            self.handles[handle.token] = handle
            link.fork(handle.token, {**self._options, "log_level": logging.root.level}, other)

    def _connect(self) -> Link:
        link = self.link = Link(self, self._stdout)
        weakref.finalize(self, _end, link)
        if self._preload:
            for body in self.bodies.values():
                link.load(body.address)
        return link

    def _ring_free(self) -> None:
        if not self.busy:
            _ring(self._free_bells)

    # ---- what the link tells, from its thread

    def worker_up(self, token: int, pid: int) -> None:
        """A worker exists."""
        with self._lock:
            handle = self.handles.get(token)
            if handle is None:
                return
            if pid < 0:
                del self.handles[token]
                handle.end(0)
                refused = list(self.queue) if not self.busy else []
                for job in refused:
                    self.queue.remove(job)
            else:
                handle.pid = pid
                self.idle.append(handle)
                refused = []
        for job in refused:
            in_loop(
                job.loop, job.refuse, Overloaded("the system refuses another process", reason="no_processes")
            )
        if pid > 0:
            self.go_on()

    def worker_exit(self, pid: int, status: int) -> None:
        """A worker has ended, and everything below it."""
        with self._lock:
            handle = next((handle for handle in self.handles.values() if handle.pid == pid), None)
            if handle is None:
                return
            del self.handles[handle.token]
            if handle in self.idle:
                self.idle.remove(handle)
                handle.dying = True
            elif not handle.dying:
                self.died += 1
                self._lose(handle)
        if not in_loop(handle.loop, handle.end, status):
            handle.end(status)
        self.go_on()

    def zygote_exit(self, status: int) -> None:
        """The process that imports the tools has ended: a module of theirs crashed it, or hung and was killed."""
        with self._lock:
            lost = [handle for handle in self.handles.values() if not handle.pid]
            for handle in lost:
                del self.handles[handle.token]
            link, closed = self.link, self.closed
            self._preload = False
        for handle in lost:
            handle.end(status)
        if link is not None and not closed:
            log.error(
                "importing the tools for their processes failed; from now on each worker imports them itself"
            )
            link.renew()
            self.go_on()

    def lost(self) -> None:
        """The supervisor has ended, and the workers with it."""
        with self._lock:
            handles = list(self.handles.values())
            self.handles.clear()
            self.idle.clear()
            self.busy = 0
            self.link = None
            for handle in handles:
                handle.dying = True
        signal_all([handle.pid for handle in handles if handle.pid], signal.SIGKILL, os.killpg)
        for handle in handles:
            if not in_loop(handle.loop, handle.end, signal.SIGKILL):
                handle.end(signal.SIGKILL)
        if not self.closed:
            log.error(
                "the supervisor of the worker processes was killed; a new one is started when it is needed"
            )
            if self.queue:
                self.go_on()
        self._ring_free()
        _ring(self._gone_bells)


def _ring(bells: list[Callable[[], object]]) -> None:
    for bell in bells:
        try:
            bell()
        except RuntimeError:
            log.debug("the event loop that closes the workers is gone")


def _refuse(jobs: list[ProcessJob], error: Overloaded) -> None:
    for job in jobs:
        in_loop(job.loop, job.refuse, error)


async def _within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        log.debug("did not end within %s s", seconds)


def _end(link: Link) -> None:
    """For a runner that nobody closed: at its collection, or at the end of the program."""
    link.close()
    link.join(2.0)
