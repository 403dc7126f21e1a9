"""What the checks of a store are written with."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError
from failsoft.ledger.decide import Go
from failsoft.ledger.key import identity_of, key_of
from failsoft.ledger.records import Intent, Settled, Settlement
from failsoft.ledger.states import ClaimState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.ledger.port import LedgerStore
    from failsoft.ledger.records import Doubt

__all__ = ["STORE_CHECKS", "StoreCheck", "Wall", "make_intent"]

SUCCEEDED, FAILED, IN_DOUBT = ClaimState.SUCCEEDED, ClaimState.FAILED, ClaimState.IN_DOUBT
StoreCheck = Callable[["LedgerStore", "Wall"], Awaitable[None]]
STORE_CHECKS: dict[str, StoreCheck] = {}


class Wall:
    """Wall time that a test moves by hand."""

    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds


def make_intent(
    arguments: Mapping[str, Any] | None = None,
    *,
    run_id: str | None = "run_1",
    tool: str = "pay",
    scope: str = "default",
    occurrence: int = 1,
    key: str | None = None,
    **fields: Any,
) -> Intent:
    """An intent as a harness would make it; `fields` overrides."""
    identity = identity_of(tool, arguments or {}, key=key)
    values: dict[str, Any] = {
        "key": key_of(scope, run_id, tool, identity.fingerprint, occurrence, key),
        "scope": scope,
        "run_id": run_id,
        "call_id": f"toolu_{secrets.token_hex(3)}",
        "tool": tool,
        "fingerprint": identity.fingerprint,
        "near_fingerprint": identity.near_fingerprint,
        "arguments_hash": identity.arguments_hash,
        "arguments": str(dict(arguments or {})),
        "owner_token": secrets.token_hex(8),
        "lease_s": 60.0,
        "protected": True,
        "keyed": key is not None,
    }
    return Intent(**{**values, **fields})


def check(fn: StoreCheck) -> StoreCheck:
    STORE_CHECKS[fn.__name__] = fn
    return fn


def must(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(what)


async def begin(store: LedgerStore, intent: Intent, wanted: type = Go) -> Any:
    for verb in (store.look, store.begin):
        verdict = await verb(intent)
        must(isinstance(verdict, wanted), f"{verb.__name__}: wanted {wanted.__name__}, got {verdict!r}")
    return verdict


async def end(store: LedgerStore, intent: Intent, state: ClaimState, **fields: Any) -> Settled:
    return await store.settle(intent.key, intent.owner_token, Settlement(state=state, **fields))


async def doubtful(store: LedgerStore, intent: Intent) -> Doubt:
    await begin(store, intent)
    settled = await end(store, intent, IN_DOUBT, known="timed out after 30 s")
    must(settled.ok and settled.doubt is not None, f"no doubt was opened: {settled!r}")
    if settled.doubt is None:
        raise AssertionError
    return settled.doubt


async def refused(awaitable: Awaitable[Any], reason: str) -> None:
    try:
        await awaitable
    except AgentError as error:
        must(error.reason == reason, f"wanted reason {reason!r}, got {error.reason!r}")
    else:
        raise AssertionError(f"wanted an error with reason {reason!r}, got none")
