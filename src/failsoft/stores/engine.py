"""The port's verbs over an engine that runs one piece of work in one transaction."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from failsoft.core.errors import AgentError
from failsoft.ledger.records import Settled, Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import agent_runs, operations
from failsoft.stores.connection import StoreStats
from failsoft.stores.tables import to_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Doubt, Intent
    from failsoft.stores.agent_runs import StoredRun
    from failsoft.stores.connection import Trouble
    from failsoft.stores.tables import Tables
    from failsoft.stores.troubles import Troubles

__all__ = ["BLOB_LIMIT_CHARS", "EngineStore", "at_hand"]

T = TypeVar("T")

_NEVER_BEGUN = Settlement(state=ClaimState.FAILED)
_PENDING = Settled(ok=False, pending=True)
_PRUNE_ROWS = 2_000
_LONG_CHARS = 50_000
"""Writing a longer text takes milliseconds: the caller's event loop is left alone with it."""
BLOB_LIMIT_CHARS = 10_000_000
"""The rest of a longer output is not kept; nobody reads that much in pieces."""


class EngineStore(ABC):
    """A `LedgerStore` whose engine needs two verbs only: run this now, and run this soon."""

    is_at_hand: ClassVar[bool] = False
    """Whether the verbs without a wait are worth asking at all; see `at_hand`."""

    @property
    def troubles(self) -> Troubles | None:
        """Who is told of what could not be written in the background; None where everything is, at once."""
        return None

    @property
    def on_trouble(self) -> Callable[[Trouble], object] | None:
        """Told, on the store's thread, of what could not be written in the background."""
        return None if self.troubles is None else self.troubles.on_trouble

    @on_trouble.setter
    def on_trouble(self, told: Callable[[Trouble], object] | None) -> None:
        if self.troubles is not None:
            self.troubles.on_trouble = told

    def stats(self) -> StoreStats:
        """What could not be written, so far."""
        return StoreStats() if self.troubles is None else self.troubles.stats()

    @abstractmethod
    def now(self) -> float:
        """The store's wall time."""

    @abstractmethod
    async def _run(
        self, work: Callable[[Tables], T], *, pending: T | None = None, is_long: bool = False
    ) -> T:
        """Run `work` in a transaction, durable when it returns; raises `unavailable` where that cannot be.

        Args:
            pending: Given back instead of raising; the work is then tried again until it is durable.
            is_long: It takes more than a moment, and must not hold up the caller's event loop.
        """

    def _at_once(self, work: Callable[..., T], *args: Any) -> tuple[T] | None:
        """A tuple of what `work(tables, *args)` gave, durable, where that can be had without waiting."""
        return None

    @abstractmethod
    def _run_soon(
        self,
        work: Callable[[Tables], T],
        on_done: Callable[[T], object] | Callable[[T | None], object] | None,
        *,
        is_kept: bool = True,
    ) -> None:
        """Run `work` in a transaction soon.

        Args:
            on_done: Called with the work's value once it is durable.
            is_kept: Again and again until it is durable or the store is closed; otherwise once, and `on_done` is
                called with None where that failed.
        """

    def look_nowait(self, intent: Intent) -> Verdict | None:
        """What `look` says, where that can be had here and now; None: ask `look`."""
        done = self._at_once(operations.look, intent)
        return None if done is None else done[0]

    def begin_nowait(self, intent: Intent) -> Verdict | None:
        """What `begin` says, durable, where that can be had here and now; None: nothing was claimed, ask `begin`."""
        done = self._at_once(operations.begin, intent)
        return None if done is None else done[0]

    def settle_nowait(self, key: str, owner_token: str, settlement: Settlement) -> Settled | None:
        """What `settle` says, durable, where that can be had here and now; None: nothing was written, ask `settle`."""
        if _is_long(settlement.result):
            return None
        done = self._at_once(operations.settle, key, owner_token, settlement)
        return None if done is None else done[0]

    async def look(self, intent: Intent) -> Verdict:
        """See `LedgerStore.look`."""
        return await self._run(partial(operations.look, intent=intent))

    async def begin(self, intent: Intent) -> Verdict:
        """See `LedgerStore.begin`."""
        verdict = self.begin_nowait(intent)
        if verdict is not None:
            return verdict
        try:
            return await self._run(partial(operations.begin, intent=intent))
        except asyncio.CancelledError:
            # It may have been written by now, and nobody is left to run the body. Work is done in order of arrival.
            self.settle_soon(intent.key, intent.owner_token, _NEVER_BEGUN)
            raise
        except AgentError as error:
            if error.context.get("may_be_written"):
                self.settle_soon(intent.key, intent.owner_token, _NEVER_BEGUN)
            raise

    async def settle(self, key: str, owner_token: str, settlement: Settlement) -> Settled:
        """See `LedgerStore.settle`."""
        settled = self.settle_nowait(key, owner_token, settlement)
        if settled is not None:
            return settled
        work = partial(operations.settle, key=key, owner_token=owner_token, settlement=settlement)
        return await self._run(work, pending=_PENDING, is_long=_is_long(settlement.result))

    def settle_soon(
        self,
        key: str,
        owner_token: str,
        settlement: Settlement,
        on_done: Callable[[Settled], object] | None = None,
    ) -> None:
        """See `LedgerStore.settle_soon`."""
        work = partial(operations.settle, key=key, owner_token=owner_token, settlement=settlement)
        self._run_soon(work, on_done)

    async def renew(self, key: str, owner_token: str, lease_s: float, *, abandoned: bool = False) -> bool:
        """See `LedgerStore.renew`."""
        work = partial(
            operations.renew, key=key, owner_token=owner_token, lease_s=lease_s, abandoned=abandoned
        )
        return await self._run(work)

    async def doubts(
        self, scope: str | None = None, run_id: str | None = None, *, open_only: bool = True
    ) -> list[Doubt]:
        """See `LedgerStore.doubts`."""
        return await self._run(lambda tables: tables.doubts(scope, run_id, open_only))

    async def doubt(self, doubt_id: str) -> Doubt | None:
        """See `LedgerStore.doubt`."""
        return await self._run(partial(operations.doubt, doubt_id=doubt_id))

    async def resolve(
        self, doubt_id: str, *, happened: bool, result: str | None = None, by: str, evidence: str = ""
    ) -> Doubt:
        """See `LedgerStore.resolve`."""
        work = partial(
            operations.resolve, doubt_id=doubt_id, happened=happened, result=result, by=by, evidence=evidence
        )
        return await self._run(work)

    async def recover(self, scope: str | None = None) -> list[Doubt]:
        """See `LedgerStore.recover`."""
        return await self._run(partial(operations.recover, scope=scope))

    async def put_blob(self, scope: str, run_id: str | None, text: str) -> str:
        """See `LedgerStore.put_blob`."""
        handle = operations.new_handle()
        work = partial(operations.put_blob, handle=handle, scope=scope, run_id=run_id, text=_bounded(text))
        await self._run(work, is_long=_is_long(text))
        return handle

    def put_blob_soon(self, scope: str, run_id: str | None, text: str) -> str:
        """See `LedgerStore.put_blob_soon`."""
        handle = operations.new_handle()
        work = partial(operations.put_blob, handle=handle, scope=scope, run_id=run_id, text=_bounded(text))
        self._run_soon(work, None)
        return handle

    async def get_blob(self, handle: str, scope: str, run_id: str | None) -> str | None:
        """See `LedgerStore.get_blob`."""
        return await self._run(lambda tables: tables.get_blob(handle, scope, run_id))

    # ---- runs of agents ----

    async def save_run(self, run_id: str, state: Mapping[str, Any], *, holder: str | None = None) -> None:
        """Keep the state of an agent's run, in place of the one before; durable when it returns.

        Args:
            run_id: The run's id.
            state: JSON-able; `stopped` in it says how the run stopped, empty while it goes on.
            holder: The token that holds the run; None where nobody does.

        Raises:
            Conflict: reason `run_taken`: somebody else works on the run.
            AgentError: kind `unavailable`.
        """
        text, stopped = _as_text(state), str(state.get("stopped") or "")
        await self._run(
            lambda tables: agent_runs.save(tables, to_utf8(run_id), text, to_utf8(stopped), holder)
        )

    async def load_run(self, run_id: str) -> dict[str, Any] | None:
        """The last state of an agent's run; None for an unknown one."""
        text = await self._run(lambda tables: agent_runs.load(tables, to_utf8(run_id)))
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        return found

    async def hold_run(self, run_id: str, holder: str, lease_s: float) -> bool:
        """Take a run, so that nobody else goes on with it; again to keep it for `lease_s` seconds from now.

        Returns:
            False while somebody else has it. A holder whose lease is over, or whose process is gone, has it no more.
        """
        return await self._run(lambda tables: agent_runs.hold(tables, to_utf8(run_id), holder, lease_s))

    def free_run_soon(self, run_id: str, holder: str) -> None:
        """Give a run back, without waiting."""
        self._run_soon(lambda tables: agent_runs.free(tables, to_utf8(run_id), holder), None)

    async def waiting_runs(self, limit: int = 100) -> list[StoredRun]:
        """The runs that wait for a person, the newest first."""
        return await self._run(lambda tables: tables.agent_runs.waiting(limit))

    async def prune(self, older_than_s: float) -> int:
        """See `LedgerStore.prune`. In parts, between which others write; cancelled, it has done some of them."""
        before, gone = self.now() - older_than_s, 0
        while True:
            part = await self._run(partial(_prune_part, before=before), is_long=True)
            gone += part
            if part < _PRUNE_ROWS:
                return gone

    @abstractmethod
    async def close(self) -> None:
        """See `LedgerStore.close`."""


