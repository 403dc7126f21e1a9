"""Runs of agents as they stand, so that another process can go on with them; and who works on one now.

Rules of this file:

1. One process at a time works on a run: it holds it by a token and a lease, and only its token may write.
2. A hold ends when it is given back, when its lease is over, or when its process is known to be gone.
3. What a run's state holds is the agent's business; here it is text, with the word for how it stopped beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.core.errors import Conflict
from failsoft.stores.owner import is_gone, this_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.stores.tables import Tables

__all__ = ["AgentRuns", "MemoryAgentRuns", "SQLAgentRuns", "StoredRun", "free", "hold", "load", "save"]

WAITING = "escalated"
"""The word of a run that waits for a person: pruning leaves it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run of an agent.

    Args:
        id: The run's id.
        state: What the agent needs to go on; empty for a run that is held and not saved yet.
        stopped: How it stopped; empty while it goes on.
        saved_at: Wall time of the last save.
        holder: Token of whoever works on it.
        owner: The process of that token.
        held_until: Wall time at which its lease is over.
    """

    id: str
    state: str = ""
    stopped: str = ""
    saved_at: float = 0.0
    holder: str | None = None
    owner: str = ""
    held_until: float = 0.0


class AgentRuns(Protocol):
    """One engine's rows."""

    def get(self, run_id: str) -> StoredRun | None:
        """One run."""
        ...

    def put(self, run: StoredRun) -> None:
        """Insert or overwrite one run."""
        ...

    def extend(self, run_id: str, holder: str, until: float) -> bool:
        """Move the end of a hold, without touching the state; False where it is not this token's."""
        ...

    def remove(self, run_id: str) -> None:
        """Forget one run."""
        ...

    def waiting(self, limit: int) -> list[StoredRun]:
        """Runs that wait for a person, the newest first."""
        ...

    def prune(self, before: float, most: int) -> int:
        """Forget at most so many runs that were saved before and neither wait for a person nor are held; how many went."""
        ...


# ---- what is done with them, each inside of one transaction ----


def hold(tables: Tables, run_id: str, holder: str, lease_s: float) -> bool:
    """Take a run, or keep it for another `lease_s` seconds; False while somebody else has it."""
    now = tables.now()
    if tables.agent_runs.extend(run_id, holder, now + lease_s):
        return True
    found = tables.agent_runs.get(run_id)
    if found is not None and _is_held(found, now):
        return False
    run = found or StoredRun(id=run_id, saved_at=now)
    tables.agent_runs.put(replace(run, holder=holder, owner=this_process(), held_until=now + lease_s))
    return True


def save(tables: Tables, run_id: str, state: str, stopped: str, holder: str | None) -> None:
    """Keep a state in place of the one before.

    Raises:
        Conflict: reason `run_taken`: somebody else works on the run.
    """
    now = tables.now()
    found = tables.agent_runs.get(run_id) or StoredRun(id=run_id)
    if found.holder != holder and (holder is not None or _is_held(found, now)):
        raise Conflict(f"Somebody else works on the run {run_id}.", reason="run_taken")
    tables.agent_runs.put(replace(found, state=state, stopped=stopped, saved_at=now))


def load(tables: Tables, run_id: str) -> str | None:
    """The last state; None where there is none."""
    found = tables.agent_runs.get(run_id)
    return found.state if found is not None and found.state else None


def free(tables: Tables, run_id: str, holder: str) -> None:
    """Give a run back; nothing happens where somebody else has it by now."""
    found = tables.agent_runs.get(run_id)
    if found is None or found.holder != holder:
        return
    if found.state:
        tables.agent_runs.put(replace(found, holder=None, owner="", held_until=0.0))
    else:
        tables.agent_runs.remove(run_id)


def _is_held(run: StoredRun, now: float) -> bool:
    return run.holder is not None and run.held_until > now and not is_gone(run.owner)


# ---- the rows ----


class MemoryAgentRuns:
    """Rows in a dictionary."""

    def __init__(self) -> None:
        self._rows: dict[str, StoredRun] = {}

    def get(self, run_id: str) -> StoredRun | None:
        return self._rows.get(run_id)

    def put(self, run: StoredRun) -> None:
        self._rows[run.id] = run

    def extend(self, run_id: str, holder: str, until: float) -> bool:
        found = self._rows.get(run_id)
        if found is None or found.holder != holder:
            return False
        self._rows[run_id] = replace(found, held_until=until)
        return True

    def remove(self, run_id: str) -> None:
        self._rows.pop(run_id, None)

    def waiting(self, limit: int) -> list[StoredRun]:
        rows = [row for row in self._rows.values() if row.stopped == WAITING]
        return sorted(rows, key=lambda row: (row.saved_at, row.id), reverse=True)[:limit]

    def prune(self, before: float, most: int) -> int:
        old = [
            row.id
            for row in self._rows.values()
            if row.saved_at < before and row.held_until < before and row.stopped != WAITING
        ]
        for run_id in old[:most]:
            del self._rows[run_id]
        return len(old[:most])


_COLUMNS = "id, state, stopped, saved_at, holder, owner, held_until"
_PUT = (
    f"INSERT INTO agent_runs ({_COLUMNS}, v) VALUES (?, ?, ?, ?, ?, ?, ?, 1) "  # noqa: S608 - this module's own names
    "ON CONFLICT (id) DO UPDATE SET state = excluded.state, stopped = excluded.stopped, "
    "saved_at = excluded.saved_at, holder = excluded.holder, owner = excluded.owner, "
    "held_until = excluded.held_until, v = excluded.v"
)


class _Executor(Protocol):
    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any: ...


class SQLAgentRuns:
    """Rows in the SQL that SQLite and PostgreSQL share."""

    def __init__(self, db: _Executor) -> None:
        self._db = db

    def get(self, run_id: str) -> StoredRun | None:
        sql = f"SELECT {_COLUMNS} FROM agent_runs WHERE id = ?"  # noqa: S608
        row = self._db.execute(sql, (run_id,)).fetchone()
        return None if row is None else _run(row)

    def put(self, run: StoredRun) -> None:
        values = (run.id, run.state, run.stopped, run.saved_at, run.holder, run.owner, run.held_until)
        self._db.execute(_PUT, values)

    def extend(self, run_id: str, holder: str, until: float) -> bool:
        sql = "UPDATE agent_runs SET held_until = ? WHERE id = ? AND holder = ?"
        return bool(self._db.execute(sql, (until, run_id, holder)).rowcount == 1)

    def remove(self, run_id: str) -> None:
        self._db.execute("DELETE FROM agent_runs WHERE id = ?", (run_id,))

    def waiting(self, limit: int) -> list[StoredRun]:
        sql = (
            f"SELECT {_COLUMNS} FROM agent_runs WHERE stopped = 'escalated' "  # noqa: S608
            "ORDER BY saved_at DESC, id DESC LIMIT ?"
        )
        return [_run(row) for row in self._db.execute(sql, (limit,)).fetchall()]

    def prune(self, before: float, most: int) -> int:
        sql = (
            "DELETE FROM agent_runs WHERE id IN (SELECT id FROM agent_runs "
            "WHERE saved_at < ? AND held_until < ? AND stopped <> 'escalated' LIMIT ?)"
        )
        return int(self._db.execute(sql, (before, before, most)).rowcount)


def _run(row: Sequence[Any]) -> StoredRun:
    run_id, state, stopped, saved_at, holder, owner, held_until = row
    return StoredRun(
        id=run_id,
        state=state,
        stopped=stopped,
        saved_at=float(saved_at),
        holder=holder,
        owner=owner,
        held_until=float(held_until),
    )
