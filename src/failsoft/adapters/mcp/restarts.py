"""How often and how soon a server may be started again; thinking only, the link does the waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from failsoft.core.errors import UsageError

__all__ = ["RestartState", "Restarts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """The budget of restarts, and the waits between them.

    Args:
        most: Restarts within `window_s`; 0 never starts a server again.
        window_s: Seconds over which they are counted.
        base_s: Seconds before the second restart in a row; the first one waits for nothing. Doubles each time.
        cap_s: The longest wait.
        rest_s: Seconds for which a server is left alone after the budget is used up.

    Raises:
        UsageError: A value cannot work.
    """

    most: int = 5
    window_s: float = 60.0
    base_s: float = 0.2
    cap_s: float = 10.0
    rest_s: float = 30.0

    def __post_init__(self) -> None:
        if self.most < 0 or min(self.window_s, self.base_s, self.cap_s, self.rest_s) < 0:
            raise UsageError(f"restarts are counted and timed from 0 on, got {self!r}")


class RestartState:
    """The restarts of one server."""

    __slots__ = ("_at", "options")

    def __init__(self, options: Restarts) -> None:
        self.options = options
        self._at: deque[float] = deque()

    def next_wait_s(self, now: float) -> float | None:
        """Seconds to wait before the next restart, which is counted; None where the budget is used up."""
        while self._at and self._at[0] <= now - self.options.window_s:
            self._at.popleft()
        done = len(self._at)
        if done >= self.options.most:
            return None
        self._at.append(now)
        return 0.0 if done == 0 else min(self.options.cap_s, self.options.base_s * 2.0 ** (done - 1))
