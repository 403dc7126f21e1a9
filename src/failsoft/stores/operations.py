"""The ledger's verbs over any engine's tables, each inside of one transaction."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.core.errors import make_error
from failsoft.ledger.decide import Go, NearDoubt, Replay, Verdict, decide, lapsed, teller_of
from failsoft.ledger.records import (
    Doubt,
    DoubtKind,
    DoubtState,
    Record,
    Settled,
    Settlement,
    doubt_id_of,
)
from failsoft.ledger.states import ClaimState, check
from failsoft.stores.owner import is_gone, this_process
from failsoft.stores.tables import NOTHING, to_utf8

if TYPE_CHECKING:
    from failsoft.ledger.records import Found, Intent
    from failsoft.stores.tables import Tables

__all__ = [
    "begin",
    "doubt",
    "go",
    "look",
    "new_handle",
    "put_blob",
    "recover",
    "renew",
    "resolve",
    "settle",
    "verdict_of",
]

_GO = Go()
_SETTLED = Settled(ok=True)
_LAPSED = "It was begun, and whoever ran it went away before saying how it ended."
_DOUBLE = "It was said that it did not happen, and then the first attempt reported that it did."


def verdict_of(found: Found, intent: Intent, now: float, *, is_idle: bool) -> Verdict | None:
    """The verdict on what was read outside of a transaction; None where it must be read again inside of one.

    Args:
        is_idle: Whether this process has written all that it has queued.
    """
    if found is NOTHING:
        return go(intent)
    if found.running and lapsed(found, now, is_gone):
        return None
    verdict = decide(found, intent, now)
    # An old read that lets a call go or replays it is harmless: `begin` looks again, and a success stays one. One that
    # refuses must know what this process has queued, such as the end of the very claim that it met.
    is_certain = is_idle or isinstance(verdict, (Go, Replay))
    return verdict if is_certain and not isinstance(verdict, NearDoubt) else None


def look(tables: Tables, intent: Intent) -> Verdict:
    """Decide, after turning lapsed claims into doubts; remembers what was told."""
    now = tables.now()
    found = tables.found(intent)
    if found.running:
        gone = lapsed(found, now, is_gone)
        for record in gone:
            _doubt_of(tables, record, _LAPSED, now)
        if gone:
            found = tables.found(intent)
    verdict = decide(found, intent, now)
    if isinstance(verdict, NearDoubt):
        tables.put_told(verdict.doubt.id, teller_of(intent))
    return verdict


def go(intent: Intent) -> Go:
    """The verdict where nothing is known."""
    return _GO if intent.idempotency_key is None else Go(idempotency_key=intent.idempotency_key)


def begin(tables: Tables, intent: Intent) -> Verdict:
    """Decide, and write the claim where the verdict is `Go`."""
    if tables.claim_if_new(intent, this_process(), tables.now()):
        return go(intent)
    verdict = look(tables, intent)
    if isinstance(verdict, Go):
        tables.put_claim(_claim_of(intent, verdict, tables.now()))
    return verdict


def settle(tables: Tables, key: str, owner_token: str, settlement: Settlement) -> Settled:
    """End a claim, by its owner."""
    now = tables.now()
    settlement = _storable(settlement)
    if settlement.state is not ClaimState.IN_DOUBT and tables.settle_running(
        key, owner_token, settlement, now
    ):
        return _SETTLED
    record = tables.claim(key)
    if record is None or record.owner_token != owner_token:
        return _settle_overtaken(tables, owner_token, settlement, now)
    if record.state is ClaimState.RUNNING:
        return _settle_running(tables, record, settlement, now)
    if record.state is ClaimState.IN_DOUBT:
        return _settle_doubtful(tables, record, settlement, now)
    if settlement.state is not ClaimState.SUCCEEDED:
        return Settled(ok=record.state is settlement.state)
    if record.state is ClaimState.SUCCEEDED:
        # Somebody said that it happened before the owner could; the owner knows what came back.
        if tables.result(record) is None:
            _change(tables, record, settlement, now)
        return Settled(ok=True)
    loud = _double_effect(tables, _base_doubt(tables, record, now), now)
    if loud.ok:
        _change(tables, record, settlement, now)
    return loud


def renew(tables: Tables, key: str, owner_token: str, lease_s: float, abandoned: bool) -> bool:
    """Lengthen the lease of a running claim."""
    record = tables.claim(key)
    if record is None or record.owner_token != owner_token or record.state is not ClaimState.RUNNING:
        return False
    until = tables.now() + lease_s
    tables.put_claim(replace(record, lease_until=until, abandoned=record.abandoned or abandoned))
    return True


def recover(tables: Tables, scope: str | None) -> list[Doubt]:
    """Turn every lapsed claim into a doubt."""
    now = tables.now()
    return [
        _doubt_of(tables, record, _LAPSED, now)
        for record in tables.running(scope)
        if record.lease_until <= now or is_gone(record.owner)
    ]


def doubt(tables: Tables, doubt_id: str) -> Doubt | None:
    """One doubt, or the one that would be if the abandoned body stopped now."""
    found = tables.doubt(doubt_id)
    if found is not None:
        return found
    for record in tables.running(None):
        if record.abandoned and doubt_id_of(record.owner_token) == doubt_id:
            return replace(_new_doubt(record, "It still runs.", record.started_at), state=DoubtState.RUNNING)
    return None


def resolve(
    tables: Tables, doubt_id: str, happened: bool, result: str | None, by: str, evidence: str
) -> Doubt:
    """Close a doubt by somebody's word."""
    result, by, evidence = None if result is None else to_utf8(result), to_utf8(by), to_utf8(evidence)
    now = tables.now()
    found = doubt(tables, doubt_id)
    if found is None:
        raise make_error(
            "not_found", f"There is no doubt {doubt_id!r}.", reason="doubt_not_found", effect="none"
        )
    said = DoubtState.HAPPENED if happened else DoubtState.DID_NOT_HAPPEN
    if found.state is said:
        return found
    if found.state is DoubtState.RUNNING:
        raise make_error(
            "conflict",
            f"{found.tool} still runs; nobody can know yet.",
            reason="still_running",
            effect="none",
        )
    if not found.is_open:
        message = f"{doubt_id} was resolved by {found.resolved_by}: {found.state.replace('_', ' ')}."
        raise make_error("conflict", message, reason="already_resolved", effect="none")
    return _close(tables, found, said, by, evidence, now, result)


