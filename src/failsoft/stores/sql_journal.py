"""The journal's rows in SQL: events as they came, and the runs, calls and attempts that follow from them."""

# ruff: noqa: S608 - the names in the statements are this package's own; every value is a parameter

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.core.events import Event, EventName
from failsoft.ledger.entries import AttemptEntry, CallEntry, RunEntry, ToolCounts
from failsoft.stores.tables import to_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Executor", "SQLJournal"]

_ENDS = {
    EventName.CALL_FINISHED: True,
    EventName.CALL_REPLAYED: True,
    EventName.CALL_JOINED: True,
    EventName.CALL_FAILED: False,
    EventName.CALL_REFUSED: False,
}
_EVENT = (
    "INSERT INTO events (name, at, tool, call_id, run_id, attempt, data, v) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_CALL_COLUMNS = "id, run_id, tool, at, name, ok, kind, reason, attempts, duration_s, data"
_CALL = f"INSERT INTO calls ({_CALL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ATTEMPT_COLUMNS = "call_id, run_id, number, tool, at, kind, reason, duration_s, data"
_ATTEMPT = f"INSERT INTO attempts ({_ATTEMPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RUN_COLUMNS = "id, started_at, last_at, ended_at, state, data"
_RUN = (
    "INSERT INTO runs (id, started_at, last_at, data) VALUES (?, ?, ?, '{}') "
    "ON CONFLICT (id) DO UPDATE SET last_at = excluded.last_at"
)
_RUN_END = "UPDATE runs SET ended_at = ?, state = ?, data = ? WHERE id = ?"

_PRUNE = tuple(
    f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {at} < ? LIMIT ?)"
    for table, key, at in (
        ("calls", "seq", "at"),
        ("attempts", "seq", "at"),
        ("events", "seq", "at"),
        ("runs", "id", "last_at"),
    )
)


