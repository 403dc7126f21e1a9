"""Ask the ledger about a call before it runs, and tell it how the call ended.

    claim ─ known? replay, join, verify, or answer with the doubt ─ else guard writes the intent ( begin )
    settle ─ succeeded, failed (certainly nothing happened), in doubt, or running on as a zombie

The intent itself is written in `guard`, after the last permit and before the first body starts.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from failsoft.core.errors import AgentError, Conflict, Unavailable
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect, ErrorKind
from failsoft.harness import doubts
from failsoft.harness.closing import hold
from failsoft.harness.codec import decode_error, decode_result, encode_arguments, encode_error, encode_result
from failsoft.ledger.decide import Go, InDoubt, Mismatch, NearDoubt, Replay, Running
from failsoft.ledger.key import identity_of, key_of
from failsoft.ledger.records import Intent, Settled, Settlement
from failsoft.ledger.states import ClaimState

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from failsoft.core.results import ToolResult
    from failsoft.harness.live import LiveCall
    from failsoft.ledger.decide import Verdict
    from failsoft.ledger.records import Record

__all__ = [
    "Claim",
    "KnownAnswer",
    "begin",
    "claim",
    "settle_failure",
    "settle_late",
    "settle_success",
    "settle_success_nowait",
]

_VERIFY_ROUNDS = 3


class KnownAnswer(Exception):
    """Control flow of this package: somebody was first, and `result` is what the call gets."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__("answered by the ledger")
        self.result = result


@dataclass(slots=True, kw_only=True)
class Claim:
    """One call's claim: what would be written, whether it may have been, and whether it certainly has."""

    intent: Intent
    asked: bool = False
    begun: bool = False
    ended: concurrent.futures.Future[ToolResult] = field(default_factory=concurrent.futures.Future)


async def claim(call: LiveCall) -> ToolResult | None:
    """Look the call up; the result where the ledger knows it, None where it may run.

    Raises:
        AgentError: It is running elsewhere, in doubt, or its key belongs to another call.
    """
    intent = _intent(call)
    call.claim = Claim(intent=intent)
    call.idempotency_key = intent.idempotency_key
    quick = call.shared.quick_store
    verdict = None if quick is None else quick.look_nowait(intent)
    if isinstance(verdict, Go):
        return None
    hold(call, True)  # the store is needed until there is an answer
    try:
        if verdict is None:
            verdict = await _in_time(call, call.shared.store.look(intent))
        return await _known(call, verdict)
    finally:
        hold(call, None)


async def begin(call: LiveCall) -> None:
    """Write the intent; durable on return.

    Raises:
        KnownAnswer: Somebody was first and it is done.
        AgentError: Somebody was first and it is not; or the claim could not be made durable.
    """
    own = call.claim
    assert own is not None
    flights, token, quick = call.shared.flights, own.intent.owner_token, call.shared.quick_store
    for _ in range(_VERIFY_ROUNDS):
        own.asked = True
        flights[token] = own  # before it is written: who finds it written must find whom to join
        verdict = None if quick is None else quick.begin_nowait(own.intent)
        if verdict is None:
            verdict = await _in_time(call, call.shared.store.begin(own.intent))
        if isinstance(verdict, Go):
            own.begun = True
            _take_key(call, verdict)
            return
        own.asked = False
        del flights[token]
        known = await _known(call, verdict)
        if known is not None:
            raise KnownAnswer(known)
    raise Conflict(
        f"{call.plan.name} could not be claimed: others kept being first.", reason="claim_contended"
    )


async def _in_time(call: LiveCall, asked: Awaitable[Verdict]) -> Verdict:
    """What the store answers, within the call's time.

    Raises:
        Unavailable: It did not answer in time; nothing was run.
    """
    try:
        if call.shared.store_is_at_hand:
            return await asked
        async with asyncio.timeout(call.remaining_s):
            return await asked
    except AgentError as error:
        if error.effect is Effect.NONE:
            raise
        raise error.replace(effect=Effect.NONE) from error  # nothing has run, whatever the kind says
    except TimeoutError as exc:
        raise Unavailable(
            f"The record of what has been done did not answer in time; {call.plan.name} was not run.",
            reason="store_timeout",
            effect=Effect.NONE,
        ) from exc


