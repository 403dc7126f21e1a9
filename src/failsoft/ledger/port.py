"""What the harness asks of a ledger's store. Any object with these verbs fits; `failsoft.stores.open_store` makes one.

A protected call costs one `look`, one `begin` before the body and one `settle` after it:

    verdict = await store.look(intent)        # before the policies: may this call run at all?
    verdict = await store.begin(intent)       # after the last permit: atomic, durable when it returns `Go`
    ...the body...
    settled = await store.settle(intent.key, intent.owner_token, Settlement(state=..., result=...))

Every verb may be used from any thread and any event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Doubt, Intent, Settled, Settlement

__all__ = ["LedgerStore"]


class LedgerStore(Protocol):
    """Keeps claims, doubts and cut outputs."""

    def now(self) -> float:
        """The store's wall time, seconds since the epoch; leases are measured by it."""
        ...

    async def look(self, intent: Intent) -> Verdict:
        """What `begin` would say now, without claiming anything.

        It may write: a claim that has lapsed becomes a doubt, and a `NearDoubt` is remembered as told.

        Raises:
            AgentError: kind `unavailable`, reason `ledger_unavailable`, effect `none`.
        """
        ...

    async def begin(self, intent: Intent) -> Verdict:
        """Claim the key, atomically; durable when it returns `Go`. Any other verdict claims nothing.

        A caller that is cancelled while it waits claims nothing either: what was written is taken back.

        Raises:
            AgentError: kind `unavailable`, reason `ledger_unavailable`, effect `none`: the body must not run.
        """
        ...

    async def settle(self, key: str, owner_token: str, settlement: Settlement) -> Settled:
        """Say how a claim ended; durable when `ok`. Compare-and-set on the owner's token.

        The late owner of a doubt resolves it. A success after somebody said "did not happen" opens a doubt of its own,
        of kind `double_effect`. Never raises: what cannot be written is `pending`, is tried again by the store, and
        is reported to the store's `on_trouble`; a claim whose settlement never got through lapses into a doubt.
        """
        ...

    def settle_soon(
        self,
        key: str,
        owner_token: str,
        settlement: Settlement,
        on_done: Callable[[Settled], object] | None = None,
    ) -> None:
        """The same from any thread, without waiting: for the late outcome of a body that was left alone.

        Args:
            on_done: Called once, from a thread of the store's, when it is written.
        """
        ...

    async def renew(self, key: str, owner_token: str, lease_s: float, *, abandoned: bool = False) -> bool:
        """Keep a claim running for another `lease_s` seconds from now.

        Args:
            abandoned: The caller has been answered and the body runs on. From then on identical calls of other runs
                meet it too. Cannot be taken back.

        Returns:
            False when the token no longer owns a running claim.
        """
        ...

    async def doubts(
        self, scope: str | None = None, run_id: str | None = None, *, open_only: bool = True
    ) -> list[Doubt]:
        """The doubts of a scope or a run, oldest first; all of them where neither is given."""
        ...

    async def doubt(self, doubt_id: str) -> Doubt | None:
        """One doubt; in state `running` where the body of an abandoned claim still runs."""
        ...

    async def resolve(
        self, doubt_id: str, *, happened: bool, result: str | None = None, by: str, evidence: str = ""
    ) -> Doubt:
        """Say whether it happened. Saying the same twice is fine.

        Args:
            happened: True makes the claim `succeeded`; False makes it `failed`, so that a fresh call may run.
            result: What came back, in the caller's own encoding, where it is known.
            by: Who says so: a name, `model`, `verify`, `owner`.
            evidence: Why they say so.

        Raises:
            AgentError: kind `not_found`; kind `conflict`, reason `still_running` or `already_resolved`;
                kind `unavailable`.
        """
        ...

    async def recover(self, scope: str | None = None) -> list[Doubt]:
        """Turn running claims whose lease is over, or whose process is gone, into doubts.

        Returns:
            The doubts that this opened.
        """
        ...

    async def put_blob(self, scope: str, run_id: str | None, text: str) -> str:
        """Keep a text that is too long for the model.

        Returns:
            A handle; good only together with the same scope and run.
        """
        ...

    def put_blob_soon(self, scope: str, run_id: str | None, text: str) -> str:
        """The same from any thread, without waiting; a `get_blob` that is asked for later finds the text."""
        ...

    async def get_blob(self, handle: str, scope: str, run_id: str | None) -> str | None:
        """The text; None for an unknown handle, or one of another scope or run."""
        ...

    async def prune(self, older_than_s: float) -> int:
        """Forget claims, resolved doubts and texts that ended more than this many seconds ago.

        What is running or in doubt stays.

        Returns:
            How many rows are gone.
        """
        ...

    async def close(self) -> None:
        """Write what is queued and let go of files and connections; safe to call twice."""
        ...
