"""What an engine offers to the ledger's operations: rows in and rows out, inside of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from failsoft.ledger.records import Found

if TYPE_CHECKING:
    from failsoft.ledger.records import Doubt, Intent, Record, Settlement
    from failsoft.stores.agent_runs import AgentRuns
    from failsoft.stores.sql_journal import SQLJournal

__all__ = ["NOTHING", "Tables", "family_of", "to_utf8"]

NOTHING = Found()
"""What `found` gives where nothing is known: the usual case, told apart by identity."""


def family_of(fingerprint: str, near_fingerprint: str) -> str:
    """What running claims and open doubts are looked up by: the near fingerprint where there is one."""
    return near_fingerprint or fingerprint


def to_utf8(text: str) -> str:
    """Lone surrogates would break every engine's text, and with it the whole commit."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Tables(Protocol):
    """One engine's rows. Synchronous: called on the engine's own thread, or under its lock."""

    @property
    def journal(self) -> SQLJournal:
        """The journal's rows."""
        ...

    @property
    def agent_runs(self) -> AgentRuns:
        """The rows of agents' runs."""
        ...

    def now(self) -> float:
        """The store's wall time."""
        ...

    def found(self, intent: Intent) -> Found:
        """All that `decide` needs, with the result of the own record where it has succeeded."""
        ...

    def claim_if_new(self, intent: Intent, owner: str, now: float) -> bool:
        """The fast path: write the claim where `found` would be `NOTHING`, in one round trip."""
        ...

    def claim(self, key: str) -> Record | None:
        """One claim, without its result."""
        ...

    def put_claim(self, record: Record) -> None:
        """Insert or overwrite one claim."""
        ...

    def settle_running(self, key: str, owner_token: str, settlement: Settlement, now: float) -> bool:
        """The fast path: compare-and-set of a running claim that no doubt is about."""
        ...

    def running(self, scope: str | None) -> list[Record]:
        """The running claims of a scope, or of all."""
        ...

    def claims_of_doubt(self, doubt_id: str) -> list[Record]:
        """The claims whose `doubt_id` this is: the doubtful call's, and those of its repeats under the same key."""
        ...

    def doubt(self, doubt_id: str) -> Doubt | None:
        """One doubt."""
        ...

    def put_doubt(self, doubt: Doubt) -> None:
        """Insert or overwrite one doubt."""
        ...

    def doubts(self, scope: str | None, run_id: str | None, open_only: bool) -> list[Doubt]:
        """Doubts, oldest first."""
        ...

    def put_told(self, doubt_id: str, teller: str) -> None:
        """Remember that a caller was answered with this doubt."""
        ...

    def result(self, record: Record) -> str | None:
        """The result of a claim, wherever it is kept."""
        ...

    def put_blob(self, handle: str, scope: str, run_id: str | None, text: str, now: float) -> None:
        """Keep one text."""
        ...

    def get_blob(self, handle: str, scope: str, run_id: str | None) -> str | None:
        """One text of this scope and run."""
        ...

    def prune(self, before: float, most: int) -> int:
        """Delete what ended before, at most so many rows of each kind; how many rows went."""
        ...
