"""Bulkhead: at most so many bodies at once, and a bounded queue for the rest.

Rules of this file
- A slot is held by the work, not by whoever waits for it: a body that outlives its time-out keeps it until it ends.
- First come, first served; nobody enters while somebody waits.
- A slot that gets free goes straight to the next waiter. A waiter that gave up after it was granted a slot passes it
  on: no slot is ever lost.
- Waiters are opaque here: whoever waits does the waiting, and is woken by whoever called `leave` or `cancel`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from failsoft.policies._checks import count, seconds

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["FULL", "QUEUED", "Bulkhead", "BulkheadState", "BulkheadStats"]

#: What `enqueue` says when the waiter stands in the queue.
QUEUED: Final = 0
#: What `enqueue` says when there is no room left to wait in.
FULL: Final = -1


@dataclass(frozen=True, slots=True)
class Bulkhead:
    """The limits.

    Args:
        limit: Bodies at once.
        queue: Calls that may wait; default 0.
        max_wait_s: Longest wait; default until the call's deadline.

    Raises:
        UsageError: A value cannot work.
    """

    limit: int
    queue: int = 0
    max_wait_s: float | None = None

    def __post_init__(self) -> None:
        count("Bulkhead.limit", self.limit)
        count("Bulkhead.queue", self.queue, least=0)
        if self.max_wait_s is not None:
            seconds("Bulkhead.max_wait_s", self.max_wait_s, zero=True)

    def start(self) -> BulkheadState:
        """A fresh state with all slots free."""
        return BulkheadState(self)

    def wait_limit_s(self, remaining_s: float) -> float:
        """How long a call with `remaining_s` seconds left may wait; 0 means that it should not begin to."""
        return max(0.0, remaining_s if self.max_wait_s is None else min(self.max_wait_s, remaining_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkheadStats:
    """Who is inside and who waits.

    Args:
        limit: Slots.
        running: Slots taken, those granted to a waiter that has not come yet included.
        queued: Waiters.
        zombies: Slots held by bodies whose caller is gone.
        refused: Calls turned away since the start.
    """

    limit: int
    running: int
    queued: int
    zombies: int
    refused: int


class BulkheadState:
    """The slots and the queue; safe for threads, knows nothing of event loops."""

    __slots__ = (
        "_granted",
        "_held",
        "_limit",
        "_lock",
        "_next",
        "_waiters",
        "_zombies",
        "options",
        "refused",
    )

    def __init__(self, options: Bulkhead) -> None:
        self.options = options
        self.refused = 0
        self._limit = options.limit
        self._lock = threading.Lock()
        self._next = 0
        self._held: set[int] = set()
        self._zombies: set[int] = set()
        self._granted: dict[Hashable, int] = {}
        # An ordered dict and not a deque: of 10,000 waiters that give up at once, each would search the whole queue.
        self._waiters: OrderedDict[Hashable, None] = OrderedDict()

    def try_enter(self) -> int | None:
        """A permit when a slot is free and nobody waits, else None. Counts no refusal: the caller may queue."""
        with self._lock:
            if len(self._held) >= self._limit:
                return None
            self._next = permit = self._next + 1
            self._held.add(permit)
            return permit

    def enqueue(self, waiter: Hashable) -> int:
        """Enter (a permit above 0), stand in the queue (`QUEUED`), or be turned away (`FULL`), in one step.

        Args:
            waiter: Whatever the caller can wake; equal only to itself.
        """
        with self._lock:
            # Asked again: a slot may have become free since `try_enter`, and then nobody would wake this waiter.
            if len(self._held) < self._limit:
                return self._enter()
            if len(self._waiters) >= self.options.queue:
                self.refused += 1
                return FULL
            self._waiters[waiter] = None
            return QUEUED

    def claim(self, waiter: Hashable) -> int | None:
        """The permit that a woken waiter was granted; None when it was granted none (yet), or has it already."""
        with self._lock:
            return self._granted.pop(waiter, None)

    def leave(self, permit: int) -> Hashable | None:
        """The work has ended: free its slot, or hand it to the next waiter, who is returned and must be woken.

        A permit that was given back before changes nothing.
        """
        with self._lock:
            if permit not in self._held:
                return None
            self._held.remove(permit)
            if self._zombies:
                self._zombies.discard(permit)
            return self._pass_on() if self._waiters else None

    def cancel(self, waiter: Hashable) -> Hashable | None:
        """The waiter has given up. Returns the next one, who must be woken, when it had been granted a slot."""
        with self._lock:
            permit = self._granted.pop(waiter, None)
            if permit is not None:
                self._held.remove(permit)
                return self._pass_on() if self._waiters else None
            self._waiters.pop(waiter, None)
            return None

    def outlive(self, permit: int) -> None:
        """The caller is gone, the body runs on: it keeps its slot and is counted as a zombie."""
        with self._lock:
            if permit in self._held:
                self._zombies.add(permit)

    def stats(self) -> BulkheadStats:
        """Who is inside and who waits."""
        with self._lock:
            return BulkheadStats(
                limit=self.options.limit,
                running=len(self._held),
                queued=len(self._waiters),
                zombies=len(self._zombies),
                refused=self.refused,
            )

    def __repr__(self) -> str:
        return f"BulkheadState(running={len(self._held)}/{self.options.limit}, queued={len(self._waiters)})"

    def _enter(self) -> int:
        self._next += 1
        self._held.add(self._next)
        return self._next

    def _pass_on(self) -> Hashable:
        waiter, _ = self._waiters.popitem(last=False)
        self._granted[waiter] = self._enter()
        return waiter
