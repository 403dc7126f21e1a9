"""Bodies that outlived their call: counted, their claims kept running, their late outcome written down.

A lease is renewed only by whoever watches the body; when this process dies, the lease ends and the claim becomes a doubt.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

from failsoft.core.events import EventName
from failsoft.harness import claim as ledger
from failsoft.harness.blame import failure_of
from failsoft.harness.sync_door import background_loop

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable

    from failsoft.harness.live import LiveCall

__all__ = ["Zombies"]

log = logging.getLogger("failsoft")

# A claim is renewed three times in a lease, so that one renewal may fail without losing it.
_RENEWALS_PER_LEASE = 3
_SHORTEST_S = 0.2


class Zombies:
    """The zombies of one harness; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[int, LiveCall] = {}
        self._watching = False
        self._watch_task: concurrent.futures.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def expect(self, call: LiveCall) -> Callable[[Any, BaseException | None], None]:
        """Count a body that is about to be left alone; what to tell when it has ended.

        Called before the body is let go, because it may end in that very moment.
        """
        slot, call.slot = call.slot, None
        with self._lock:
            self._calls[id(call)] = call

        def ended(value: Any, error: BaseException | None) -> None:
            with self._lock:
                self._calls.pop(id(call), None)
            if slot is not None:
                slot()
            _settle_late(call, value, error)

        call.slot_left = slot
        return ended

    def runs_on(self, call: LiveCall) -> None:
        """It was let go and runs on."""
        call.shared.tell(call, EventName.ZOMBIE_STARTED)
        if call.claim is not None and call.claim.begun:
            with self._lock:
                start, self._watching = not self._watching, True
            if start:
                self._watch_task = asyncio.run_coroutine_threadsafe(self._watch(), background_loop())

    def was_stopped(self, call: LiveCall) -> None:
        """It does not run on after all; its place goes back the ordinary way."""
        with self._lock:
            self._calls.pop(id(call), None)
        call.slot, call.slot_left = call.slot_left, None

    def stop_watching(self) -> None:
        """The store is about to be closed: what still runs keeps its lease as it is."""
        if self._watch_task is not None:
            self._watch_task.cancel()

    async def _watch(self) -> None:
        """Renew the leases of all zombies' claims until there are none."""
        while True:
            with self._lock:
                claimed = [
                    call for call in self._calls.values() if call.claim is not None and call.claim.begun
                ]
                if not claimed:
                    self._watching = False
                    return
            leases = [call.claim.intent.lease_s for call in claimed if call.claim is not None]
            await asyncio.sleep(max(_SHORTEST_S, min(leases) / _RENEWALS_PER_LEASE))
            for call in claimed:
                if id(call) in self._calls:
                    await _renew(call)


async def _renew(call: LiveCall) -> None:
    assert call.claim is not None
    intent = call.claim.intent
    try:
        await call.shared.store.renew(intent.key, intent.owner_token, intent.lease_s, abandoned=True)
    except Exception:
        log.warning("the claim of a running call of %s could not be renewed", call.plan.name, exc_info=True)


def _settle_late(call: LiveCall, value: Any, error: BaseException | None) -> None:
    """Write down what a zombie ended with; from any thread."""
    failure = None
    if isinstance(error, Exception):
        failure = failure_of(call, error)
    elif error is not None:
        failure = failure_of(call, RuntimeError(f"ended with {type(error).__name__}"))
    call.shared.tell(call, EventName.ZOMBIE_ENDED, kind=None if failure is None else str(failure.kind))
    ledger.settle_late(call, value, failure)
