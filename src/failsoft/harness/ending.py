"""Let go of everything that a harness holds, in the order in which the parts need each other."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from failsoft.core.errors import AgentError
from failsoft.harness import watch
from failsoft.harness.closing import end_calls
from failsoft.harness.hearing import is_shared
from failsoft.harness.shield import shielded

if TYPE_CHECKING:
    from failsoft.harness.runners import Runners
    from failsoft.harness.shared import Shared
    from failsoft.stores.fleet import FleetLink

__all__ = ["end", "grace_of"]

log = logging.getLogger("failsoft")

# Beyond the grace, for what has bounds of its own: kills, the journal's last rows, the store's last commit.
_LET_GO_S = 10.0


def grace_of(shared: Shared) -> float:
    """Seconds that running calls get at the end: the longest that one of the tools has."""
    return max((plan.grace_s for plan in shared.plans.values()), default=1.0)


async def end(shared: Shared, runners: Runners, fleet: FleetLink | None) -> None:
    """End the calls, then pools, watchers and the store, then the sinks, which may hear of what it could not write.

    Raises:
        asyncio.CancelledError: The caller's; it ends the grace, not the settling.
    """
    grace_s, hurried = grace_of(shared), None
    try:
        await end_calls(shared, grace_s)
    except asyncio.CancelledError as exc:
        hurried, grace_s = exc, 0.0
    try:
        await shielded(_let_go(shared, runners, fleet, grace_s), grace_s + _LET_GO_S)
    except TimeoutError as exc:
        log.warning("the harness %r has not let go of everything, and goes on with it: %s", shared.name, exc)
    if hurried is not None:
        raise hurried


async def _let_go(shared: Shared, runners: Runners, fleet: FleetLink | None, grace_s: float) -> None:
    watch.unwatch(shared)
    shared.zombies.stop_watching()
    await runners.aclose(grace_s)
    if fleet is not None:
        await fleet.aclose()
    if shared.recorder is not None:
        await shared.recorder.journal.close()
    try:
        if not is_shared(shared):
            await shared.store.close()
    except AgentError as exc:
        log.warning("the store could not be closed in order: %s", exc)
    shared.stop_listening()
    await shared.close_sinks()
