"""The ledger in memory: as fast as it gets, gone with the process."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.ledger.decide import teller_of
from failsoft.ledger.records import Found
from failsoft.ledger.states import ClaimState
from failsoft.stores.agent_runs import MemoryAgentRuns
from failsoft.stores.engine import EngineStore
from failsoft.stores.tables import NOTHING, family_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.records import Doubt, Intent, Record, Settlement
    from failsoft.stores.sql_journal import SQLJournal
    from failsoft.stores.tables import Tables

__all__ = ["MemoryStore"]

T = TypeVar("T")


class MemoryStore(EngineStore):
    """A store that lives in this process. Every verb is done when it returns; nothing is queued."""

    is_at_hand = True

    def __init__(self, *, wall: Callable[[], float] = time.time) -> None:
        self._tables = _MemoryTables(wall)
        self._lock = threading.Lock()

    def now(self) -> float:
        """The clock that was handed in."""
        return self._tables.now()

    def _at_once(self, work: Callable[..., T], *args: Any) -> tuple[T] | None:
        with self._lock:
            return (work(self._tables, *args),)

    async def _run(
        self, work: Callable[[Tables], T], *, pending: T | None = None, is_long: bool = False
    ) -> T:
        with self._lock:
            return work(self._tables)

    def _run_soon(
        self,
        work: Callable[[Tables], T],
        on_done: Callable[[T], object] | Callable[[T | None], object] | None,
        *,
        is_kept: bool = True,
    ) -> None:
        with self._lock:
            value = work(self._tables)
        if on_done is not None:
            on_done(value)

    async def close(self) -> None:
        """Nothing to let go of."""

    def __repr__(self) -> str:
        return f"MemoryStore(claims={len(self._tables.claims)}, doubts={len(self._tables.all_doubts)})"


class _MemoryTables:
    """Dictionaries in the shape of the tables."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self.now = wall
        self.claims: dict[str, Record] = {}
        self.running_keys: dict[tuple[str, str, str], dict[str, None]] = {}
        self.all_doubts: dict[str, Doubt] = {}
        self.open_ids: dict[tuple[str, str, str], dict[str, None]] = {}
        self.told: dict[str, set[str]] = {}
        self.blobs: dict[str, tuple[str, str | None, str, float]] = {}
        self.agent_runs = MemoryAgentRuns()
        self._journal: SQLJournal | None = None

    @property
    def journal(self) -> SQLJournal:
        if self._journal is None:
            from failsoft.stores.sqlite import memory_journal  # a store without a journal needs no SQLite

            self._journal = memory_journal()
        return self._journal

    def found(self, intent: Intent) -> Found:
        family = (intent.scope, intent.tool, family_of(intent.fingerprint, intent.near_fingerprint))
        record = self.claims.get(intent.key)
        keys = self.running_keys.get(family)
        ids = self.open_ids.get(family)
        if record is None and not keys and not ids:
            return NOTHING
        running = tuple(self.claims[key] for key in keys) if keys else ()
        doubts = tuple(self.all_doubts[each] for each in ids) if ids else ()
        teller = teller_of(intent) if doubts else ""
        told = {doubt.id for doubt in doubts if teller in self.told.get(doubt.id, ())}
        return Found(record=record, running=running, doubts=doubts, told=told)

    def claim_if_new(self, intent: Intent, owner: str, now: float) -> bool:
        return False  # nothing is saved by it here

    def claim(self, key: str) -> Record | None:
        return self.claims.get(key)

    def put_claim(self, record: Record) -> None:
        self.claims[record.key] = record
        family = (record.scope, record.tool, family_of(record.fingerprint, record.near_fingerprint))
        is_running = record.state is ClaimState.RUNNING
        _note(self.running_keys, family, record.key, is_running)

    def settle_running(self, key: str, owner_token: str, settlement: Settlement, now: float) -> bool:
        record = self.claims.get(key)
        if record is None or record.owner_token != owner_token or record.doubt_id is not None:
            return False
        if record.state is not ClaimState.RUNNING:
            return False
        result, error = settlement.result, settlement.error
        self.put_claim(replace(record, state=settlement.state, result=result, error=error, settled_at=now))
        return True

    def running(self, scope: str | None) -> list[Record]:
        keys = [
            key for family, keys in self.running_keys.items() if scope in (None, family[0]) for key in keys
        ]
        return [self.claims[key] for key in keys]

    def claims_of_doubt(self, doubt_id: str) -> list[Record]:
        return [record for record in self.claims.values() if record.doubt_id == doubt_id]

    def doubt(self, doubt_id: str) -> Doubt | None:
        return self.all_doubts.get(doubt_id)

    def put_doubt(self, doubt: Doubt) -> None:
        self.all_doubts[doubt.id] = doubt
        family = (doubt.scope, doubt.tool, family_of(doubt.fingerprint, doubt.near_fingerprint))
        _note(self.open_ids, family, doubt.id, doubt.is_open)

    def doubts(self, scope: str | None, run_id: str | None, open_only: bool) -> list[Doubt]:
        return [
            doubt
            for doubt in self.all_doubts.values()
            if scope in (None, doubt.scope)
            and run_id in (None, doubt.run_id)
            and (doubt.is_open or not open_only)
        ]

    def put_told(self, doubt_id: str, teller: str) -> None:
        self.told.setdefault(doubt_id, set()).add(teller)

    def result(self, record: Record) -> str | None:
        return record.result

    def put_blob(self, handle: str, scope: str, run_id: str | None, text: str, now: float) -> None:
        self.blobs[handle] = (scope, run_id, text, now)

    def get_blob(self, handle: str, scope: str, run_id: str | None) -> str | None:
        found = self.blobs.get(handle)
        return found[2] if found is not None and found[:2] == (scope, run_id) else None

    def prune(self, before: float, most: int) -> int:  # all at once: nobody else waits for a memory
        ended = (ClaimState.SUCCEEDED, ClaimState.FAILED)
        keys = [r.key for r in self.claims.values() if r.state in ended and (r.settled_at or 0) < before]
        ids = [d.id for d in self.all_doubts.values() if not d.is_open and (d.resolved_at or 0) < before]
        handles = [handle for handle, blob in self.blobs.items() if blob[3] < before]
        for key in keys:
            del self.claims[key]
        for each in ids:
            del self.all_doubts[each]
            self.told.pop(each, None)
        for handle in handles:
            del self.blobs[handle]
        journal = 0 if self._journal is None else self._journal.prune(before, most)
        return len(keys) + len(ids) + len(handles) + journal + self.agent_runs.prune(before, most)


def _note(
    index: dict[tuple[str, str, str], dict[str, None]], family: tuple[str, str, str], name: str, present: bool
) -> None:
    """Keep one name in, or out of, an index without empty entries."""
    if present:
        index.setdefault(family, {})[name] = None
    elif (names := index.get(family)) is not None:
        names.pop(name, None)
        if not names:
            del index[family]
