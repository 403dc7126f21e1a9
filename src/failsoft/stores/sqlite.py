"""The ledger in one SQLite file, shared by any number of processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.stores import operations
from failsoft.stores.engine import EngineStore
from failsoft.stores.forking import keep_safe
from failsoft.stores.schema import migrate
from failsoft.stores.sql_journal import SQLJournal
from failsoft.stores.sql_tables import SQLTables
from failsoft.stores.sqlite_connection import TYPES, SQLiteConnection
from failsoft.stores.sqlite_file import FileWatch
from failsoft.stores.tables import NOTHING
from failsoft.stores.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Found, Intent
    from failsoft.stores.tables import Tables
    from failsoft.stores.troubles import Troubles

__all__ = ["SQLiteStore", "memory_journal"]

T = TypeVar("T")


class SQLiteStore(EngineStore):
    """A store in a file. It is opened, and made, when first needed.

    Args:
        path: The file; its directory is made with mode 0700, the file with mode 0600.
        wall: Tells wall time.
        busy_s: Seconds to wait for another process's transaction.
    """

    is_at_hand = True

    def __init__(
        self, path: str | os.PathLike[str], *, wall: Callable[[], float] = time.time, busy_s: float = 5.0
    ) -> None:
        self.path = Path(path).expanduser().absolute()
        self._wall = wall
        self._watch = FileWatch(self.path)
        connect = partial(SQLiteConnection, self.path, self._watch, wall, busy_s)
        self._writer = Writer(connect, name=f"failsoft-{self.path.name}")
        self._reader = _Reader(self.path, wall)
        weakref.finalize(self, self._reader.close)

    @property
    def troubles(self) -> Troubles:
        """See `EngineStore.troubles`."""
        return self._writer.troubles

    def now(self) -> float:
        """The clock that was handed in."""
        return self._wall()

    def look_nowait(self, intent: Intent) -> Verdict | None:
        """See `EngineStore.look_nowait`.

        Read on the caller's thread: an indexed read of a local file takes about 10 µs, a trip to the writer's thread
        ten times as much. What needs writing goes there.
        """
        is_idle = self._writer.is_idle  # before reading: what is written by then is seen
        found = self._writer.found(intent) or self._reader.found(intent)
        if found is NOTHING:
            return operations.go(intent)
        return None if found is None else operations.verdict_of(found, intent, self._wall(), is_idle=is_idle)

    async def look(self, intent: Intent) -> Verdict:
        """See `LedgerStore.look`."""
        return self.look_nowait(intent) or await super().look(intent)

    def _at_once(self, work: Callable[..., T], *args: Any) -> tuple[T] | None:
        return self._writer.at_once(work, *args)

    async def _run(
        self, work: Callable[[Tables], T], *, pending: T | None = None, is_long: bool = False
    ) -> T:
        return await self._writer.run(work, pending=pending, is_long=is_long)

    def _run_soon(
        self,
        work: Callable[[Tables], T],
        on_done: Callable[[T], object] | Callable[[T | None], object] | None,
        *,
        is_kept: bool = True,
    ) -> None:
        self._writer.run_soon(work, on_done, is_kept=is_kept)

    async def close(self) -> None:
        """See `LedgerStore.close`. Work that comes later opens the file for itself."""
        # First the reader: the last connection that can write tidies the WAL file away.
        self._reader.close()
        await self._writer.close()
        self._watch.forget()

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"


def memory_journal() -> SQLJournal:
    """A journal that is gone with the process."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(db, TYPES)
    journal = SQLJournal(db)
    weakref.finalize(journal, db.close)
    return journal


class _Reader:
    """A connection for reading, shared by the threads that look; made when the file is there."""

    def __init__(self, path: Path, wall: Callable[[], float]) -> None:
        self._path = path
        self._wall = wall
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._tables: SQLTables | None = None
        self._pid = os.getpid()
        keep_safe(self)

    def before_fork(self) -> None:
        """See `Forkable`."""
        self._lock.acquire()
        self._close()

    def after_fork(self, *, is_child: bool) -> None:
        """See `Forkable`."""
        if is_child:
            self._lock, self._pid = threading.Lock(), os.getpid()
        else:
            self._lock.release()

    def found(self, intent: Intent) -> Found | None:
        """None where the file cannot be read without waiting; the writer knows what to do about it."""
        if self._pid != os.getpid():
            return None
        with self._lock:
            try:
                return self._open().found(intent)
            except sqlite3.Error:
                self._close()
                return None

    def close(self) -> None:
        with self._lock:
            self._close()

    def _open(self) -> SQLTables:
        if self._tables is None:
            uri = f"{self._path.as_uri()}?mode=ro"
            self._db = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False, timeout=0
            )
            self._tables = SQLTables(self._db, self._wall)
        return self._tables

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = self._tables = None
