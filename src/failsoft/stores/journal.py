"""The journal: what happened, written behind the calls' backs.

Unlike the ledger it may lose something: at most what came during the last quarter of a second before a crash, and what
came while its queue was full or the store could not write; the latter is counted.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import failsoft.stores.writer  # noqa: F401 - what is registered for the exit first, runs last: its flush after this one's
from failsoft.stores.forking import keep_safe
from failsoft.stores.jobs import call_safely

if TYPE_CHECKING:
    from failsoft.core.events import Event
    from failsoft.ledger.entries import AttemptEntry, CallEntry, RunEntry, ToolCounts
    from failsoft.stores.engine import EngineStore
    from failsoft.stores.tables import Tables

__all__ = ["Journal", "JournalStats"]

_BATCH = 1000
_EXIT_WAIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStats:
    """What the journal did since it was made.

    Args:
        written: Events that are in the store.
        waiting: Events that are not there yet.
        lost: Events that never will be.
    """

    written: int
    waiting: int
    lost: int


class Journal:
    """An event sink that keeps events in a store, and gives them back as runs, calls and attempts.

    Args:
        store: From `open_store`.
        every_s: Seconds for which events are gathered before they are written in one commit.
        most: Events that may wait; beyond it the newest are lost, and counted.
    """

    def __init__(self, store: EngineStore, *, every_s: float = 0.25, most: int = 10_000) -> None:
        self._store = store
        self._every_s = every_s
        self._most = most
        self._start_anew()
        _alive.add(self)
        keep_safe(self)

    def _start_anew(self) -> None:
        self._waiting: deque[Event] = deque()
        self._written = self._lost = self._out = self._told_lost = 0
        self._is_losing = False
        self._lock = threading.Lock()
        self._something = threading.Event()
        self._hurry = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def before_fork(self) -> None:
        """See `Forkable`: what waits is the parent's to write."""

    def after_fork(self, *, is_child: bool) -> None:
        """See `Forkable`."""
        if is_child:
            self._start_anew()

    def __call__(self, event: Event) -> None:
        """The same as `write`: a journal is a sink."""
        self.write(event)

    def write(self, event: Event) -> None:
        """Take one event; never waits, never raises. From any thread."""
        if len(self._waiting) >= self._most:
            self._lost += 1
            self._tell_of_loss()
            return
        self._waiting.append(event)
        if not self._something.is_set():
            self._start()

    def stats(self) -> JournalStats:
        """Counts, so far."""
        return JournalStats(written=self._written, waiting=len(self._waiting) + self._out, lost=self._lost)

    async def flush(self) -> None:
        """Wait until all that was taken so far is written or lost."""
        while self._waiting or not self._idle.is_set():
            self._hurry.set()
            self._start()
            await asyncio.to_thread(self._idle.wait, _EXIT_WAIT_S)

    async def close(self) -> None:
        """Write what waits and end the thread; the store stays open. What comes later is written all the same."""
        self._is_closed = True
        if self._thread is not None:
            self._hurry.set()
            self._start()
        await self.flush()

    async def runs(self, limit: int = 50) -> list[RunEntry]:
        """The newest runs first."""
        return await self._store._run(lambda tables: tables.journal.runs(limit))

    async def run(self, run_id: str) -> RunEntry | None:
        """One run; None where the journal has not heard of it."""
        return await self._store._run(lambda tables: tables.journal.run(run_id))

    async def calls(self, run_id: str | None = None, limit: int = 1000) -> list[CallEntry]:
        """The last `limit` calls of a run, or of all, in the order in which they ended."""
        return await self._store._run(lambda tables: tables.journal.calls(run_id, limit))

    async def attempts(self, run_id: str, limit: int = 1000) -> list[AttemptEntry]:
        """The failed attempts of a run, in order."""
        return await self._store._run(lambda tables: tables.journal.attempts(run_id, limit))

    async def events(
        self, run_id: str | None = None, *, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, Event]]:
        """Events with their places, in order; page on with the last place as `after`."""
        return await self._store._run(lambda tables: tables.journal.events(run_id, after, limit))

    async def counts(self, *, since: float = 0.0) -> list[ToolCounts]:
        """How calls ended since a wall time, by tool."""
        return await self._store._run(lambda tables: tables.journal.counts(since))

    async def troubles(self, *, since: float = 0.0, limit: int = 1000) -> list[Event]:
        """The last events about the store itself since a wall time: `store_trouble` and `store_recovered`."""
        return await self._store._run(lambda tables: tables.journal.troubles(since, limit))

    def _start(self) -> None:
        with self._lock:
            self._idle.clear()
            self._something.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="failsoft-journal", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            self._something.wait()
            self._hurry.wait(self._every_s)
            with self._lock:
                # Cleared before taking: whoever writes from here on sets it again.
                self._something.clear()
                self._hurry.clear()
            while self._waiting:
                self._hand_over()
            with self._lock:
                if not self._waiting and not self._something.is_set():
                    self._idle.set()
                    if self._is_closed:
                        self._thread = None
                        return

    def _tell_of_loss(self) -> None:
        """Once, until something is written again: the telling is an event that may be lost too."""
        troubles = self._store.troubles
        if troubles is None:
            return
        untold, self._told_lost = self._lost - self._told_lost, self._lost
        calls = troubles.note("journal_lost", untold)
        was_losing, self._is_losing = self._is_losing, True
        if not was_losing:
            for told, trouble in calls:
                call_safely(told, trouble)

    def _hand_over(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
        self._out = len(batch)
        done = threading.Event()

        def note(is_written: bool | None) -> None:
            if is_written:
                self._written += len(batch)
                self._is_losing = False
            else:
                self._lost += len(batch)
                self._tell_of_loss()
            self._out = 0
            done.set()

        self._store._run_soon(partial(_put, batch=batch), note, is_kept=False)
        done.wait()


def _put(tables: Tables, batch: list[Event]) -> bool:
    tables.journal.put_events(batch)
    return True


_alive: weakref.WeakSet[Journal] = weakref.WeakSet()


@atexit.register
def _flush_at_exit() -> None:
    for journal in list(_alive):
        if journal._waiting:
            journal._hurry.set()
            journal._idle.wait(_EXIT_WAIT_S)
