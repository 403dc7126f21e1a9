"""Sync bodies in daemon threads: answered on time, never stopped, counted until they end.

A thread cannot be stopped from outside (an asynchronous exception may hit code after the body, and does not
reach C), so a body that nobody waits for any more is a zombie: it keeps its thread until it ends, and what it
ends with goes to `on_end`. Zombies do not count against `max_threads`; they have a cap of their own.

States of a job: queued → running → done; queued → dropped; running → zombie → done.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import Overloaded, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from failsoft.core.context import CallContext

__all__ = ["ThreadJob", "ThreadRunner", "ThreadStats"]

log = logging.getLogger("failsoft.isolation")

_QUEUED, _RUNNING, _DONE, _DROPPED, _ZOMBIE = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStats:
    """What a `ThreadRunner` is doing.

    Args:
        threads: Threads that exist, without those of zombies.
        idle: Threads that wait for work.
        running: Bodies at work that somebody waits for.
        queued: Bodies that wait for a thread.
        zombies: Bodies at work that nobody waits for any more.
        zombies_total: How many bodies ever became zombies.
    """

    threads: int
    idle: int
    running: int
    queued: int
    zombies: int
    zombies_total: int


class ThreadJob:
    """One body in a thread of a `ThreadRunner`."""

    __slots__ = ("_context", "_error", "_fn", "_future", "_on_end", "_runner", "_state", "_value", "_values")

    def __init__(self, runner: ThreadRunner, fn: Callable[..., Any], values: Mapping[str, Any]) -> None:
        self._runner = runner
        self._fn: Callable[..., Any] | None = fn
        self._values: Mapping[str, Any] | None = values
        self._context = contextvars.copy_context()
        self._future = asyncio.get_running_loop().create_future()
        self._state = _QUEUED
        self._value: Any = None
        self._error: BaseException | None = None
        self._on_end: Callable[[Any, BaseException | None], object] | None = None

    @property
    def started(self) -> bool:
        """Whether the body has begun; a job that never began has had no effect."""
        return self._state not in (_QUEUED, _DROPPED)

    @property
    def outcome(self) -> tuple[Any, BaseException | None] | None:
        """Value and error of a body that has ended; None while it has not."""
        return (self._value, self._error) if self._state == _DONE else None

    def __await__(self) -> Generator[Any, None, Any]:
        # The future only rings: an exception kept in it would be reported as never retrieved after a time-out,
        # and a future refuses StopIteration.
        yield from self._future
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # a traceback refers to this frame, the frame to the job
        return self._value

    async def abandon(
        self, on_end: Callable[[Any, BaseException | None], object], *, grace_s: float | None = None
    ) -> bool:
        """Stop waiting. True when the body runs on: `on_end(value, error)` is then called once, from its thread.

        A thread cannot be stopped, so nothing is waited for and `grace_s` is not used.
        """
        return self._runner._abandon(self, on_end)

    def _run(self) -> None:
        fn, values = self._fn, self._values
        self._fn = self._values = None
        try:
            self._value = self._context.run(fn, **values)  # type: ignore[arg-type]
        except BaseException as exc:
            self._error = exc

    def _ring(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    def _tell(self) -> None:
        """Hand the outcome on; from the thread, under no lock."""
        if self._on_end is None:
            try:
                self._future.get_loop().call_soon_threadsafe(self._ring)
            except RuntimeError:
                log.debug("the event loop was closed before a thread's result came")
            return
        try:
            self._on_end(self._value, self._error)
        except Exception:
            log.exception("taking note of a late outcome failed")

    def __repr__(self) -> str:
        return f"ThreadJob({('queued', 'running', 'done', 'dropped', 'zombie')[self._state]})"


class ThreadRunner:
    """A bounded pool of daemon threads that is never joined at interpreter exit.

    Usable from several event loops at once. Context variables of the caller are seen by the body.

    Args:
        max_threads: Bodies at work at once, zombies not counted.
        max_zombies: Bodies that may run on unwaited-for; at the cap, new bodies are refused.
        max_queued: Bodies that may wait for a thread; beyond, new bodies are refused.
        idle_s: Seconds after which an idle thread ends.
        name: Prefix of the threads' names.
    """

    def __init__(
        self,
        *,
        max_threads: int = 32,
        max_zombies: int = 32,
        max_queued: int = 10_000,
        idle_s: float = 60.0,
        name: str = "failsoft",
    ) -> None:
        if max_threads < 1 or max_zombies < 1 or max_queued < 1:
            raise UsageError("max_threads, max_zombies and max_queued must be at least 1")
        self._max_threads, self._max_zombies, self._max_queued = max_threads, max_zombies, max_queued
        self._idle_s = idle_s
        self._name = name
        self._numbers = itertools.count(1)
        self._queue: queue.SimpleQueue[ThreadJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards the counts and every job's state
        self._live = self._idle = self._running = self._queued = self._zombies = self._zombies_total = 0
        self._dropped = 0  # abandoned before they began, still in the queue
        self._closed = False
        self._retired: list[threading.Thread] = []
        self._closers: list[Callable[[], object]] = []

    def start(self, fn: Callable[..., Any], values: Mapping[str, Any], call: CallContext) -> ThreadJob:
        """Begin `fn(**values)` in a thread, or queue it; needs a running event loop.

        Raises:
            Overloaded: `max_zombies` or `max_queued` is reached, or the system gives no more threads.
            UsageError: The runner is closed.
        """
        job = ThreadJob(self, fn, values)
        with self._lock:
            self._check_room()
            self._queued += 1
            spawn = self._wants_thread()
            self._queue.put(job)
        if spawn and not self._spawn() and not self._live:
            self._drop(job)
            raise Overloaded(
                "the system refuses another thread", reason="no_threads", suggestion="Try again later."
            )
        return job

    def _check_room(self) -> None:
        if self._closed:
            raise UsageError("this ThreadRunner is closed; make a new one")
        if self._zombies >= self._max_zombies:
            raise Overloaded(
                f"{self._zombies} calls that timed out are still running in threads",
                reason="too_many_zombies",
                suggestion="Try again later. For the developer: give the tool time-outs of its own, "
                "or isolation='process', which can stop it.",
                context={"zombies": self._zombies, "max_zombies": self._max_zombies},
            )
        if self._queued - self._dropped >= self._max_queued:
            raise Overloaded("too many calls wait for a thread", reason="queue_full")

    def _wants_thread(self) -> bool:
        """Reserve a thread if one more is needed; under the lock."""
        if self._queued <= self._idle or self._live >= self._max_threads:
            return False
        self._live += 1
        self._idle += 1
        return True

    def _spawn(self) -> bool:
        thread = threading.Thread(target=self._work, name=f"{self._name}-{next(self._numbers)}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            with self._lock:
                self._live -= 1
                self._idle -= 1
            return False
        return True

    def _work(self) -> None:
        while True:
            try:
                job = self._queue.get(timeout=self._idle_s)
            except queue.Empty:
                job = None
            if job is None:
                if self._retire():
                    return
                continue
            if self._begin(job):
                job._run()
                stays = self._end(job)
                job._tell()
                if not stays:
                    return
            del job  # an idle thread must not keep the last values alive

    def _begin(self, job: ThreadJob) -> bool:
        with self._lock:
            self._queued -= 1
            if job._state == _DROPPED:
                self._dropped -= 1
                return False
            self._idle -= 1
            self._running += 1
            job._state = _RUNNING
            return True

    def _end(self, job: ThreadJob) -> bool:
        """Settle the counts; whether the thread goes on."""
        with self._lock:
            if job._state == _ZOMBIE:
                self._zombies -= 1
                if self._closed or self._live >= self._max_threads:
                    job._state = _DONE
                    return False
                self._live += 1
            else:
                self._running -= 1
            self._idle += 1
            job._state = _DONE
            return True

    def _retire(self) -> bool:
        """End an idle thread unless work came meanwhile."""
        with self._lock:
            if self._queued and not self._closed:
                return False
            self._idle -= 1
            self._live -= 1
            if self._closed:
                self._retired.append(threading.current_thread())
                self._tell_closers()
            return True

    def _abandon(self, job: ThreadJob, on_end: Callable[[Any, BaseException | None], object]) -> bool:
        with self._lock:
            if job._state == _QUEUED:
                self._mark_dropped(job)
            if job._state != _RUNNING:
                return False
            job._state = _ZOMBIE
            job._on_end = on_end
            self._running -= 1
            self._live -= 1
            self._zombies += 1
            self._zombies_total += 1
            self._tell_closers()
            spawn = not self._closed and self._wants_thread()
        if spawn:
            self._spawn()
        return True

    def _drop(self, job: ThreadJob) -> None:
        with self._lock:
            self._mark_dropped(job)

    def _mark_dropped(self, job: ThreadJob) -> None:
        job._state = _DROPPED
        job._fn = job._values = None
        self._dropped += 1

    def stats(self) -> ThreadStats:
        """Counts as of now."""
        with self._lock:
            return ThreadStats(
                threads=self._live,
                idle=self._idle,
                running=self._running,
                queued=self._queued - self._dropped,
                zombies=self._zombies,
                zombies_total=self._zombies_total,
            )

    async def aclose(self, grace_s: float = 1.0) -> None:
        """End the idle threads and wait `grace_s` seconds at most for those at work; the rest end by themselves.

        Whatever is queued may still begin within the grace; after it, it never runs.
        """
        loop, empty = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._closed = True
            self._closers.append(lambda: loop.call_soon_threadsafe(empty.set))
            self._tell_closers()
        self._dismiss()
        try:
            async with asyncio.timeout(grace_s):
                await empty.wait()
        except TimeoutError:
            self._refuse_queued()
            self._dismiss()
        with self._lock:
            self._closers.clear()
            retired, self._retired = self._retired, []
        for thread in retired:
            thread.join(0.1)  # has left its loop already: microseconds

    def _dismiss(self) -> None:
        for _ in range(self._live):
            self._queue.put(None)

    def _tell_closers(self) -> None:
        """Under the lock."""
        if not self._live:
            for tell in self._closers:
                try:
                    tell()
                except RuntimeError:
                    log.debug("the event loop that closes the threads is gone")

    def _refuse_queued(self) -> None:
        while True:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return
            if job is not None and self._begin(job):
                job._error = Overloaded("the runner was closed before the call began", reason="closed")
                with self._lock:
                    self._idle += 1
                    self._running -= 1
                    job._state = _DROPPED
                job._tell()

    def __repr__(self) -> str:
        return f"ThreadRunner(max_threads={self._max_threads}, {self.stats()!r})"
