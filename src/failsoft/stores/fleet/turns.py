"""Turns of a rate that a fleet shares, taken from the store in blocks, so that a busy process asks ten times a second.

A block grows while blocks are used up quickly and is one turn otherwise. What is left of it after a second lapses: a
process that falls silent costs the fleet at most a tenth of a second of the rate.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from failsoft.stores.fleet.port import Block, FleetError

if TYPE_CHECKING:
    from failsoft.policies import Rate
    from failsoft.stores.fleet.link import FleetLink
    from failsoft.stores.fleet.port import FleetStore

__all__ = ["FleetTurns"]

_LIFE_S = 1.0
_BUSY_S = 0.1
_NOW = Block(turns=1, wait_s=0.0)


class FleetTurns:
    """The turns of one tool; safe for threads.

    Args:
        link: The fleet.
        member: The tool's name.
        rate: The limit, which all processes must give alike.
    """

    def __init__(self, link: FleetLink, member: str, rate: Rate) -> None:
        self._link, self._member = link, member
        self._calls, self._per_s = rate.calls, rate.per_s
        self._burst = rate.burst or rate.calls
        self._most = max(1, min(self._burst, int(rate.calls / rate.per_s * _BUSY_S)))
        self._lock = threading.Lock()
        self._left, self._ends, self._size, self._asked_at = 0, 0.0, 1, 0.0
        # Of the engine's loop, which is another one in a forked child.
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def take(self, max_wait_s: float) -> Block | None:
        """One turn, with its wait; none when it is too far away. None while the store is away."""
        if self._take_here():
            return _NOW
        if not self._link.up:
            return None
        try:
            return await asyncio.wrap_future(self._link.submit(lambda store: self._refill(store, max_wait_s)))
        except FleetError:
            return None

    def _take_here(self) -> bool:
        with self._lock:
            if self._left and time.monotonic() < self._ends:
                self._left -= 1
                return True
            return False

    async def _refill(self, store: FleetStore, max_wait_s: float) -> Block:
        """Take a block, or let the one who is just taking it share."""
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        async with self._turn[1]:
            if self._take_here():
                return _NOW
            now = time.monotonic()
            self._size = min(self._size * 2, self._most) if now - self._asked_at < _BUSY_S else 1
            self._asked_at = now
            block = await store.take(
                self._member,
                calls=self._calls,
                per_s=self._per_s,
                burst=self._burst,
                turns=self._size,
                max_wait_s=max_wait_s,
            )
            with self._lock:
                self._left, self._ends = max(0, block.turns - 1), now + _LIFE_S
            return block
