"""May this call run? Pure decisions over what a store has found.

The order of the rules is the order of the lines in `decide`:

0. the caller's key belongs to other arguments: `Mismatch`;
1. the same key is running: `Running`, for joining or for coming back later;
2. the same identity runs on after its caller was answered: `Running`;
3. the same identity is in doubt: `Go` under the idempotency key that is still good, else `InDoubt`;
4. the same key has succeeded, and successes are remembered: `Replay`, or `Mismatch`;
5. a call that differs in free text only is in doubt, and nobody has said so here: `NearDoubt`;
6. otherwise: `Go`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from failsoft.ledger.records import DoubtKind
from failsoft.ledger.states import ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.ledger.records import Doubt, Found, Intent, Record

__all__ = [
    "Go",
    "InDoubt",
    "Mismatch",
    "NearDoubt",
    "Replay",
    "Running",
    "Verdict",
    "decide",
    "lapsed",
    "teller_of",
]


# As much as clocks that are kept right disagree, and no more than a provider's memory of a key allows for.
_AHEAD_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Nothing is in the way.

    Args:
        idempotency_key: The key to hand to the tool: an earlier one where that is still good, else the intent's.
        key_made_at: When that earlier key was handed out; None for a new one.
        doubt: The open doubt that is being repeated under its idempotency key.
    """

    idempotency_key: str | None = None
    key_made_at: float | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """It has happened: `record.result` is what came back, in the caller's own encoding."""

    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """It runs: in this harness where `record.owner_token` is one of its own, else elsewhere.

    Args:
        record: The claim.
        come_back_s: Seconds until its lease is over, unless it is renewed.
    """

    record: Record
    come_back_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubt:
    """It may have happened: `verify`, or answer with the doubt."""

    doubt: Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDoubt:
    """A call that differs only in free text may have happened; given once per run, asking again gives `Go`."""

    doubt: Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The key belongs to another call.

    Args:
        record: The claim under that key.
        reason: `tool_version` (recorded under another version of the tool) or `arguments` (the caller's key was used
            for other arguments).
    """

    record: Record
    reason: str


Verdict = Go | Replay | Running | InDoubt | NearDoubt | Mismatch


def lapsed(found: Found, now: float, is_gone: Callable[[str], bool]) -> list[Record]:
    """The running claims that no longer count as running and must become doubts before anything is decided.

    Args:
        now: The store's time.
        is_gone: Whether the process that a claim's `owner` names is known to have ended.
    """
    return [record for record in found.running if record.lease_until <= now or is_gone(record.owner)]


def decide(found: Found, intent: Intent, now: float) -> Verdict:
    """What an identical call gets, by the rules at the top of this file. `lapsed` claims must be doubts already."""
    record = found.record
    if record is not None and _is_for_others(record, intent):
        return Mismatch(record=record, reason="arguments")
    for running in found.running:
        if running.key == intent.key or (running.abandoned and running.fingerprint == intent.fingerprint):
            return Running(record=running, come_back_s=max(0.0, running.lease_until - now))
    for doubt in found.doubts:
        if doubt.fingerprint == intent.fingerprint:
            return _met(doubt, intent, now)
    if record is not None and record.state is ClaimState.SUCCEEDED and _is_remembered(intent):
        if record.tool_version != intent.tool_version:
            return Mismatch(record=record, reason="tool_version")
        return Replay(record=record)
    if intent.near_fingerprint:
        for doubt in found.doubts:
            if doubt.id not in found.told:
                return NearDoubt(doubt=doubt)
    return _go(record, intent, now)


def teller_of(intent: Intent) -> str:
    """Who has been told of a near-identical doubt: the run, or the very call where there is no run."""
    return f"run:{intent.run_id}" if intent.run_id is not None else f"call:{intent.fingerprint}"


def _is_for_others(record: Record, intent: Intent) -> bool:
    """Whether the caller's key was used for other arguments; what certainly did not happen may be asked for anew."""
    is_other = intent.keyed and record.arguments_hash != intent.arguments_hash
    return is_other and record.state is not ClaimState.FAILED


def _is_remembered(intent: Intent) -> bool:
    return intent.keyed or (intent.protected and intent.run_id is not None)


def _met(doubt: Doubt, intent: Intent, now: float) -> Verdict:
    reusable = doubt.kind is DoubtKind.AMBIGUOUS and intent.idempotency_key is not None
    if reusable and _is_good(doubt.idempotency_key, doubt.key_made_at, intent, now):
        return Go(idempotency_key=doubt.idempotency_key, key_made_at=doubt.key_made_at, doubt=doubt)
    return InDoubt(doubt=doubt)


def _go(record: Record | None, intent: Intent, now: float) -> Go:
    if intent.idempotency_key is None:
        return Go()
    # After a success a repeat is deliberate: under the old key the outside world would not repeat it.
    failed = record is not None and record.state is ClaimState.FAILED
    if record is not None and failed and _is_good(record.idempotency_key, record.key_made_at, intent, now):
        return Go(idempotency_key=record.idempotency_key, key_made_at=record.key_made_at)
    return Go(idempotency_key=intent.idempotency_key)


def _is_good(key: str | None, made_at: float | None, intent: Intent, now: float) -> bool:
    if key is None or made_at is None:
        return False
    # From a moment that is still to come: the clock was put back, and how old the key is nobody knows.
    return made_at - _AHEAD_S <= now < made_at + intent.key_ttl_s