class Executor(Protocol):
    """What a connection must do: `?` marks a parameter."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any:
        """Run one statement; gives a cursor."""
        ...


class SQLJournal:
    """Journal rows over one connection."""

    def __init__(self, db: Executor) -> None:
        self._db = db

    def put_events(self, events: Sequence[Event]) -> None:
        """Append, and keep runs, calls and attempts up to date."""
        run_times: dict[str, tuple[float, float]] = {}
        for event in events:
            data = _dumps(event.data)
            values = (
                str(event.name),
                event.at,
                event.tool,
                event.call_id,
                event.run_id,
                event.attempt,
                data,
                event.v,
            )
            self._db.execute(_EVENT, values)
            if event.run_id is not None:
                first, last = run_times.get(event.run_id, (event.at, event.at))
                run_times[event.run_id] = (min(first, event.at), max(last, event.at))
            if event.name in _ENDS:
                self._db.execute(_CALL, _call_row(event, data))
            elif event.name is EventName.ATTEMPT_FAILED:
                self._db.execute(_ATTEMPT, _attempt_row(event, data))
        for run_id, (first, last) in run_times.items():
            self._db.execute(_RUN, (run_id, first, last))
        for event in events:
            if event.name is EventName.RUN_FINISHED and event.run_id is not None:
                state = _text(event.data.get("state") or event.data.get("stop_reason"))
                self._db.execute(_RUN_END, (event.at, state, _dumps(event.data), event.run_id))

    def prune(self, before: float, most: int) -> int:
        """Forget what happened before, at most so many rows of each kind; how many rows went."""
        return sum(int(self._db.execute(sql, (before, most)).rowcount) for sql in _PRUNE)

    def runs(self, limit: int) -> list[RunEntry]:
        """The newest runs first."""
        rows = self._db.execute(
            f"SELECT {_RUN_COLUMNS} FROM runs ORDER BY started_at DESC, id LIMIT ?", (limit,)
        )
        return [_read_run(row) for row in rows.fetchall()]

    def run(self, run_id: str) -> RunEntry | None:
        """One run."""
        row = self._db.execute(f"SELECT {_RUN_COLUMNS} FROM runs WHERE id = ?", (run_id,)).fetchone()
        return None if row is None else _read_run(row)

    def calls(self, run_id: str | None, limit: int) -> list[CallEntry]:
        """The calls of a run, or the newest of all, in the order in which they ended."""
        where, values = ("WHERE run_id = ?", (run_id,)) if run_id is not None else ("", ())
        sql = f"SELECT seq, {_CALL_COLUMNS} FROM calls {where} ORDER BY seq DESC LIMIT ?"
        names = ("seq", *_CALL_COLUMNS.split(", "))
        rows = [
            dict(zip(names, row, strict=True)) for row in self._db.execute(sql, (*values, limit)).fetchall()
        ]
        return [
            CallEntry(**{**r, "ok": bool(r["ok"]), "data": json.loads(r["data"])}) for r in reversed(rows)
        ]

    def attempts(self, run_id: str, limit: int) -> list[AttemptEntry]:
        """The failed attempts of a run."""
        sql = f"SELECT seq, {_ATTEMPT_COLUMNS} FROM attempts WHERE run_id = ? ORDER BY seq LIMIT ?"
        names = ("seq", *_ATTEMPT_COLUMNS.split(", "))
        rows = [
            dict(zip(names, row, strict=True)) for row in self._db.execute(sql, (run_id, limit)).fetchall()
        ]
        return [AttemptEntry(**{**row, "data": json.loads(row["data"])}) for row in rows]

    def events(self, run_id: str | None, after: int, limit: int) -> list[tuple[int, Event]]:
        """Events with their places, in order, from behind the place `after`."""
        where, values = ("AND run_id = ?", (run_id,)) if run_id is not None else ("", ())
        sql = (
            "SELECT seq, name, at, tool, call_id, run_id, attempt, data, v FROM events "
            f"WHERE seq > ? {where} ORDER BY seq LIMIT ?"
        )
        return [_read_event(row) for row in self._db.execute(sql, (after, *values, limit)).fetchall()]

    def troubles(self, since: float, most: int) -> list[Event]:
        """The last events that tell of the store itself, oldest first."""
        rows = self._db.execute(
            "SELECT seq, name, at, tool, call_id, run_id, attempt, data, v FROM events "
            "WHERE name IN ('store_trouble', 'store_recovered') AND at >= ? ORDER BY seq DESC LIMIT ?",
            (since, most),
        ).fetchall()
        return [_read_event(row)[1] for row in reversed(rows)]

    def counts(self, since: float) -> list[ToolCounts]:
        """How calls ended, by tool."""
        sql = (
            "SELECT tool, kind, count(*), sum(1 - ok), sum(attempts) FROM calls WHERE at >= ? "
            "GROUP BY tool, kind ORDER BY tool, kind"
        )
        tools: dict[str, list[tuple[Any, ...]]] = {}
        for tool, *rest in self._db.execute(sql, (since,)).fetchall():
            tools.setdefault(tool, []).append(tuple(rest))
        return [_counts(tool, rows) for tool, rows in tools.items()]


def _counts(tool: str, rows: list[tuple[Any, ...]]) -> ToolCounts:
    return ToolCounts(
        tool=tool,
        calls=sum(int(row[1]) for row in rows),
        failed=sum(int(row[2]) for row in rows),
        attempts=sum(int(row[3]) for row in rows),
        kinds={row[0]: int(row[1]) for row in rows if row[0] is not None},
    )


def _call_row(event: Event, data: str) -> tuple[Any, ...]:
    get = event.data.get
    ends = (str(event.name), int(_ENDS[event.name]), _text(get("kind")), _text(get("reason")))
    who = (event.call_id or "", event.run_id, event.tool or "", event.at)
    return (*who, *ends, event.attempt, get("duration_s"), data)


def _attempt_row(event: Event, data: str) -> tuple[Any, ...]:
    get = event.data.get
    who = (event.call_id or "", event.run_id, event.attempt, event.tool or "", event.at)
    return (*who, _text(get("kind")), _text(get("reason")), get("duration_s"), data)


def _read_run(row: Sequence[Any]) -> RunEntry:
    run_id, started_at, last_at, ended_at, state, data = row
    return RunEntry(
        id=run_id,
        started_at=started_at,
        last_at=last_at,
        ended_at=ended_at,
        state=state,
        data=json.loads(data),
    )


def _read_event(row: Sequence[Any]) -> tuple[int, Event]:
    seq, name, at, tool, call_id, run_id, attempt, data, v = row
    # A name that a newer release has written stays a plain word.
    known = EventName(name) if name in EventName._value2member_map_ else name
    event = Event(
        name=known,
        at=at,
        tool=tool,
        call_id=call_id,
        run_id=run_id,
        attempt=attempt,
        data=json.loads(data),
        v=v,
    )
    return int(seq), event


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _dumps(data: Mapping[str, Any]) -> str:
    """JSON of anything: what is not JSON is printed."""
    try:
        return json.dumps(dict(data), default=str)
    except (TypeError, ValueError):  # keys that are no text, values that contain themselves
        return json.dumps({"text": to_utf8(str(data))})