def _as_text(state: Mapping[str, Any]) -> str:
    """JSON as it is; with escapes only where the text could not be stored otherwise, such as half a surrogate pair."""
    text = json.dumps(state, ensure_ascii=False, default=str)
    return text if to_utf8(text) == text else json.dumps(state, default=str)


def _is_long(text: str | None) -> bool:
    return text is not None and len(text) > _LONG_CHARS


def _bounded(text: str) -> str:
    if len(text) <= BLOB_LIMIT_CHARS:
        return text
    return f"{text[:BLOB_LIMIT_CHARS]}\n[{len(text) - BLOB_LIMIT_CHARS} more characters were not kept]"


def _prune_part(tables: Tables, before: float) -> int:
    return tables.prune(before, _PRUNE_ROWS)


def at_hand(store: object) -> EngineStore | None:
    """The store where its verbs without a wait speak for those with one, else None.

    Not where a subclass, or whoever wrapped the object, has put a verb of its own in the place of one of those.
    """
    if not isinstance(store, EngineStore) or not store.is_at_hand:
        return None
    layers = (vars(store), *(vars(layer) for layer in type(store).__mro__))
    for verb in ("look", "begin", "settle"):
        first = next(layer for layer in layers if verb in layer or f"{verb}_nowait" in layer)
        if f"{verb}_nowait" not in first:
            return None
    return store
