"""The ledger in PostgreSQL, shared by any number of machines. Needs `failsoft[postgres]`.

One connection for each process writes, used by one thread that commits whatever has queued up as one group; another
one looks.
Transactions that write take turns by one advisory lock, as SQLite's do: the rules look at several rows at once, and
group commit makes the turns few.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.core.errors import AgentError, UsageError
from failsoft.stores import operations
from failsoft.stores.engine import EngineStore
from failsoft.stores.schema import migrate
from failsoft.stores.sql_tables import SQLTables
from failsoft.stores.writer import Writer

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as exc:
    raise UsageError("a store in PostgreSQL needs psycopg\n\nhint: pip install 'failsoft[postgres]'") from exc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Intent
    from failsoft.stores.tables import Tables
    from failsoft.stores.troubles import Troubles

__all__ = ["PostgresStore"]

T = TypeVar("T")

_TYPES = {
    "text": "TEXT",
    "real": "DOUBLE PRECISION",
    "bool": "SMALLINT",
    "serial": "BIGSERIAL PRIMARY KEY",
    "keyed": "",
}
_LOCK = int.from_bytes(b"failsoft"[:7])
# What may write takes its turn; what only reads does not. A schema of its own: names such as `runs` and `events` may be somebody else's. Set for each transaction, and the time
# asked for in the same round trip, so that a pooler which hands out a server for each transaction is no trouble.
_READ = (
    "BEGIN READ ONLY; SET LOCAL search_path TO failsoft; SELECT extract(epoch FROM clock_timestamp())::float8"
)
_WRITE = (
    "BEGIN; SET LOCAL search_path TO failsoft; "  # noqa: S608 - the number is this module's own
    f"SELECT pg_advisory_xact_lock({_LOCK}); "
    "SELECT extract(epoch FROM clock_timestamp())::float8"
)


class PostgresStore(EngineStore):
    """A store on a server. It connects when first needed, and again after a connection was lost.

    Leases and doubts go by the server's clock, so that machines whose clocks differ agree.

    Args:
        url: `postgresql://...`, or any other form that libpq reads.
        wall: Replaces the server's clock in tests.
        busy_s: Seconds to wait for the turn of another process's transaction.
    """

    def __init__(self, url: str, *, wall: Callable[[], float] | None = None, busy_s: float = 5.0) -> None:
        self._clock = _Clock(wall)
        self._where = {
            "connect_timeout": "5",
            # A server that went away without a word is noticed in seconds, not in hours.
            "tcp_user_timeout": "10000",
            "application_name": "failsoft",
            **{name: str(value) for name, value in conninfo_to_dict(url).items()},
        }
        where, clock = self._where, self._clock
        self._writer = Writer(
            lambda: _PostgresConnection(where, clock, busy_s), name="failsoft-postgres", may_block=False
        )
        self._reader = Writer(
            lambda: _PostgresConnection(where, _Clock(wall), busy_s, begin=_READ),
            name="failsoft-look",
            may_block=False,
        )

    @property
    def troubles(self) -> Troubles:
        """See `EngineStore.troubles`."""
        return self._writer.troubles

    def now(self) -> float:
        """The server's wall time, as far as it is known here."""
        return self._clock.guess()

    async def look(self, intent: Intent) -> Verdict:
        """See `LedgerStore.look`. Read on a connection of its own, which waits for nobody's turn."""
        is_idle = self._writer.is_idle  # before reading: what is written by then is seen
        try:
            found, now = await self._reader.run(lambda tables: (tables.found(intent), tables.now()))
        except AgentError:  # the tables are not there yet, or the server is away: the writer knows
            return await super().look(intent)
        verdict = operations.verdict_of(found, intent, now, is_idle=is_idle)
        return verdict if verdict is not None else await super().look(intent)

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
        """See `LedgerStore.close`. Work that comes later connects for itself."""
        await self._reader.close()
        await self._writer.close()

    def __repr__(self) -> str:
        # Without the password, and without the rest of what a URL may hold.
        return f"PostgresStore(host={self._where.get('host')!r}, dbname={self._where.get('dbname')!r})"


class _Clock:
    """The server's time of the transaction at work, and a guess at it between transactions."""

    def __init__(self, wall: Callable[[], float] | None) -> None:
        self._wall = wall
        self._ahead_s = 0.0
        self._at = 0.0

    def set(self, server_time: float) -> None:
        self._at = server_time
        self._ahead_s = server_time - time.time()

    def exact(self) -> float:
        return self._at if self._wall is None else self._wall()

    def guess(self) -> float:
        return time.time() + self._ahead_s if self._wall is None else self._wall()


class _PostgresConnection:
    """A connection that makes what it needs; `begin` is what each transaction starts with."""

    def __init__(self, where: dict[str, str], clock: _Clock, busy_s: float, begin: str = _WRITE) -> None:
        self._begin = begin
        self._db = psycopg.connect(autocommit=True, **where)  # type: ignore[arg-type,unused-ignore]
        weakref.finalize(self, self._db.close)
        self._clock = clock
        self._tables = SQLTables(_Executor(self._db), clock.exact)
        try:
            self._db.execute(f"SET lock_timeout = {int(busy_s * 1000)}".encode())
            if self._db.execute("SHOW synchronous_commit").fetchone() == ("off",):
                # An intent that a crash of the server could forget is no intent.
                self._db.execute("SET synchronous_commit = on")
            if begin == _WRITE:
                self.begin(wait=True)
                # In the writers' turn: of two that make it at once, one fails in spite of IF NOT EXISTS. Looked for
                # first: whoever may only use a schema that somebody else made may not say CREATE at all.
                if self._db.execute("SELECT to_regnamespace('failsoft')").fetchone() == (None,):
                    self._db.execute("CREATE SCHEMA failsoft")
                migrate(_Executor(self._db), _TYPES)
                self.commit()
        except BaseException:
            self.close()
            raise

    @property
    def tables(self) -> Tables:
        return self._tables

    def begin(self, *, wait: bool) -> None:
        cursor = self._db.execute(self._begin.encode())
        row = None
        while row is None or cursor.nextset():
            row = cursor.fetchone() if cursor.description is not None else row or ()
        self._clock.set(float(row[0]))

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._db.execute("ROLLBACK")

    def is_lost(self, error: BaseException) -> bool:
        return self._db.closed or self._db.broken

    def is_trouble(self, error: BaseException) -> bool:
        kinds = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, OSError)
        return isinstance(error, kinds)

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._db.close()


class _Executor:
    """The shared SQL on this engine: its own mark for parameters, and no NUL in texts, which it cannot keep."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self._db = db
        self._texts: dict[str, bytes] = {}

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        text = self._texts.get(sql)
        if text is None:
            text = self._texts[sql] = sql.replace("?", "%s").encode()
        if not values:
            return self._db.execute(text)
        return self._db.execute(text, [_storable(value) for value in values])


def _storable(value: Any) -> Any:
    return value.replace("\x00", "\u2400") if isinstance(value, str) and "\x00" in value else value
