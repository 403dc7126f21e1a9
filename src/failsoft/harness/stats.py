"""What a harness is doing, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from failsoft.stores.connection import StoreStats
from failsoft.stores.engine import EngineStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.harness.shared import Shared
    from failsoft.policies import BreakerStats

__all__ = ["HarnessStats", "ToolStats", "stats_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    """One tool.

    Args:
        name: The tool's name.
        breakers: Its breakers; one for each key that is known.
        running: Bodies at work, as the bulkhead counts them; None without one.
        queued: Calls that wait for a place; None without a bulkhead.
    """

    name: str
    breakers: tuple[BreakerStats, ...] = ()
    running: int | None = None
    queued: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessStats:
    """A harness as it stands.

    Args:
        name: The harness's name.
        tools: Its tools.
        zombies: Bodies that outlived their time-out and still run.
        in_flight: Claimed calls that are at work in this harness.
        loop_blocked: How often each tool blocked the event loop.
        store: What its store could not write; a store that harnesses share counts for all of them.
    """

    name: str
    tools: tuple[ToolStats, ...]
    zombies: int
    in_flight: int
    loop_blocked: Mapping[str, int] = field(default_factory=dict)
    store: StoreStats = field(default_factory=StoreStats)


def stats_of(shared: Shared) -> HarnessStats:
    """The state of a harness's tools, zombies and flights."""
    now = shared.clock.monotonic()
    tools = []
    for plan in shared.plans.values():
        breakers: tuple[BreakerStats, ...] = ()
        if plan.breakers is not None:
            breakers = plan.breakers.stats(now)
        elif plan.breaker is not None:
            breakers = (plan.breaker.stats(now),)
        bulkhead = plan.gates.bulkhead if plan.gates is not None else None
        places = bulkhead.stats() if bulkhead is not None else None
        tools.append(
            ToolStats(
                name=plan.name,
                breakers=breakers,
                running=None if places is None else places.running,
                queued=None if places is None else places.queued,
            )
        )
    return HarnessStats(
        name=shared.name,
        tools=tuple(tools),
        zombies=len(shared.zombies),
        in_flight=len(shared.flights),
        loop_blocked=dict(shared.blocked),
        store=shared.store.stats() if isinstance(shared.store, EngineStore) else StoreStats(),
    )
