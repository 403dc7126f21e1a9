"""The connection that writes to a SQLite ledger, and when its WAL file is written back."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from failsoft.stores.schema import migrate
from failsoft.stores.sqlite_file import LedgerReplacedError, make_private
from failsoft.stores.sqlite_tables import SQLiteTables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from failsoft.stores.sqlite_file import FileWatch
    from failsoft.stores.tables import Tables

__all__ = ["TYPES", "SQLiteConnection"]

TYPES = {
    "text": "TEXT",
    "real": "REAL",
    "bool": "INTEGER",
    "serial": "INTEGER PRIMARY KEY",
    "keyed": "",
}
# A short WAL file is overwritten again and again; one that grows costs twice the sync (measured on ext4: 0.12 and
# 0.24 ms), because the file's length must reach the disk too. About 250 pages, as far as changes can tell.
_CHECKPOINT_PAGES = 250
_PAGES_A_COMMIT = 3
_LONG_WAL_BYTES = 4_000_000


class SQLiteConnection:
    """The writer's connection.

    Raises:
        sqlite3.Error: It cannot be opened.
        LedgerReplacedError: The file is not the one that was opened before.
    """

    def __init__(self, path: Path, watch: FileWatch, wall: Callable[[], float], busy_s: float) -> None:
        watch.expect()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(path)
        self._path, self._watch, self._busy_s = path, watch, busy_s
        self._turn = threading.Event()  # never set: a wait that no clock can be handed to
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=busy_s)
        self._second: sqlite3.Connection | None = None
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit is on the disk when it returns. With NORMAL a power cut could forget an intent whose
            # effect happened, and the effect would be repeated.
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA wal_autocheckpoint = 0")  # see `_checkpoint`
            self._db.execute("BEGIN IMMEDIATE")
            migrate(self._db, TYPES)
            self._db.execute("COMMIT")
            self._db.execute("PRAGMA busy_timeout = 0")
            watch.note()
        except BaseException:
            self._db.close()
            raise
        self._tables = SQLiteTables(self._db, wall)
        self._changes = self._db.total_changes
        self._pages = _CHECKPOINT_PAGES if self._wal_is_long() else 0

    @property
    def tables(self) -> Tables:
        return self._tables

    def begin(self, *, wait: bool) -> None:
        self._begin(wait)
        try:
            self._watch.check()
            if self._pages < _CHECKPOINT_PAGES:
                return
            self._checkpoint()
            # A new one: what this one would write now goes behind what was written back, and the file would only grow.
            self._db.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise
        self._begin(wait)

    def _begin(self, wait: bool) -> None:
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
        changes = self._db.total_changes
        self._pages += _PAGES_A_COMMIT + changes - self._changes
        self._changes = changes

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
        self._watch.leave(self._db)
        if self._pages and self._wal_is_long():
            self._write_back()
        for db in (self._second, self._db):  # the one that can tidy up last
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def _checkpoint(self) -> None:
        """Write the WAL file back, inside of a transaction of this connection that has written nothing.

        By a second connection, because SQLite refuses it to the one at work; and never outside of a transaction, as
        SQLite's own automatic checkpoints are. Up to its release 3.51.2, but for 3.44.6 and 3.50.7, such a checkpoint that
        meets the first commit into an emptied WAL file loses what is committed afterwards
        (https://sqlite.org/wal.html, "The WAL-Reset Bug"). Whoever holds the writers' turn meets none.
        """
        self._pages = 0
        try:
            if self._second is None:
                self._second = sqlite3.connect(
                    self._path, isolation_level=None, check_same_thread=False, timeout=0
                )
                self._second.execute("PRAGMA synchronous = FULL")
                self._second.execute("PRAGMA wal_autocheckpoint = 0")
            self._second.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error:
            # Nothing is lost by it: what is in the WAL file is durable. A full disk, say; tried again later.
            pass

    def _write_back(self) -> None:
        """What the last one to leave does anyway; for those who are never the last."""
        try:
            self._begin(False)
            self._watch.check()
            self._checkpoint()
            self._db.execute("ROLLBACK")
        except (sqlite3.Error, LedgerReplacedError):
            pass  # closing undoes what was begun

    def _wal_is_long(self) -> bool:
        try:
            return os.stat(f"{os.path.realpath(self._path)}-wal").st_size > _LONG_WAL_BYTES
        except OSError:
            return False
