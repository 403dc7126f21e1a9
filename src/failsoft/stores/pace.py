"""Whether a commit may be made on the caller's own thread: only while the disk is quick.

A commit of a quick disk takes less time than waking another thread twice (measured: 0.13 ms and 0.3 ms), so the event
loop is blocked for less time than it would have waited. Slow commits on the loop are paid for briefly: the writer's
thread takes over for a while, for longer each time.
"""

from __future__ import annotations

__all__ = ["Pace"]

_SLOW_S = 0.002
# One commit in a few hundred is slow on any disk: this share of it lets 10 ms pass once, and 20 ms not.
_SHARE = 0.15
_FIRST_S, _MOST_S = 1.0, 60.0


class Pace:
    """State of that decision for one connection."""

    __slots__ = ("_again_at", "_pause_s", "_usual_s")

    def __init__(self) -> None:
        self._again_at = 0.0
        self._pause_s = _FIRST_S
        self._usual_s = 0.0

    def is_quick(self, now: float) -> bool:
        """Whether the next commit may block its caller; `now` is monotonic."""
        return now >= self._again_at

    def note(self, commit_s: float, now: float) -> None:
        """Learn from a commit that took `commit_s` seconds."""
        self._usual_s += (commit_s - self._usual_s) * _SHARE
        if self._usual_s >= _SLOW_S:
            self._usual_s = 0.0
            self._again_at = now + self._pause_s
            self._pause_s = min(_MOST_S, self._pause_s * 2)
        elif self._pause_s > _FIRST_S:
            self._pause_s = max(_FIRST_S, self._pause_s * 0.99)
