"""The ledger's rows in the SQL that SQLite and PostgreSQL share; `?` marks a parameter for both."""

# ruff: noqa: S608 - the names in the statements are this package's own; every value is a parameter

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.ledger.decide import teller_of
from failsoft.ledger.records import Found
from failsoft.ledger.states import ClaimState
from failsoft.stores.agent_runs import SQLAgentRuns
from failsoft.stores.rows import (
    CLAIM_COLUMNS,
    DOUBT_COLUMNS,
    NEW_CLAIM_COLUMNS,
    claim_row,
    doubt_row,
    new_claim_row,
    read_claim,
    read_doubt,
    upsert,
)
from failsoft.stores.sql_journal import SQLJournal
from failsoft.stores.tables import NOTHING, family_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.records import Doubt, Intent, Record, Settlement
    from failsoft.stores.sql_journal import Executor

__all__ = ["RESULT_LIMIT_CHARS", "SQLTables"]

RESULT_LIMIT_CHARS = 50_000
"""A longer result is kept beside the claims, so that looking at claims stays cheap."""

_CLAIMS = ", ".join(CLAIM_COLUMNS)
_DOUBTS = ", ".join(DOUBT_COLUMNS)
_FOUND = (
    f"SELECT {_CLAIMS} FROM claims WHERE key = ? UNION ALL "
    f"SELECT {_CLAIMS} FROM claims WHERE scope = ? AND tool = ? AND family = ? AND state = 'running' AND key <> ?"
)
_OPEN = f"SELECT {_DOUBTS} FROM doubts WHERE scope = ? AND tool = ? AND family = ? AND state = 'open' ORDER BY since"
_PUT_CLAIM = upsert("claims", CLAIM_COLUMNS)
_PUT_DOUBT = upsert("doubts", DOUBT_COLUMNS)
_PUT_BLOB = upsert("blobs", ("handle", "scope", "run_id", "body", "created_at"))
_NEW = (
    "NOT EXISTS (SELECT 1 FROM claims WHERE scope = ? AND tool = ? AND family = ? AND state = 'running') "
    "AND NOT EXISTS (SELECT 1 FROM doubts WHERE scope = ? AND tool = ? AND family = ? AND state = 'open')"
)
_IS_NEW = f"SELECT NOT EXISTS (SELECT 1 FROM claims WHERE key = ?) AND {_NEW}"
_NEW_COLUMNS = ", ".join(NEW_CLAIM_COLUMNS)
# PostgreSQL takes a bare parameter in a select list for text.
_NEW_MARKS = ", ".join(
    "CAST(? AS DOUBLE PRECISION)" if name == "key_made_at" else "?" for name in NEW_CLAIM_COLUMNS
)
_CLAIM_IF_NEW = (
    f"INSERT INTO claims ({_NEW_COLUMNS}) SELECT {_NEW_MARKS} WHERE {_NEW} ON CONFLICT (key) DO NOTHING"
)
_SETTLE = (
    "UPDATE claims SET state = ?, result = ?, error = ?, settled_at = ? "
    "WHERE key = ? AND owner_token = ? AND state = 'running' AND doubt_id IS NULL"
)
# Some at a time: whoever else wants to write waits for a part, not for years of rows.
_PRUNE_CLAIMS = (
    "DELETE FROM claims WHERE key IN (SELECT key FROM claims WHERE state IN ('succeeded', 'failed') "
    "AND settled_at < ? LIMIT ?)"
)
_PRUNE_DOUBTS = (
    "DELETE FROM doubts WHERE id IN (SELECT id FROM doubts WHERE state <> 'open' AND resolved_at < ? LIMIT ?)"
)
_PRUNE_BLOBS = "DELETE FROM blobs WHERE handle IN (SELECT handle FROM blobs WHERE created_at < ? LIMIT ?)"


