"""Bodies in worker processes: stopped for certain, with everything that they started.

A worker serves one call at a time over a socket pair of its own, so that no lock or queue is shared with one that
is killed. Workers are forked by a process that has the tools imported, one more than needed, so that the next call
never waits for a kill. See `supervisor.py` for who owns them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import UsageError
from failsoft.isolation._job import Body, ProcessJob
from failsoft.isolation._pool import Pool
from failsoft.isolation.importable import check_importable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.context import CallContext

__all__ = ["ProcessJob", "ProcessRunner", "ProcessStats", "check_importable"]


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
        options = {
            "memory_mb": memory_mb,
            "cpu_s": cpu_s,
            "max_growth_mb": max_growth_mb,
            "max_result_bytes": max_result_bytes,
        }
        self._max_queued = max_queued
        self._pid = os.getpid()
        self._pool = Pool(
            max_workers=max_workers or max(2, os.cpu_count() or 1),
            spares=spares,
            max_calls=max_calls,
            kill_after_s=kill_after_s,
            grace_s=grace_s,
            stdout=stdout,
            options=options,
        )

    def prepare(self, fn: Callable[..., Any]) -> None:
        """Look whether workers can find a body, and have it imported before the first worker is made.

        Raises:
            UsageError: They cannot; the message says why.
        """
        if fn not in self._pool.bodies:
            self._pool.know(fn, Body(fn))

    def begin(self) -> None:
        """Start the workers, and wait for none."""
        self._pool.grow()

    async def warm(self, timeout_s: float = 30.0) -> None:
        """Start the workers and wait until one is ready, so that the first call need not.

        Raises:
            TimeoutError: None is ready after `timeout_s` seconds.
        """
        self.begin()
        async with asyncio.timeout(timeout_s):
            while not self._pool.idle:  # noqa: ASYNC110 - once in the life of a harness
                await asyncio.sleep(0.002)

    def start(self, fn: Callable[..., Any], values: Mapping[str, Any], call: CallContext) -> ProcessJob:
        """Run `fn(**values)` in a worker, or queue it; needs a running event loop.

        Raises:
            Overloaded: `max_queued` is reached.
            UsageError: The body or an argument cannot be handed to a worker, or the runner is closed.
        """
        pool = self._pool
        if pool.closed or self._pid != os.getpid():
            raise UsageError("this ProcessRunner is closed, or belongs to another process; make a new one")
        body = pool.bodies.get(fn)
        if body is None:
            self.prepare(fn)
            body = pool.bodies[fn]
        job = ProcessJob(pool, body, body.codec.write(values), call, asyncio.get_running_loop())
        pool.put(job, self._max_queued)
        return job

    def stats(self) -> ProcessStats:
        """Counts as of now."""
        pool = self._pool
        handles, link = list(pool.handles.values()), pool.link
        return ProcessStats(
            workers=len(handles),
            idle=len(pool.idle),
            busy=pool.busy,
            queued=len(pool.queue),
            dying=sum(handle.dying for handle in handles),
            killed_total=pool.killed,
            died_total=pool.died,
            recycled_total=pool.recycled,
            supervisor_pid=None if link is None else link.pid,
            pids=tuple(handle.pid for handle in handles if handle.pid),
        )

    async def aclose(self, grace_s: float = 1.0) -> None:
        """Wait `grace_s` seconds at most for the calls at work, then kill every worker and the supervisor."""
        await self._pool.close(grace_s)

    def __repr__(self) -> str:
        return f"ProcessRunner({self.stats()!r})"
