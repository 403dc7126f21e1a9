"""Rate: at most so many calls in a time, spread evenly after a burst (GCRA), without a timer or a bucket to refill.

The theoretical arrival time of the next call is the whole state. Times are whole numbers of 1/limit nanoseconds, so an
interval such as a third of a second is exact and nothing drifts, however long it runs.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from failsoft.core.errors import UsageError
from failsoft.policies._checks import count, refuse, seconds

__all__ = ["Rate", "RateState", "RateStats", "Reservation"]

_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
}
_TEXT = re.compile(
    r"\s*([0-9]{1,12})\s*(?:/|per\s)\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)?\s*([a-z]+)\s*", re.IGNORECASE
)
_NS = 1_000_000_000
_WANTED = "such as '30/minute', '5/s' or '100 per 15 minutes'"


@dataclass(frozen=True, slots=True)
class Rate:
    """The limit.

    Args:
        limit: Calls, or the whole in words: `Rate("30/minute")`.
        per_s: In how many seconds.
        burst: Calls that may come at once after a silence; default `limit`. 1 spaces all calls evenly: only then do
            never more than `limit` calls fall into any stretch of `per_s` seconds.
        max_wait_s: Longest wait for a turn; default until the call's deadline.

    Raises:
        UsageError: A value cannot work.
    """

    limit: int | str
    per_s: float = 0.0
    burst: int | None = None
    max_wait_s: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if isinstance(self.limit, str):
            if self.per_s:
                raise refuse("Rate.per_s", "left out when the limit is in words", self.per_s)
            limit, per_s = _parse(self.limit)
            put(self, "limit", limit)
            put(self, "per_s", per_s)
        elif not self.per_s:
            raise UsageError(f"Rate needs the time that {self.limit!r} calls fall into\n\nhint: {_WANTED}")
        count("Rate.limit", self.limit)
        put(self, "per_s", seconds("Rate.per_s", self.per_s))
        if self.burst is not None:
            count("Rate.burst", self.burst)
        if self.max_wait_s is not None:
            seconds("Rate.max_wait_s", self.max_wait_s, zero=True)

    @property
    def calls(self) -> int:
        """The limit as a number."""
        return int(self.limit)

    def start(self) -> RateState:
        """A fresh state with the whole burst to spend."""
        return RateState(self)

    def wait_limit_s(self, remaining_s: float) -> float:
        """How long a call with `remaining_s` seconds left may wait for its turn."""
        return max(0.0, remaining_s if self.max_wait_s is None else min(self.max_wait_s, remaining_s))


def _parse(text: str) -> tuple[int, float]:
    match = _TEXT.fullmatch(text)
    if match is not None:
        number, times, word = match.groups()
        unit = _UNITS.get(word.lower())
        if unit is not None:
            return int(number), float(times or 1) * unit
    raise refuse("Rate", _WANTED, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A turn that was taken.

    Args:
        wait_s: Seconds until it is due; 0 means now.
        turn: Which one, for `cancel`.
    """

    wait_s: float
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStats:
    """Where the limit stands.

    Args:
        available: Calls that could go at once.
        next_in_s: Seconds until one can go.
        admitted: Turns taken since the start.
        refused: Calls turned away since the start.
    """

    available: int
    next_in_s: float
    admitted: int
    refused: int


class RateState:
    """One limit; safe for threads."""

    __slots__ = (
        "_arrival",
        "_interval",
        "_latest",
        "_lock",
        "_slack",
        "_unit",
        "admitted",
        "options",
        "refused",
    )

    def __init__(self, options: Rate) -> None:
        self.options = options
        self.admitted = self.refused = 0
        self._lock = threading.Lock()
        self._unit = options.calls
        # per_s nanoseconds in units of 1/limit ns, divided by the limit: the interval is the same whole number.
        self._interval = max(1, round(options.per_s * _NS))
        self._slack = self._interval * ((options.burst or options.calls) - 1)
        self._latest: int | None = None
        self._arrival = -(1 << 200)  # before any clock began

    def decide(self, now: float) -> float:
        """0 when the call may go now, and its turn is taken; else the seconds to wait, and nothing is taken."""
        with self._lock:
            tick = self._tick(now)
            wait = self._arrival - self._slack - tick
            if wait > 0:
                self.refused += 1
                return self._seconds(wait)
            self._take(tick)
            return 0.0

    def reserve(self, now: float, max_wait_s: float) -> Reservation | None:
        """Take the next turn when it is due within `max_wait_s`; None when it is not, then nothing is taken.

        Turns are given in the order in which they were asked for.
        """
        with self._lock:
            tick = self._tick(now)
            wait_s = self._seconds(max(0, self._arrival - self._slack - tick))
            if wait_s > max_wait_s:
                self.refused += 1
                return None
            return Reservation(wait_s=wait_s, turn=self._take(tick))

    def cancel(self, reservation: Reservation) -> bool:
        """Give a turn back that was not used.

        Only the last one given can be: later turns are timed behind it. False when it stays spent.
        """
        with self._lock:
            if reservation.turn != self.admitted:
                return False
            self._arrival -= self._interval
            self.admitted -= 1
            return True

    def hold(self, now: float, for_s: float) -> None:
        """Let nobody go for `for_s` seconds: the service said so to one call, and it holds for all."""
        with self._lock:
            self._arrival = max(
                self._arrival, self._tick(now) + round(for_s * _NS) * self._unit + self._slack
            )

    def next_in(self, now: float) -> float:
        """Seconds until a call can go; 0 when now."""
        with self._lock:
            return self._seconds(max(0, self._arrival - self._slack - self._tick(now)))

    def stats(self, now: float) -> RateStats:
        """Where the limit stands."""
        with self._lock:
            ahead = max(0, self._arrival - self._tick(now))
            return RateStats(
                available=max(0, (self._slack + self._interval - ahead) // self._interval),
                next_in_s=self._seconds(max(0, ahead - self._slack)),
                admitted=self.admitted,
                refused=self.refused,
            )

    def __repr__(self) -> str:
        return f"RateState({self.options.limit}/{self.options.per_s:g}s, admitted={self.admitted})"

    def _tick(self, now: float) -> int:
        tick = round(now * _NS) * self._unit
        # A clock that goes back stands still, or a turn would be given twice.
        if self._latest is not None and tick < self._latest:
            return self._latest
        self._latest = tick
        return tick

    def _seconds(self, wait: int) -> float:
        # Rounded up to whole nanoseconds: who waits exactly so long is not a nanosecond early.
        return -(-wait // self._unit) / _NS

    def _take(self, tick: int) -> int:
        arrival = self._arrival
        self._arrival = (arrival if arrival > tick else tick) + self._interval
        self.admitted += 1
        return self.admitted