class SQLTables:
    """`Tables` over one connection."""

    def __init__(self, db: Executor, now: Callable[[], float]) -> None:
        self._db = db
        self.now = now
        self.journal = SQLJournal(db)
        self.agent_runs = SQLAgentRuns(db)

    def found(self, intent: Intent) -> Found:
        family = family_of(intent.fingerprint, intent.near_fingerprint)
        where = (intent.scope, intent.tool, family)
        if self._db.execute(_IS_NEW, (intent.key, *where, *where)).fetchone()[0]:
            return NOTHING
        claims = self._db.execute(_FOUND, (intent.key, *where, intent.key)).fetchall()
        open_rows = self._db.execute(_OPEN, where).fetchall()
        records = [read_claim(row) for row in claims]
        own = next((record for record in records if record.key == intent.key), None)
        if own is not None and own.state is ClaimState.SUCCEEDED and own.result is None:
            own = replace(own, result=self.result(own))
        doubts = tuple(read_doubt(row) for row in open_rows)
        told: set[str] = set()
        if doubts:
            rows = self._db.execute("SELECT doubt_id FROM told WHERE teller = ?", (teller_of(intent),))
            told = {row[0] for row in rows}
        running = tuple(record for record in records if record.state == "running")
        return Found(record=own, running=running, doubts=doubts, told=told)

    def claim_if_new(self, intent: Intent, owner: str, now: float) -> bool:
        family = family_of(intent.fingerprint, intent.near_fingerprint)
        where = (intent.scope, intent.tool, family)
        values = (*new_claim_row(intent, owner, now, family), *where, *where)
        return bool(self._db.execute(_CLAIM_IF_NEW, values).rowcount == 1)

    def claim(self, key: str) -> Record | None:
        row = self._db.execute(f"SELECT {_CLAIMS} FROM claims WHERE key = ?", (key,)).fetchone()
        return None if row is None else read_claim(row)

    def put_claim(self, record: Record) -> None:
        result = self._beside(record.result, record.owner_token, record.scope, record.run_id)
        self._db.execute(
            _PUT_CLAIM, claim_row(replace(record, result=result) if result != record.result else record)
        )

    def settle_running(self, key: str, owner_token: str, settlement: Settlement, now: float) -> bool:
        result = self._beside(settlement.result, owner_token, "", None)
        values = (str(settlement.state), result, settlement.error, now, key, owner_token)
        return bool(self._db.execute(_SETTLE, values).rowcount == 1)

    def running(self, scope: str | None) -> list[Record]:
        rows = self._db.execute(
            f"SELECT {_CLAIMS} FROM claims WHERE state = 'running' AND (CAST(? AS TEXT) IS NULL OR scope = ?)",
            (scope, scope),
        )
        return [read_claim(row) for row in rows.fetchall()]

    def claims_of_doubt(self, doubt_id: str) -> list[Record]:
        rows = self._db.execute(f"SELECT {_CLAIMS} FROM claims WHERE doubt_id = ?", (doubt_id,))
        return [read_claim(row) for row in rows.fetchall()]

    def doubt(self, doubt_id: str) -> Doubt | None:
        row = self._db.execute(f"SELECT {_DOUBTS} FROM doubts WHERE id = ?", (doubt_id,)).fetchone()
        return None if row is None else read_doubt(row)

    def put_doubt(self, doubt: Doubt) -> None:
        self._db.execute(_PUT_DOUBT, doubt_row(doubt))

    def doubts(self, scope: str | None, run_id: str | None, open_only: bool) -> list[Doubt]:
        rows = self._db.execute(
            f"SELECT {_DOUBTS} FROM doubts WHERE (CAST(? AS TEXT) IS NULL OR scope = ?) AND (CAST(? AS TEXT) IS NULL OR run_id = ?) "
            "AND (state = 'open' OR ? = 0) ORDER BY since, id",
            (scope, scope, run_id, run_id, int(open_only)),
        )
        return [read_doubt(row) for row in rows.fetchall()]

    def put_told(self, doubt_id: str, teller: str) -> None:
        self._db.execute(
            "INSERT INTO told (doubt_id, teller) VALUES (?, ?) ON CONFLICT DO NOTHING", (doubt_id, teller)
        )

    def result(self, record: Record) -> str | None:
        if record.result is not None:
            return record.result
        handle = _result_handle(record.owner_token)
        row = self._db.execute("SELECT body FROM blobs WHERE handle = ?", (handle,)).fetchone()
        return None if row is None else str(row[0])

    def put_blob(self, handle: str, scope: str, run_id: str | None, text: str, now: float) -> None:
        self._db.execute(_PUT_BLOB, (handle, scope, run_id, text, now))

    def get_blob(self, handle: str, scope: str, run_id: str | None) -> str | None:
        sql = (
            "SELECT body FROM blobs WHERE handle = ? AND scope = ? "
            "AND (run_id = ? OR (run_id IS NULL AND CAST(? AS TEXT) IS NULL))"
        )
        row = self._db.execute(sql, (handle, scope, run_id, run_id)).fetchone()
        return None if row is None else str(row[0])

    def prune(self, before: float, most: int) -> int:
        claims, doubts, blobs = (
            int(self._db.execute(sql, (before, most)).rowcount)
            for sql in (_PRUNE_CLAIMS, _PRUNE_DOUBTS, _PRUNE_BLOBS)
        )
        if doubts:
            self._db.execute("DELETE FROM told WHERE doubt_id NOT IN (SELECT id FROM doubts)")
        return (
            claims + doubts + blobs + self.journal.prune(before, most) + self.agent_runs.prune(before, most)
        )

    def _beside(self, result: str | None, owner_token: str, scope: str, run_id: str | None) -> str | None:
        """What stays in the claim's own row."""
        if result is None or len(result) <= RESULT_LIMIT_CHARS:
            return result
        self.put_blob(_result_handle(owner_token), scope, run_id, result, self.now())
        return None


def _result_handle(owner_token: str) -> str:
    """Not a handle that anybody is given: those begin with `out_`."""
    return f"result_{owner_token}"
