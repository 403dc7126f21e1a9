"""Fleet state in memory, for the harnesses of one process and for tests. The rules stand in `port.py`."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from failsoft.stores.fleet.port import Block, SharedBreaker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.stores.fleet.port import FleetState, Wish

__all__ = ["MemoryFleet"]

_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A breaker with its end on the store's clock, in microseconds."""

    state: FleetState = "none"
    generation: int = 0
    until: int = 0
    opened: int = 0
    owner: str = ""
    reason: str = ""


class MemoryFleet:
    """A store that lives in this process; safe for threads.

    Args:
        wall: The store's clock.
    """

    def __init__(self, *, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._rows: dict[str, _Row] = {}
        self._arrivals: dict[str, int] = {}
        self._lock = threading.Lock()
        self._listeners: list[Callable[[SharedBreaker], object]] = []

    async def open(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        with self._lock:
            row, now = self._row(wish)
            runs = row.until > now
            kept = (row.state == "open" and runs) or (_held_by_another(row, wish) and runs)
            stale = row.state == "closed" and wish.seen not in (0, row.generation)
            return self._step(wish, row, now, None if kept or stale else "open")

    async def lease(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        with self._lock:
            row, now = self._row(wish)
            runs = row.until > now
            kept = (row.state == "open" and runs) or (_held_by_another(row, wish) and runs)
            closed = row.state == "closed" and row.generation > wish.seen
            return self._step(wish, row, now, None if kept or closed else "half_open")

    async def close(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        with self._lock:
            row, now = self._row(wish)
            mine = row.state == "half_open" and row.owner == wish.owner
            unchanged = row.state == "none" or (row.state != "closed" and row.generation == wish.seen)
            return self._step(wish, row, now, "closed" if mine or unchanged else None)

    async def give_back(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        with self._lock:
            row, now = self._row(wish)
            mine = row.state == "half_open" and row.owner == wish.owner
            back = replace(wish, span_s=0.0, opened=row.opened, reason=row.reason)
            return self._step(back, row, now, "open" if mine else None)

    async def changes(self, since: int) -> Sequence[SharedBreaker]:
        """See `FleetStore`."""
        with self._lock:
            now = self._now()
            return [_shared(name, row, now) for name, row in self._rows.items() if row.generation > since]

    async def listen(self, on_change: Callable[[SharedBreaker], object]) -> None:
        """See `FleetStore`."""
        loop = asyncio.get_running_loop()

        def ring(change: SharedBreaker) -> None:
            try:
                loop.call_soon_threadsafe(on_change, change)
            except RuntimeError:
                pass  # its loop is closed: nobody listens there any more

        self._listeners.append(ring)
        try:
            await loop.create_future()
        finally:
            self._listeners.remove(ring)

    async def take(
        self, member: str, *, calls: int, per_s: float, burst: int, turns: int, max_wait_s: float
    ) -> Block:
        """See `FleetStore`."""
        # In units of 1/calls microseconds, in which an interval is a whole number.
        interval = round(per_s * _US)
        with self._lock:
            tick = self._now() * calls
            arrival = max(self._arrivals.get(member, 0), tick)
            wait = arrival - interval * (burst - 1) - tick
            wait_s = -(-max(0, wait) // calls) / _US
            if wait_s > max_wait_s:
                return Block(turns=0, wait_s=wait_s)
            taken = 1 if wait > 0 else min(turns, -wait // interval + 1)
            self._arrivals[member] = arrival + taken * interval
            return Block(turns=taken, wait_s=wait_s)

    async def aclose(self) -> None:
        """Nothing to let go of: other harnesses may use it."""

    def _now(self) -> int:
        return round(self._wall() * _US)

    def _row(self, wish: Wish) -> tuple[_Row, int]:
        return self._rows.get(wish.member, _Row()), self._now()

    def _step(self, wish: Wish, row: _Row, now: int, after: FleetState | None) -> SharedBreaker:
        """Carry a step out, or leave all as it is; the lock is held."""
        if after is None:
            return _shared(wish.member, row, now)
        row = _Row(
            state=after,
            generation=max(row.generation + 1, now),
            until=0 if after == "closed" else now + round(wish.span_s * _US),
            opened=0
            if after == "closed"
            else wish.opened
            if after == "open"
            else max(row.opened, wish.opened),
            owner=wish.owner,
            reason=wish.reason if after == "open" else row.reason,
        )
        self._rows[wish.member] = row
        shared = _shared(wish.member, row, now)
        for ring in self._listeners:
            ring(shared)
        return replace(shared, granted=True)

    def __repr__(self) -> str:
        return f"MemoryFleet(breakers={len(self._rows)})"


def _held_by_another(row: _Row, wish: Wish) -> bool:
    return row.state == "half_open" and row.owner != wish.owner


def _shared(member: str, row: _Row, now: int) -> SharedBreaker:
    return SharedBreaker(
        member=member,
        state=row.state,
        generation=row.generation,
        left_s=max(0, row.until - now) / _US,
        opened=row.opened,
        owner=row.owner,
        reason=row.reason,
    )
