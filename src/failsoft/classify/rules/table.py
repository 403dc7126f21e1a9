"""All families in one table, and the plan of a type: the rows that concern it, nearest class first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from . import agents, builtin, cloud, http_clients, providers, services, sql, stores
from .row import Row, type_keys

if TYPE_CHECKING:
    from failsoft.classify.verdict import Verdict

__all__ = ["ROWS", "Plan", "plan_of"]

ROWS: Final[tuple[Row, ...]] = (
    *builtin.ROWS,
    *http_clients.ROWS,
    *providers.ROWS,
    *cloud.ROWS,
    *sql.ROWS,
    *stores.ROWS,
    *services.ROWS,
    *agents.ROWS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to try for exceptions of one type.

    Args:
        rows: In this order.
        fixed: The verdict, where the first row needs no look at the exception itself.
        known: Whether a row names the type or a library's base of it; False where only builtins do.
    """

    rows: tuple[Row, ...]
    fixed: Verdict | None
    known: bool


def _index() -> dict[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for one in ROWS:
        for name in one.names:
            found[name] = (*found.get(name, ()), one)
    return found


_INDEX: Final = _index()


def plan_of(cls: type[BaseException]) -> Plan:
    """The plan of a type; costs some microseconds, so callers keep it."""
    rows: list[Row] = []
    known = False
    for one in cls.__mro__:
        found = _INDEX.get(type_keys(one)[0], ())
        known = known or bool(found and one.__module__ != "builtins")
        rows += (row for row in found if row not in rows)
    first = rows[0] if rows else None
    plain = first is not None and first.hidden and not (first.text or first.read or first.inner)
    fixed = first.judged if first is not None and plain else None
    if fixed is not None and fixed.weak:
        fixed = None
    return Plan(rows=tuple(rows), fixed=fixed, known=known)
