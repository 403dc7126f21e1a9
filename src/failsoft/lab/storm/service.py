"""A service with a capacity, a queue and an outage.

One worker serves in order, each request for 1/capacity seconds. It does not know who has stopped waiting, so it works on
requests that nobody wants any more: that is what turns an outage into a storm that outlasts it.
During the outage nothing is served; requests still queue up, and what does not fit is refused at once.
"""

from __future__ import annotations

from collections import deque

__all__ = ["REFUSED", "Service"]

REFUSED = float("inf")


class Service:
    """The service.

    Args:
        capacity_per_s: Requests that it can serve in a second.
        queue: Requests that may wait.
        down_from_s: When the outage begins.
        down_until_s: When it is over.
    """

    __slots__ = ("_down_from_s", "_down_until_s", "_free_at", "_queue", "_waiting", "_work_s")

    def __init__(self, *, capacity_per_s: float, queue: int, down_from_s: float, down_until_s: float) -> None:
        self._work_s = 1.0 / capacity_per_s
        self._queue = queue
        self._down_from_s, self._down_until_s = down_from_s, down_until_s
        self._free_at = 0.0
        # When each request that is inside will be done. In order, so those that are done leave at the left.
        self._waiting: deque[float] = deque()

    def ask(self, now: float) -> float:
        """Send a request; when it will have been served, or `REFUSED`. Times may not go back."""
        waiting = self._waiting
        while waiting and waiting[0] <= now:
            waiting.popleft()
        if len(waiting) > self._queue:
            return REFUSED
        begins = self._free_at if self._free_at > now else now
        ends = begins + self._work_s
        if ends > self._down_from_s and begins < self._down_until_s:
            ends = self._down_until_s + self._work_s
        self._free_at = ends
        waiting.append(ends)
        return ends
