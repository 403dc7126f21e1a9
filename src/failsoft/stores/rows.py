"""Records and doubts as rows of a relational engine, and back."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from failsoft.ledger.records import RECORD_VERSION, Doubt, DoubtKind, DoubtState, Record
from failsoft.ledger.states import ClaimState
from failsoft.stores.tables import family_of, to_utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.ledger.records import Intent

__all__ = [
    "CLAIM_COLUMNS",
    "DOUBT_COLUMNS",
    "NEW_CLAIM_COLUMNS",
    "claim_row",
    "doubt_row",
    "new_claim_row",
    "read_claim",
    "read_doubt",
    "upsert",
]

# The tables' keys come first: see `upsert`.
_CLAIM_FIELDS = ("key", *(field.name for field in fields(Record) if field.name != "key"))
_DOUBT_FIELDS = tuple(field.name for field in fields(Doubt))
# Of a claim that nothing is known of; the other columns are empty.
_NEW_FIELDS = (
    "key",
    "scope",
    "run_id",
    "call_id",
    "tool",
    "tool_version",
    "fingerprint",
    "near_fingerprint",
    "arguments_hash",
    "owner_token",
    "protected",
    "resolvable_by",
    "idempotency_key",
)
NEW_CLAIM_COLUMNS = (
    *_NEW_FIELDS,
    "arguments",
    "v",
    "state",
    "owner",
    "abandoned",
    "lease_until",
    "created_at",
    "started_at",
    "key_made_at",
    "family",
)
CLAIM_COLUMNS = (*_CLAIM_FIELDS, "family")
DOUBT_COLUMNS = (*_DOUBT_FIELDS, "family")
_new_values = attrgetter(*_NEW_FIELDS)
_claim_values = attrgetter(*_CLAIM_FIELDS)
_doubt_values = attrgetter(*_DOUBT_FIELDS)


def claim_row(record: Record) -> tuple[Any, ...]:
    """The values of `CLAIM_COLUMNS`."""
    return (*map(_plain, _claim_values(record)), family_of(record.fingerprint, record.near_fingerprint))


def new_claim_row(intent: Intent, owner: str, now: float, family: str) -> tuple[Any, ...]:
    """The values of `NEW_CLAIM_COLUMNS`."""
    made_at = None if intent.idempotency_key is None else now
    until = now + intent.lease_s
    rest = (to_utf8(intent.arguments), RECORD_VERSION, "running", owner, 0, until, now, now, made_at, family)
    return (*map(_plain, _new_values(intent)), *rest)


def doubt_row(doubt: Doubt) -> tuple[Any, ...]:
    """The values of `DOUBT_COLUMNS`."""
    return (*map(_plain, _doubt_values(doubt)), family_of(doubt.fingerprint, doubt.near_fingerprint))


def upsert(table: str, columns: Sequence[str]) -> str:
    """Insert, or overwrite by the first column, which is the table's key."""
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    sql = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ({columns[0]}) DO UPDATE SET {changes}"  # noqa: S608
    return sql


def _plain(value: Any) -> Any:
    """A column's value: words instead of enumerations, and integers for flags, where the engines differ."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is bool:
        return int(value)
    return str(value) if isinstance(value, str) else value


def read_claim(row: Sequence[Any]) -> Record:
    """A record from the values of `CLAIM_COLUMNS`."""
    values = dict(zip(_CLAIM_FIELDS, row, strict=False))
    values["state"] = ClaimState(values["state"])
    values["abandoned"], values["protected"] = bool(values["abandoned"]), bool(values["protected"])
    return Record(**values)


def read_doubt(row: Sequence[Any]) -> Doubt:
    """A doubt from the values of `DOUBT_COLUMNS`."""
    values = dict(zip(_DOUBT_FIELDS, row, strict=False))
    values["kind"], values["state"] = DoubtKind(values["kind"]), DoubtState(values["state"])
    return Doubt(**values)
