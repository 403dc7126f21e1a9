"""The end of a harness: no new calls, the running ones get the grace, what then still runs is told to stop and settled.

A call that is stopped here is not cancelled for its caller: the same one cancel as at a time-out, taken back afterwards,
so that the caller gets a result, kind `cancelled`, reason `shutting_down`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.core.context import current_call
from failsoft.core.errors import Cancelled, Overloaded
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from failsoft.harness.alarms import Alarm
    from failsoft.harness.live import LiveCall
    from failsoft.harness.shared import Shared

__all__ = ["end_calls", "hold", "not_begun", "pause", "stopped"]

T = TypeVar("T")

_LOOK_EVERY_S = 0.002


def not_begun() -> Overloaded:
    """What a call is told that comes, or would begin, when the harness is ending."""
    return Overloaded("The runtime is shutting down; nothing was started.", reason="shutting_down")


def stopped(call: LiveCall) -> Cancelled:
    """What a call is told whose body was stopped because the harness ended."""
    effect = Effect.POSSIBLE if call.started and not call.read_only else Effect.NONE
    return Cancelled(
        f"{call.name} was stopped: the runtime is shutting down.", reason="shutting_down", effect=effect
    )


def hold(call: LiveCall, works: bool | None) -> None:
    """Be found by the end of the harness from now on, as at work or as waiting; None: no more."""
    if works is None:
        call.shared.held.pop(call, None)
    else:
        call.shared.held[call] = works


async def pause(call: LiveCall, waiting: Coroutine[Any, Any, T]) -> T:
    """Wait for a turn, a place, a person or the next attempt; the end of the harness ends the wait.

    Raises:
        Overloaded: reason `shutting_down`.
    """
    if call.shared.closing:
        waiting.close()
        raise not_begun()
    task, held = asyncio.current_task(), call.shared.held
    assert task is not None
    before = held.get(call)
    call.set(task, float("inf"))
    held[call] = False
    try:
        return await waiting
    except asyncio.CancelledError as exc:
        if not call.fired or task.cancelling() > call.cancels_before + 1:
            raise
        raise not_begun() from exc
    finally:
        hold(call, before)
        if call.fired:
            call.settle()
            call.fired = False


async def end_calls(shared: Shared, grace_s: float) -> None:
    """Wait `grace_s` seconds at most for the running calls; stop the others and wait as long again for their results.

    Calls that wait for something are stopped at once. The call in whose body this runs is not waited for.
    """
    own = _own_calls()
    _stop(shared, own, waiting_only=True)
    if not await _all_ended(shared, own, grace_s):
        _stop(shared, own, waiting_only=False)
        await _all_ended(shared, own, grace_s + 1.0)


def _own_calls() -> set[Any]:
    own, call = set[Any](), current_call.get()
    while call is not None:
        own.add(call)
        claim = getattr(call, "claim", None)
        if claim is not None:
            own.add(claim.intent.owner_token)
        call = getattr(call, "outer", None)
    return own


def _at_work(shared: Shared) -> dict[Alarm, bool]:
    """The calls whose bodies run (True), and those that wait.

    Nothing is written down for it when a call begins: who runs is armed, and who is not armed says so himself.
    """
    plans = (*shared.plans.values(), *shared.retired)
    found = dict.fromkeys((alarm for plan in plans for alarm in plan.alarms.armed()), True)
    return {**found, **dict(shared.held)}


async def _all_ended(shared: Shared, own: set[Any], seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    # Looking, and not a bell: a bell would cost every call, this costs the end of a harness 2 ms.
    while not own.issuperset([*_at_work(shared), *list(shared.flights)]):
        if loop.time() >= end:
            return False
        await asyncio.sleep(_LOOK_EVERY_S)
    return True


def _stop(shared: Shared, own: set[Any], *, waiting_only: bool) -> None:
    for call, works in _at_work(shared).items():
        if call in own or call.task is None or (works and waiting_only):
            continue
        try:
            call.task.get_loop().call_soon_threadsafe(_stop_one, shared, call)
        except RuntimeError:
            shared.held.pop(call, None)  # its loop is closed: it will never go on


def _stop_one(shared: Shared, call: Alarm) -> None:
    """In the call's own loop, where its state does not change meanwhile."""
    if call in _at_work(shared):
        call.fire()