def new_handle() -> str:
    """A handle that cannot be guessed."""
    return f"out_{secrets.token_hex(8)}"


def put_blob(tables: Tables, handle: str, scope: str, run_id: str | None, text: str) -> None:
    """Keep a text."""
    tables.put_blob(handle, scope, run_id, to_utf8(text), tables.now())


def _storable(settlement: Settlement) -> Settlement:
    result, error, known = settlement.result, settlement.error, settlement.known
    if (result is None or result.isascii()) and (error is None or error.isascii()) and known.isascii():
        return settlement
    return Settlement(
        state=settlement.state,
        result=None if result is None else to_utf8(result),
        error=None if error is None else to_utf8(error),
        known=to_utf8(known),
    )


def _claim_of(intent: Intent, go: Go, now: float) -> Record:
    key = go.idempotency_key
    return Record(
        key=intent.key,
        scope=intent.scope,
        run_id=intent.run_id,
        call_id=intent.call_id,
        tool=intent.tool,
        tool_version=intent.tool_version,
        fingerprint=intent.fingerprint,
        near_fingerprint=intent.near_fingerprint,
        arguments_hash=intent.arguments_hash,
        arguments=to_utf8(intent.arguments),
        state=ClaimState.RUNNING,
        owner_token=intent.owner_token,
        owner=this_process(),
        lease_until=now + intent.lease_s,
        protected=intent.protected,
        resolvable_by=intent.resolvable_by,
        idempotency_key=key,
        key_made_at=None if key is None else go.key_made_at or now,
        doubt_id=None if go.doubt is None else go.doubt.id,
        created_at=now,
        started_at=now,
    )


def _settle_running(tables: Tables, record: Record, settlement: Settlement, now: float) -> Settled:
    earlier = tables.doubt(record.doubt_id) if record.doubt_id is not None else None
    if earlier is None or not earlier.is_open:
        if settlement.state is ClaimState.IN_DOUBT:
            return Settled(ok=True, doubt=_doubt_of(tables, record, settlement.known, now, settlement.error))
        _change(tables, record, settlement, now)
        return Settled(ok=True)
    # A repeat under the idempotency key of an open doubt. A success answers the doubt; a failure says nothing about
    # what the first attempt did.
    if settlement.state is ClaimState.SUCCEEDED:
        _change(tables, record, settlement, now)
        why = "repeated under the same idempotency key"
        _close(tables, earlier, DoubtState.HAPPENED, "owner", why, now, settlement.result)
        return Settled(ok=True)
    _move(tables, record, ClaimState.IN_DOUBT, now, error=settlement.error)
    return Settled(ok=True, doubt=earlier)


def _settle_doubtful(tables: Tables, record: Record, settlement: Settlement, now: float) -> Settled:
    found = tables.doubt(record.doubt_id) if record.doubt_id is not None else None
    if settlement.state is ClaimState.IN_DOUBT or found is None:
        return Settled(ok=found is not None, doubt=found)
    return _end_late(tables, found, record.owner_token, settlement, now)


