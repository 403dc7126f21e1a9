"""A harness as a member of a fleet: its breakers and rates are shared with other processes."""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING

from failsoft.core.errors import UsageError
from failsoft.core.events import LEVELS, Event, EventName
from failsoft.harness.gates import Gates, too_fast
from failsoft.stores.fleet import FleetLink, FleetTurns, open_fleet

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall
    from failsoft.harness.plan import Plan
    from failsoft.harness.shared import Shared
    from failsoft.policies import BreakerChange, BulkheadState, RateState
    from failsoft.stores.fleet import FleetStore

__all__ = ["join_fleet", "join_plan"]


def join_fleet(shared: Shared, fleet: str | FleetStore) -> FleetLink:
    """Connect the breakers and rates of a harness, in the background. The fleet is that of the harness's name.

    Raises:
        UsageError: The URL cannot be, or a package is missing.
    """
    if not isinstance(fleet, str) and not hasattr(fleet, "lease"):
        raise UsageError(f"fleet must be a URL or a fleet's store, got {fleet!r}")
    where = fleet if isinstance(fleet, str) else str(id(fleet))
    harness = weakref.ref(shared)  # the thread of the link must not keep a forgotten harness

    def forward(change: BreakerChange) -> None:
        if (owner := harness()) is not None:
            owner.breaker_changed(change)

    def tell(is_up: bool, what: str) -> None:
        if (owner := harness()) is not None:
            _tell(owner, is_up, what)

    name = shared.name
    link = FleetLink(
        lambda: open_fleet(fleet, name=name) if isinstance(fleet, str) else fleet,
        fleet=hashlib.sha256(f"{where}\n{shared.name}".encode()).hexdigest(),
        clock=shared.clock,
        forward=forward,
        tell=tell,
    )
    link.start()
    for plan in shared.plans.values():
        join_plan(plan, link)
    weakref.finalize(shared, link.abandon).atexit = False
    return link


def join_plan(plan: Plan, link: FleetLink) -> None:
    """Share the breaker and the rate of one tool."""
    site = (
        plan.breakers.site
        if plan.breakers is not None
        else None
        if plan.breaker is None
        else plan.breaker.site
    )
    if site is not None:
        site.gate, site.listener = link, link.changed
    if plan.breaker is not None:
        link.joined(plan.breaker)
    if plan.gates is not None and plan.gates.rate is not None:
        rate = plan.gates.rate
        plan.gates = _FleetGates(rate, plan.gates.bulkhead, FleetTurns(link, plan.name, rate.options))


def _tell(shared: Shared, is_up: bool, what: str) -> None:
    name = EventName.STORE_RECOVERED if is_up else EventName.STORE_TROUBLE
    if shared.events.wants(LEVELS[name]):
        data = {"store": "fleet"} if is_up else {"store": "fleet", "what": what}
        shared.events.emit(Event(name=name, at=shared.clock.wall(), data=data))


class _FleetGates(Gates):
    """Gates whose turns are the fleet's; the local rate is kept in step, for the time when the store is away."""

    __slots__ = ("_turns",)

    def __init__(self, rate: RateState, bulkhead: BulkheadState | None, turns: FleetTurns) -> None:
        super().__init__(rate, bulkhead)
        self._turns = turns

    async def _turn(self, call: LiveCall, rate: RateState) -> None:
        block = await self._turns.take(rate.options.wait_limit_s(call.remaining_s))
        if block is None:
            await super()._turn(call, rate)
            return
        if not block.turns:
            raise too_fast(call, rate, block.wait_s)
        rate.reserve(call.clock.monotonic(), float("inf"))
        if block.wait_s > 0:
            await call.clock.sleep(block.wait_s)
