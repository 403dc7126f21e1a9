"""The ledger in one SQLite file, shared by any number of processes of one machine."""

from __future__ import annotations

import os
import random
import secrets
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.stores import operations
from failsoft.stores.engine import EngineStore
from failsoft.stores.schema import migrate
from failsoft.stores.sql_journal import SQLJournal
from failsoft.stores.sql_tables import SQLTables
from failsoft.stores.tables import NOTHING
from failsoft.stores.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Found, Intent
    from failsoft.stores.connection import Trouble
    from failsoft.stores.tables import Tables

__all__ = ["SQLiteStore", "memory_journal"]

T = TypeVar("T")

_TYPES = {
    "text": "TEXT",
    "real": "REAL",
    "bool": "INTEGER",
    "serial": "INTEGER PRIMARY KEY",
    "keyed": "",
}


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
        self._writer = Writer(
            lambda: _SQLiteConnection(self.path, wall, busy_s), name=f"failsoft-{self.path.name}"
        )
        self._reader = _Reader(self.path, wall)
        weakref.finalize(self, self._reader.close)

    @property
    def on_trouble(self) -> Callable[[Trouble], object] | None:
        """Told, on the writer's thread, of what could not be written in the background."""
        return self._writer.on_trouble

    @on_trouble.setter
    def on_trouble(self, told: Callable[[Trouble], object] | None) -> None:
        self._writer.on_trouble = told

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

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"


def memory_journal() -> SQLJournal:
    """A journal that is gone with the process."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(db, _TYPES)
    journal = SQLJournal(db)
    weakref.finalize(journal, db.close)
    return journal


class _SQLiteConnection:
    """The writer's connection."""

    def __init__(self, path: Path, wall: Callable[[], float], busy_s: float) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
        self._busy_s = busy_s
        self._turn = threading.Event()  # never set: a wait that no clock can be handed to
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=busy_s)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit is on the disk when it returns. With NORMAL a power cut could forget an intent whose
            # effect happened, and the effect would be repeated.
            self._db.execute("PRAGMA synchronous = FULL")
            # A short WAL file is overwritten again and again; one that grows costs twice the sync (measured on ext4:
            # 0.12 and 0.24 ms), because the file's length must reach the disk too.
            self._db.execute("PRAGMA wal_autocheckpoint = 250")
            self._db.execute("BEGIN IMMEDIATE")
            migrate(self._db, _TYPES)
            self.commit()
            self._db.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            self._db.close()
            raise
        self._tables = SQLTables(self._db, wall)

    @property
    def tables(self) -> Tables:
        return self._tables

    def begin(self, *, wait: bool) -> None:
        # IMMEDIATE: a transaction that reads first and is upgraded later fails at once when somebody else wrote.
        if not wait:
            self._db.execute("BEGIN IMMEDIATE")
            return
        # Waited for here and not by SQLite's busy handler: whoever may not wait uses this connection too.
        until, delay_s = time.monotonic() + self._busy_s, 0.001
        while True:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= until:
                    raise
            self._turn.wait(random.uniform(0, delay_s))
            delay_s = min(0.025, delay_s * 2)

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()

    def is_lost(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.Error) and "locked" not in str(error)

    def is_trouble(self, error: BaseException) -> bool:
        # Not its other errors, which are about one statement and its values: those would fail for ever.
        return isinstance(error, (sqlite3.OperationalError, OSError)) or type(error) is sqlite3.DatabaseError

    def close(self) -> None:
        try:
            self._db.close()
        except sqlite3.Error:
            pass


def _make_private(path: Path) -> None:
    """An empty file of mode 0600, where there is none; SQLite would leave the mode to the umask.

    The file that SQLite reads is never opened here: closing any descriptor of a file lets go of every lock that the
    process has on it (POSIX), those of SQLite's other connections too. Another process would then find itself alone,
    and delete the WAL file that this one goes on writing to. See https://sqlite.org/howtocorrupt.html, section 2.2.
    """
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # no links on this file system; the file is there only since nobody else has made it yet
        if not path.exists():
            os.replace(draft, path)
            return
    os.unlink(draft)


class _Reader:
    """A connection for reading, shared by the threads that look; made when the file is there."""

    def __init__(self, path: Path, wall: Callable[[], float]) -> None:
        self._path = path
        self._wall = wall
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._tables: SQLTables | None = None
        self._pid = os.getpid()

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
