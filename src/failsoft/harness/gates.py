"""Waiting for one's turn and for a place: rate limit, then bulkhead. The only queueing of a call.

A place is held by the work and not by whoever waits for it: a body that outlives its time-out keeps it until it ends.
Waiting places are per event loop; the thinking (`failsoft.policies`) knows only opaque waiters.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from failsoft.core.errors import Overloaded, RateLimited
from failsoft.core.kinds import Domain
from failsoft.harness.closing import pause
from failsoft.policies.bulkhead import FULL, QUEUED

if TYPE_CHECKING:
    from collections.abc import Hashable

    from failsoft.harness.live import LiveCall
    from failsoft.policies import BulkheadState, RateState

__all__ = ["Gates", "too_fast"]


async def wait_out_hint(call: LiveCall) -> None:
    """Wait as long as the service has told another call of the same tool to.

    Raises:
        RateLimited: That is longer than this call may take. Nothing was sent.
    """
    left_s = call.plan.held_until - call.clock.monotonic()
    if left_s >= call.remaining_s:
        raise RateLimited(
            f"{call.plan.name} has asked for no more calls for a while; nothing was sent.",
            domain=Domain.RUNTIME,
            reason="held_by_hint",
            retry_after_s=max(0.0, left_s),
        )
    if left_s > 0:
        await pause(call, call.clock.sleep(left_s))
        call.queued_s += left_s


class _Waiter:
    """Somebody in a queue, and the loop on which to wake them."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()

    async def rung(self) -> None:
        """Wait until somebody rings."""
        await self.future

    def wake(self) -> bool:
        """Ring, from any thread; False when its loop is closed, so that nobody waits there any more."""
        try:
            self.loop.call_soon_threadsafe(self._ring)
        except RuntimeError:
            return False
        return True

    def _ring(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Gates:
    """The rate limit and the bulkhead of one tool.

    Args:
        rate: The rate limit, if any.
        bulkhead: The bulkhead, if any.
    """

    __slots__ = ("bulkhead", "rate")

    def __init__(self, rate: RateState | None, bulkhead: BulkheadState | None) -> None:
        self.rate = rate
        self.bulkhead = bulkhead

    async def enter(self, call: LiveCall) -> None:
        """Wait for a turn and a place; sets `call.slot`, which gives the place back.

        Raises:
            RateLimited: The next turn is too far away. Nothing was sent.
            Overloaded: The queue is full, or a place did not come in time. Nothing was sent.
        """
        began = call.clock.monotonic()
        if self.rate is not None:
            await self._turn(call, self.rate)
        if self.bulkhead is not None:
            permit = await self._place(call, self.bulkhead)
            call.slot = functools.partial(self._leave, self.bulkhead, permit)
        call.queued_s += call.clock.monotonic() - began

    async def _turn(self, call: LiveCall, rate: RateState) -> None:
        now = call.clock.monotonic()
        reservation = rate.reserve(now, rate.options.wait_limit_s(call.remaining_s))
        if reservation is None:
            raise too_fast(call, rate, rate.next_in(now))
        if reservation.wait_s > 0:
            try:
                await pause(call, call.clock.sleep(reservation.wait_s))
            except BaseException:
                rate.cancel(reservation)
                raise

    async def _place(self, call: LiveCall, bulkhead: BulkheadState) -> int:
        permit = bulkhead.try_enter()
        if permit is not None:
            return permit
        waiter = _Waiter()
        permit = bulkhead.enqueue(waiter)
        if permit == FULL:
            raise Overloaded(
                f"All {bulkhead.options.limit} places of {call.plan.name} are taken and the queue is full.",
                reason="bulkhead_full",
            )
        if permit != QUEUED:
            return permit
        limit_s = bulkhead.options.wait_limit_s(call.remaining_s)
        try:
            async with asyncio.timeout(limit_s):
                await pause(call, waiter.rung())
        except TimeoutError as exc:
            _wake(bulkhead, bulkhead.cancel(waiter))
            raise Overloaded(
                f"No place of {call.plan.name} became free within {limit_s:g} s.", reason="queue_timeout"
            ) from exc
        except BaseException:
            _wake(bulkhead, bulkhead.cancel(waiter))
            raise
        granted = bulkhead.claim(waiter)
        assert granted is not None, "a waiter is woken only with a permit"
        return granted

    @staticmethod
    def _leave(bulkhead: BulkheadState, permit: int) -> None:
        _wake(bulkhead, bulkhead.leave(permit))


def too_fast(call: LiveCall, rate: RateState, wait_s: float) -> RateLimited:
    """The next turn is too far away."""
    return RateLimited(
        f"{call.plan.name} may be called {rate.options.calls} times in {rate.options.per_s:g} s.",
        domain=Domain.RUNTIME,
        reason="local_rate_limit",
        retry_after_s=wait_s,
    )


def _wake(bulkhead: BulkheadState, waiter: Hashable | None) -> None:
    """Ring for whom a place was kept; one whose loop is closed will not come for it, so it falls to the next."""
    while isinstance(waiter, _Waiter) and not waiter.wake():
        waiter = bulkhead.cancel(waiter)