def _intent(call: LiveCall) -> Intent:
    plan, tool = call.plan, call.plan.tool
    identity = identity_of(
        tool.name,
        call.values,
        # Not the declared names: a schema may leave names open, and what comes under one of those counts as well.
        identity=tool.options.identity,
        defaults=plan.defaults,
        hidden=plan.hidden,
        key=call.key,
    )
    visible = {name: value for name, value in call.values.items() if name not in plan.hidden}
    return Intent(
        key=key_of(call.scope, call.run_id, tool.name, identity.fingerprint, call.occurrence, call.key),
        scope=call.scope,
        run_id=call.run_id,
        call_id=call.id,
        tool=tool.name,
        tool_version=tool.version,
        fingerprint=identity.fingerprint,
        near_fingerprint=identity.near_fingerprint,
        arguments_hash=identity.arguments_hash,
        arguments=encode_arguments(visible),
        owner_token=secrets.token_hex(16),
        lease_s=max(1.0, call.remaining_s) + plan.grace_s,
        protected=plan.protected,
        keyed=call.key is not None,
        idempotency_key=secrets.token_hex(16) if plan.key_parameter else None,
        key_ttl_s=tool.key_ttl_s,
        resolvable_by=tool.doubts,
    )


def _take_key(call: LiveCall, verdict: Go) -> None:
    """The idempotency key to hand to the tool: an earlier one where that is still good."""
    parameter = call.plan.key_parameter
    if parameter is not None:
        call.idempotency_key = verdict.idempotency_key
        call.values = {**call.values, parameter: verdict.idempotency_key}


async def _known(call: LiveCall, verdict: Verdict) -> ToolResult | None:
    """What a verdict means for the call; None where it may run."""
    for _ in range(_VERIFY_ROUNDS):
        match verdict:
            case Go():
                return None
            case Replay(record=record):
                return _replayed(call, record)
            case Running(record=record):
                flight = _flight(call, record.owner_token)
                if flight is None:
                    raise _still_running(call, verdict)
                joined = await _join(call, flight)
                if joined is not None:
                    return joined
            case NearDoubt(doubt=doubt):
                raise doubts.near_error(call, doubt)
            case InDoubt(doubt=doubt) if (flight := _flight(call, doubt.owner_token)) is not None:
                # Its lease is over by a clock that jumped, or the machine slept; it runs here all the same.
                joined = await _join(call, flight)
                if joined is not None:
                    return joined
            case InDoubt(doubt=doubt):
                if not await doubts.verified(call, doubt):
                    raise doubts.error(call, doubt)
            case Mismatch(record=record):
                raise _mismatch(call, verdict)
        assert call.claim is not None
        verdict = await _in_time(call, call.shared.store.look(call.claim.intent))
    raise Conflict(
        f"{call.plan.name}: the ledger gave no stable answer.", reason="claim_contended", retryable=True
    )


def _replayed(call: LiveCall, record: Record) -> ToolResult:
    # What was in doubt is settled when somebody has found out, which may be days after it was done.
    done_at = record.settled_at if record.doubt_id is None else record.started_at
    call.shared.tell(call, EventName.CALL_REPLAYED, done_at=done_at)
    if record.error is not None:
        raise decode_error(record.error)
    value = decode_result(record.result, call.plan.revive)
    return call.shared.detailed(call, value, 0, replayed=True, recorded_at=done_at)


def _flight(call: LiveCall, owner_token: str) -> Claim | None:
    """The same call where this harness runs it, and the caller is not within it."""
    flight = call.shared.flights.get(owner_token)
    return None if flight is None or _is_within(call, flight) else flight


def _still_running(call: LiveCall, verdict: Running) -> Conflict:
    return Conflict(
        f"The same call of {call.plan.name} is still running; nothing was started.",
        reason="already_running",
        retryable=False,
        retry_after_s=min(verdict.come_back_s, 3600.0),
    )


async def _join(call: LiveCall, flight: Claim) -> ToolResult | None:
    """Wait for the same call in this harness. None where its caller was cancelled: ask the ledger again."""
    call.shared.tell(call, EventName.CALL_JOINED)
    try:
        async with asyncio.timeout(call.remaining_s):
            first = await asyncio.shield(asyncio.wrap_future(flight.ended))
    except TimeoutError as exc:
        raise Conflict(
            f"The same call of {call.plan.name} is still running; nothing was started.",
            reason="already_running",
        ) from exc
    if first.error is not None and first.error.kind is ErrorKind.CANCELLED:
        return None
    return call.shared.shared_result(call, first)


def _is_within(call: LiveCall, flight: Claim) -> bool:
    """Whether the flight is the call's own, or that of a call whose body is making it: they would wait for each other."""
    outer: Any = call
    while outer is not None:
        if getattr(outer, "claim", None) is flight:
            return True
        outer = getattr(outer, "outer", None)
    return False


