"""The tables of a relational store, as numbered steps forward.

Rules of this file:

1. A released step never changes; a change is a new step.
2. A step only adds, so that the release before can still read what it knows.
3. A store that is newer than this code is refused, not guessed at.

`{text}`, `{real}`, `{big}` stand for the engine's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SCHEMA_VERSION", "STEPS", "SchemaTooNewError", "migrate"]

_STEP_1 = (
    """CREATE TABLE claims (
        v INTEGER NOT NULL, key {text} PRIMARY KEY, scope {text} NOT NULL, run_id {text}, call_id {text} NOT NULL,
        tool {text} NOT NULL, tool_version {text} NOT NULL, fingerprint {text} NOT NULL,
        near_fingerprint {text} NOT NULL, arguments_hash {text} NOT NULL, arguments {text} NOT NULL,
        state {text} NOT NULL, owner_token {text} NOT NULL, owner {text} NOT NULL, lease_until {real} NOT NULL,
        abandoned {bool} NOT NULL, protected {bool} NOT NULL, resolvable_by {text} NOT NULL,
        idempotency_key {text}, key_made_at {real}, doubt_id {text}, result {text}, error {text},
        created_at {real} NOT NULL, started_at {real} NOT NULL, settled_at {real}, family {text} NOT NULL
    ){keyed}""",
    "CREATE INDEX claims_running ON claims (scope, tool, family) WHERE state = 'running'",
    "CREATE INDEX claims_doubtful ON claims (doubt_id) WHERE doubt_id IS NOT NULL",
    """CREATE TABLE doubts (
        id {text} PRIMARY KEY, kind {text} NOT NULL, key {text} NOT NULL, scope {text} NOT NULL, run_id {text},
        call_id {text} NOT NULL, tool {text} NOT NULL, tool_version {text} NOT NULL, fingerprint {text} NOT NULL,
        near_fingerprint {text} NOT NULL, arguments {text} NOT NULL, since {real} NOT NULL, known {text} NOT NULL,
        resolvable_by {text} NOT NULL, state {text} NOT NULL, owner_token {text} NOT NULL,
        idempotency_key {text}, key_made_at {real}, resolved_at {real}, resolved_by {text}, evidence {text},
        v INTEGER NOT NULL, family {text} NOT NULL
    )""",
    "CREATE INDEX doubts_open ON doubts (scope, tool, family) WHERE state = 'open'",
    "CREATE TABLE told (doubt_id {text} NOT NULL, teller {text} NOT NULL, PRIMARY KEY (doubt_id, teller))",
    """CREATE TABLE blobs (
        handle {text} PRIMARY KEY, scope {text} NOT NULL, run_id {text}, body {text} NOT NULL,
        created_at {real} NOT NULL
    )""",
    """CREATE TABLE runs (
        id {text} PRIMARY KEY, started_at {real} NOT NULL, last_at {real} NOT NULL, ended_at {real}, state {text},
        data {text} NOT NULL
    )""",
    "CREATE INDEX runs_last ON runs (last_at)",
    """CREATE TABLE calls (
        seq {serial}, id {text} NOT NULL, run_id {text}, tool {text} NOT NULL, at {real} NOT NULL,
        name {text} NOT NULL, ok {bool} NOT NULL, kind {text}, reason {text}, attempts INTEGER NOT NULL,
        duration_s {real}, data {text} NOT NULL
    )""",
    "CREATE INDEX calls_run ON calls (run_id, seq)",
    "CREATE INDEX calls_at ON calls (at)",
    """CREATE TABLE attempts (
        seq {serial}, call_id {text} NOT NULL, run_id {text}, number INTEGER NOT NULL, tool {text} NOT NULL,
        at {real} NOT NULL, kind {text}, reason {text}, duration_s {real}, data {text} NOT NULL
    )""",
    "CREATE INDEX attempts_run ON attempts (run_id, seq)",
    "CREATE INDEX attempts_at ON attempts (at)",
    """CREATE TABLE events (
        seq {serial}, name {text} NOT NULL, at {real} NOT NULL, tool {text}, call_id {text}, run_id {text},
        attempt INTEGER NOT NULL, data {text} NOT NULL, v INTEGER NOT NULL
    )""",
    "CREATE INDEX events_run ON events (run_id, seq)",
    "CREATE INDEX events_at ON events (at)",
)

_STEP_2 = (
    """CREATE TABLE agent_runs (
        id {text} PRIMARY KEY, state {text} NOT NULL, stopped {text} NOT NULL, saved_at {real} NOT NULL,
        holder {text}, owner {text} NOT NULL, held_until {real} NOT NULL, v INTEGER NOT NULL
    )""",
    "CREATE INDEX agent_runs_stopped ON agent_runs (stopped, saved_at)",
)

STEPS: tuple[tuple[str, ...], ...] = (_STEP_1, _STEP_2)
SCHEMA_VERSION = len(STEPS)


class SchemaTooNewError(Exception):
    """The store was written by a newer release."""


class _Cursor(Protocol):
    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any: ...


def migrate(cursor: _Cursor, types: Mapping[str, str], *, upto: int = SCHEMA_VERSION) -> int:
    """Bring the tables to a version, inside of the caller's transaction.

    Args:
        cursor: Of the engine; the caller has made sure that nobody else migrates now.
        types: The engine's words for `{text}` and its like.
        upto: For tests of the steps themselves.

    Returns:
        The version that was found.

    Raises:
        SchemaTooNewError: If it is newer than this code.
    """
    cursor.execute("CREATE TABLE IF NOT EXISTS failsoft_schema (version INTEGER NOT NULL)")
    row = cursor.execute("SELECT max(version) FROM failsoft_schema").fetchone()
    version = int(row[0] or 0)
    if version > SCHEMA_VERSION:
        raise SchemaTooNewError(
            f"the store has schema version {version}, this failsoft knows {SCHEMA_VERSION}; upgrade failsoft"
        )
    for number in range(version + 1, upto + 1):
        for statement in STEPS[number - 1]:
            cursor.execute(statement.format_map(types))
        # A whole number that this loop counts; engines differ in how they mark parameters.
        cursor.execute(f"INSERT INTO failsoft_schema (version) VALUES ({number:d})")  # noqa: S608
    return version
