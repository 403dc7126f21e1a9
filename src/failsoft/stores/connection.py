"""What the writer asks of an engine, and what it tells of trouble with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from failsoft.stores.tables import Tables

__all__ = ["Connection", "StoreStats", "Trouble"]


class Connection(Protocol):
    """An engine's connection, used by one thread at a time."""

    @property
    def tables(self) -> Tables:
        """The rows, inside of the transaction."""
        ...

    def begin(self, *, wait: bool) -> None:
        """Begin a transaction that may write; `wait` for those of other processes, or raise at once."""
        ...

    def commit(self) -> None:
        """Make it durable."""
        ...

    def rollback(self) -> None:
        """Undo it; never raises."""
        ...

    def is_lost(self, error: BaseException) -> bool:
        """Whether a new connection is needed after this error."""
        ...

    def is_trouble(self, error: BaseException) -> bool:
        """Whether this error is the engine's, and may pass; False for a fault in the work itself."""
        ...

    def close(self) -> None:
        """Let go; never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that a store could not do in the background, or the end of that.

    Args:
        what: `settlement_pending` (will be tried again), `settlement_lost` (given up; the claim will lapse into a
            doubt), `settlement_written` (what was pending is written now), or `journal_lost`.
        count: How many records it is about.
        error: What the engine said.
    """

    what: str
    count: int = 1
    error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Whether it tells of an end."""
        return self.what == "settlement_written"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store could not write, since it was made.

    Args:
        pending: Settlements that wait in this process for the store to come back.
        lost: Settlements that were given up; their claims lapse into doubts.
        journal_lost: Events that are in no journal.
    """

    pending: int = 0
    lost: int = 0
    journal_lost: int = 0
