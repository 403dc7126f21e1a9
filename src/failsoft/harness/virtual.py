"""Virtual time and what cannot live in it: disks, servers, threads and processes need real time, and it jumps over that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from failsoft.core.errors import UsageError
from failsoft.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from failsoft.core.clock import Clock
    from failsoft.harness.plan import Plan
    from failsoft.ledger.port import LedgerStore

__all__ = ["check_store", "is_virtual", "notes"]


def is_virtual(clock: Clock) -> bool:
    """Whether time jumps: the clock says so, or the loop that the harness is made on."""
    if getattr(clock, "is_virtual", False):
        return True
    try:
        return bool(getattr(asyncio.get_running_loop(), "is_virtual", False))
    except RuntimeError:
        return False


def check_store(store: LedgerStore) -> None:
    """Refuse a store that works in real time.

    Raises:
        UsageError: It is none in memory.
    """
    from failsoft.stores.engine import EngineStore

    if isinstance(store, EngineStore) and not isinstance(store, MemoryStore):
        raise UsageError(
            f"{store!r} needs real time, and the clock is virtual: its waits would end before it answers"
            "\n\nhint: use store='memory' and async bodies in virtual time, or test with the real clock"
        )


def notes(plans: Iterable[Plan]) -> list[str]:
    """One sentence about the tools whose bodies run where real time passes; none where there is no such tool."""
    names = [plan.name for plan in plans if plan.runner is not None and plan.policy.isolation.mode != "task"]
    if not names:
        return []
    return [
        f"the clock is virtual, and these tools run in threads or processes: {', '.join(names)}; their time limits are "
        "over before they can answer. Use store='memory' and async bodies in virtual time, or test with the real clock"
    ]