def _settle_overtaken(tables: Tables, owner_token: str, settlement: Settlement, now: float) -> Settled:
    """The key belongs to somebody else by now; only a doubt may still know this token."""
    found = tables.doubt(doubt_id_of(owner_token))
    if found is None or settlement.state is ClaimState.IN_DOUBT:
        return Settled(ok=False)
    if found.is_open:
        return _end_late(tables, found, owner_token, settlement, now)
    if settlement.state is ClaimState.SUCCEEDED and found.state is DoubtState.DID_NOT_HAPPEN:
        return _double_effect(tables, found, now)
    return Settled(ok=found.state is _said(settlement.state))


def _end_late(tables: Tables, found: Doubt, owner_token: str, settlement: Settlement, now: float) -> Settled:
    """The doubtful call itself says how it ended; where it was repeated, one that failed speaks for itself only."""
    said = _said(settlement.state)
    if said is DoubtState.DID_NOT_HAPPEN:
        others = [record for record in tables.claims_of_doubt(found.id) if record.owner_token != owner_token]
        if others or found.id != doubt_id_of(owner_token):
            return Settled(ok=True, doubt=found)
    _close(
        tables, found, said, "owner", "the call itself ended late", now, settlement.result, settlement.error
    )
    return Settled(ok=True)


def _double_effect(tables: Tables, base: Doubt, now: float) -> Settled:
    loud = replace(
        base,
        id=base.id.replace("doubt_", "double_", 1),
        kind=DoubtKind.DOUBLE_EFFECT,
        since=now,
        known=_DOUBLE,
        state=DoubtState.OPEN,
        resolved_at=None,
        resolved_by=None,
        evidence=None,
    )
    known = tables.doubt(loud.id)
    if known is not None and not known.is_open:
        return Settled(ok=False)  # somebody has judged this very report already
    if known is None:
        tables.put_doubt(loud)
    return Settled(ok=True, doubt=known or loud)


def _base_doubt(tables: Tables, record: Record, now: float) -> Doubt:
    found = tables.doubt(record.doubt_id) if record.doubt_id is not None else None
    return found or _new_doubt(record, "", now)


def _doubt_of(tables: Tables, record: Record, known: str, now: float, error: str | None = None) -> Doubt:
    """Put a running claim in doubt; an open doubt that it was repeating stays the one doubt."""
    earlier = tables.doubt(record.doubt_id) if record.doubt_id is not None else None
    if earlier is not None and earlier.is_open:
        opened = earlier
    else:
        opened = _new_doubt(record, known, now)
    _move(tables, record, ClaimState.IN_DOUBT, now, error=error, doubt_id=opened.id)
    tables.put_doubt(opened)
    return opened


def _new_doubt(record: Record, known: str, now: float) -> Doubt:
    return Doubt(
        id=doubt_id_of(record.owner_token),
        key=record.key,
        scope=record.scope,
        run_id=record.run_id,
        call_id=record.call_id,
        tool=record.tool,
        tool_version=record.tool_version,
        fingerprint=record.fingerprint,
        near_fingerprint=record.near_fingerprint,
        arguments=record.arguments,
        since=now,
        known=known,
        resolvable_by=record.resolvable_by,
        owner_token=record.owner_token,
        idempotency_key=record.idempotency_key,
        key_made_at=record.key_made_at,
    )


def _close(
    tables: Tables,
    found: Doubt,
    said: DoubtState,
    by: str,
    evidence: str,
    now: float,
    result: str | None = None,
    error: str | None = None,
) -> Doubt:
    """Resolve a doubt, and with it every claim that waits for it."""
    state = ClaimState.SUCCEEDED if said is DoubtState.HAPPENED else ClaimState.FAILED
    for record in tables.claims_of_doubt(found.id):
        if record.state is ClaimState.IN_DOUBT:
            _change(tables, record, Settlement(state=state, result=result, error=error), now)
    if found.kind is DoubtKind.DOUBLE_EFFECT and said is DoubtState.DID_NOT_HAPPEN:
        record_now = tables.claim(found.key)
        if record_now is not None and record_now.owner_token == found.owner_token:
            _change(tables, record_now, Settlement(state=state), now)
    closed = replace(found, state=said, resolved_at=now, resolved_by=by, evidence=evidence)
    tables.put_doubt(closed)
    return closed


def _said(state: ClaimState) -> DoubtState:
    return DoubtState.HAPPENED if state is ClaimState.SUCCEEDED else DoubtState.DID_NOT_HAPPEN


def _change(tables: Tables, record: Record, settlement: Settlement, now: float) -> None:
    result = settlement.result
    if result is None and record.state is settlement.state:
        result = tables.result(record)
    _move(tables, record, settlement.state, now, result=result, error=settlement.error)


def _move(
    tables: Tables,
    record: Record,
    state: ClaimState,
    now: float,
    *,
    result: str | None = None,
    error: str | None = None,
    doubt_id: str | None = None,
) -> None:
    check(record.state, state)
    doubt_id = doubt_id or record.doubt_id
    tables.put_claim(
        replace(record, state=state, result=result, error=error, doubt_id=doubt_id, settled_at=now)
    )