def _mismatch(call: LiveCall, verdict: Mismatch) -> Conflict:
    if verdict.reason == "tool_version":
        text = f"{call.plan.name} was recorded under version {verdict.record.tool_version!r} of the tool; it is not replayed."
    else:
        text = f"The key {call.key!r} belongs to a call of {call.plan.name} with other arguments."
    return Conflict(
        text, reason=f"key_{verdict.reason}_mismatch", context={"recorded_call": verdict.record.call_id}
    )


def settle_success_nowait(call: LiveCall, result: ToolResult) -> bool:
    """As `settle_success`, where it takes no waiting, and so no task that a cancel must not reach: 60 µs of a call.

    Returns:
        False where nothing was written: ask `settle_success`.
    """
    own, store = call.claim, call.shared.quick_store
    if own is None or store is None or not own.asked:
        return False
    try:
        encoded = encode_result(result.value, result.content)
    except Exception:  # the ordinary way meets it too, and says so
        return False
    settlement = Settlement(state=ClaimState.SUCCEEDED, result=encoded)
    settled = store.settle_nowait(own.intent.key, own.intent.owner_token, settlement)
    if settled is not None:
        note_settled(call, settlement, settled)
    return settled is not None


async def settle_success(call: LiveCall, result: ToolResult) -> None:
    """Write down that it happened; durable on return, or kept pending by the store."""
    settlement = Settlement(state=ClaimState.SUCCEEDED, result=encode_result(result.value, result.content))
    await _settle(call, settlement)


async def settle_failure(call: LiveCall, error: AgentError) -> None:
    """Write down what the failure means: did not happen, may have, or did and the answer was unusable."""
    assert call.claim is not None
    if (
        not call.claim.begun
    ):  # the writing was cut off: nothing ran, and nobody has to wait for that to be written
        _settle_soon(call, settlement_of(call, error))
        return
    if call.runs_on:
        intent = call.claim.intent
        if await call.shared.store.renew(intent.key, intent.owner_token, intent.lease_s, abandoned=True):
            call.doubt = doubts.id_of(intent)
        return
    await _settle(call, settlement_of(call, error))


def settlement_of(call: LiveCall, error: AgentError) -> Settlement:
    """How a failure is settled, by its effect. Errors are kept clean: what a store holds of them is shown again."""
    error = call.shared.clean(call, error)
    match error.effect:
        case Effect.NONE:
            return Settlement(state=ClaimState.FAILED, error=encode_error(error))
        case Effect.DONE:
            return Settlement(state=ClaimState.SUCCEEDED, error=encode_error(error))
        case Effect.POSSIBLE:
            return Settlement(state=ClaimState.IN_DOUBT, error=encode_error(error), known=error.message)


async def _settle(call: LiveCall, settlement: Settlement) -> None:
    own = call.claim
    assert own is not None
    if not own.asked:
        return
    settled = await call.shared.store.settle(own.intent.key, own.intent.owner_token, settlement)
    note_settled(call, settlement, settled)


def note_settled(call: LiveCall, settlement: Settlement, settled: Settled) -> None:
    """Tell what came of a settlement."""
    if settled.doubt is not None:
        call.doubt = settled.doubt.id
        double = settled.doubt.kind == "double_effect"
        call.shared.tell(
            call, EventName.DOUBLE_EFFECT if double else EventName.DOUBT_OPENED, doubt=settled.doubt.id
        )
    elif settlement.state is ClaimState.IN_DOUBT and settled.pending:
        assert call.claim is not None
        call.doubt = doubts.id_of(call.claim.intent)
    if settled.pending:
        call.shared.tell(call, EventName.STORE_TROUBLE, what="a settlement is not written yet")


def settle_late(call: LiveCall, value: Any, error: AgentError | None) -> None:
    """The outcome of a body that was left alone; from any thread."""
    own = call.claim
    if own is None or not own.begun:
        return
    if error is None:
        settlement = Settlement(state=ClaimState.SUCCEEDED, result=encode_result(value, str(value)))
    else:
        settlement = settlement_of(call, error)
    _settle_soon(call, settlement)


def _settle_soon(call: LiveCall, settlement: Settlement) -> None:
    assert call.claim is not None
    intent = call.claim.intent
    call.shared.store.settle_soon(
        intent.key, intent.owner_token, settlement, lambda settled: note_settled(call, settlement, settled)
    )


def close_flight(call: LiveCall, result: ToolResult) -> None:
    """Hand the result to those who joined."""
    own = call.claim
    if own is not None and own.asked:
        call.shared.flights.pop(own.intent.owner_token, None)
        if not own.ended.done():
            own.ended.set_result(result)
