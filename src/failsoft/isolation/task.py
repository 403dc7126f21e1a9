"""Async bodies in tasks of their own: cancelled once, given a grace, then abandoned.

For a body that swallows its cancel. Run in the caller's task, such a body makes its caller late; in a task of
its own it is left behind as a zombie, counted until it ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import Overloaded, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from failsoft.core.context import CallContext

__all__ = ["TaskJob", "TaskRunner", "TaskStats"]

log = logging.getLogger("failsoft.isolation")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStats:
    """What a `TaskRunner` is doing.

    Args:
        running: Bodies at work that somebody waits for.
        zombies: Bodies at work that nobody waits for any more.
        zombies_total: How many bodies ever became zombies.
    """

    running: int
    zombies: int
    zombies_total: int


class TaskJob:
    """One body in a task of its own."""

    __slots__ = (
        "_bell",
        "_done",
        "_error",
        "_on_end",
        "_runner",
        "_started",
        "_stopped",
        "_task",
        "_value",
        "_zombie",
    )

    def __init__(self, runner: TaskRunner, fn: Callable[..., Any], values: Mapping[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        self._runner = runner
        self._bell: asyncio.Future[None] = loop.create_future()
        self._value: Any = None
        self._error: BaseException | None = None
        self._on_end: Callable[[Any, BaseException | None], object] | None = None
        self._started = self._done = self._stopped = self._zombie = False
        self._task = loop.create_task(
            self._run(fn, values), name=f"failsoft {getattr(fn, '__name__', 'body')}"
        )
        self._task.add_done_callback(self._ended)

    @property
    def started(self) -> bool:
        """Whether the body has begun; a job that never began has had no effect."""
        return self._started

    @property
    def outcome(self) -> tuple[Any, BaseException | None] | None:
        """Value and error of a body that has ended by itself; None while it has not, or was stopped by a cancel."""
        return (self._value, self._error) if self._done and not self._stopped else None

    def __await__(self) -> Generator[Any, None, Any]:
        # Not the task itself: a cancel of the caller would pass into the body, unseen by `abandon`.
        yield from self._bell
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # a traceback refers to this frame, the frame to the job
        return self._value

    async def _run(self, fn: Callable[..., Any], values: Mapping[str, Any]) -> None:
        self._started = True
        try:
            self._value = await fn(**values)
        except asyncio.CancelledError as exc:
            self._error = exc
            self._stopped = self._on_end is not None
        except (
            BaseException
        ) as exc:  # Ctrl-C and exit too: they belong to whoever awaits, not to the event loop
            self._error = exc

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._done = True
        if task.cancelled():  # before its first step
            self._stopped = True
            self._error = asyncio.CancelledError()
        self._runner._ended(self)
        if not self._bell.done():
            self._bell.set_result(None)
        if self._zombie:
            self._tell()

    def _tell(self) -> None:
        if self._on_end is not None:
            try:
                self._on_end(self._value, self._error)
            except Exception:
                log.exception("taking note of a late outcome failed")

    async def abandon(
        self, on_end: Callable[[Any, BaseException | None], object], *, grace_s: float | None = None
    ) -> bool:
        """Cancel the body once and wait `grace_s` seconds for it (the runner's, where not given).

        True when it still runs: `on_end(value, error)` is called once, in the event loop, when it ends.
        A wait that is itself cancelled counts as True.
        """
        if self._done:
            return False
        self._on_end = on_end
        self._task.cancel()
        try:
            await asyncio.wait([self._task], timeout=self._runner.grace_s if grace_s is None else grace_s)
        except asyncio.CancelledError:
            self._leave()
            raise
        if not self._task.done():
            self._leave()
        return self._zombie

    def _leave(self) -> None:
        if self._done:
            self._tell()
        else:
            self._zombie = True
            self._runner._orphaned()

    def __repr__(self) -> str:
        state = "done" if self._done else "zombie" if self._zombie else "running" if self._started else "new"
        return f"TaskJob({state})"


class TaskRunner:
    """Runs async bodies in tasks of their own, in the event loop of the caller. Usable from several loops.

    Args:
        grace_s: Seconds that a cancelled body gets to clean up.
        max_zombies: Bodies that may run on unwaited-for; at the cap, new bodies are refused.
    """

    def __init__(self, *, grace_s: float = 1.0, max_zombies: int = 32) -> None:
        if max_zombies < 1 or grace_s < 0:
            raise UsageError("max_zombies must be at least 1, grace_s at least 0")
        self.grace_s = grace_s
        self._max_zombies = max_zombies
        self._lock = threading.Lock()
        self._jobs: set[TaskJob] = set()  # also keeps the tasks alive: a loop refers to them weakly
        self._zombies = self._zombies_total = 0
        self._closed = False

    def start(self, fn: Callable[..., Any], values: Mapping[str, Any], call: CallContext) -> TaskJob:
        """Begin `await fn(**values)` in a task; needs a running event loop.

        Raises:
            Overloaded: `max_zombies` is reached.
            UsageError: The runner is closed.
        """
        with self._lock:
            if self._closed:
                raise UsageError("this TaskRunner is closed; make a new one")
            if self._zombies >= self._max_zombies:
                raise Overloaded(
                    f"{self._zombies} calls that were cancelled are still running",
                    reason="too_many_zombies",
                    suggestion="Try again later. For the developer: the tool swallows CancelledError; let it pass, "
                    "or use isolation='process', which can stop it.",
                    context={"zombies": self._zombies, "max_zombies": self._max_zombies},
                )
            job = TaskJob(self, fn, values)
            self._jobs.add(job)
        return job

    def _orphaned(self) -> None:
        with self._lock:
            self._zombies += 1
            self._zombies_total += 1

    def _ended(self, job: TaskJob) -> None:
        with self._lock:
            self._jobs.discard(job)
            self._zombies -= job._zombie

    def stats(self) -> TaskStats:
        """Counts as of now."""
        with self._lock:
            return TaskStats(
                running=len(self._jobs) - self._zombies,
                zombies=self._zombies,
                zombies_total=self._zombies_total,
            )

    async def aclose(self, grace_s: float = 1.0) -> None:
        """Cancel every body and wait `grace_s` seconds at most; what swallows the cancel is left to end by itself.

        Bodies in other event loops are cancelled, but not waited for.
        """
        with self._lock:
            self._closed = True
            jobs = list(self._jobs)
        here, mine = asyncio.get_running_loop(), []
        for job in jobs:
            loop = job._task.get_loop()
            if loop is here:
                job._task.cancel()
                mine.append(job._task)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(job._task.cancel)
        if mine:
            await asyncio.wait(mine, timeout=grace_s)

    def __repr__(self) -> str:
        return f"TaskRunner(grace_s={self.grace_s}, {self.stats()!r})"
