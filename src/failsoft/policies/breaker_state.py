"""The state of one breaker and how it decides; the rules stand in `breaker.py`.

Split from the options for length only.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from failsoft.policies._backoff import nominal
from failsoft.policies._breaker_site import BreakerChange, BreakerStats
from failsoft.policies._window import BucketWindow

if TYPE_CHECKING:
    from failsoft.policies._breaker_site import BreakerSite, State

__all__ = ["BreakerState", "TimedBreakerState", "new_state"]

_BUCKETS = 10
_NEVER = -1  # equals no permit
# One lock for all breakers: it is held for a microsecond and never over anything handed in from outside, and one per
# breaker would cost 48 of the 262 bytes that a key may take.
_lock = threading.Lock()


class _Trip:
    """What a breaker knows only while it is not plainly closed."""

    __slots__ = ("held", "leases", "open_s", "opened", "state", "succeeded", "until")

    def __init__(
        self, *, opened: int, open_s: float, now: float, state: State = "open", held: bool = False
    ) -> None:
        self.state: State = state
        self.held = held
        self.opened = opened
        self.open_s = open_s
        self.until = now + open_s
        self.succeeded = 0
        self.leases: dict[int, float] = {}

    def blocked_s(self, now: float) -> float:
        """Seconds until the opening ends; a clock that went back does not make it longer, nor begin it again."""
        if self.state != "open":
            return 0.0
        if self.until - now > self.open_s:
            self.until = now + self.open_s
        return self.until - now

    def expire(self, now: float, lease_s: float) -> None:
        """Take back the leases that are over."""
        for permit, until in list(self.leases.items()):
            if until <= now:
                del self.leases[permit]
            elif until - now > lease_s:
                self.leases[permit] = now + lease_s


class BreakerState:
    """One breaker over a window of calls; safe for threads.

    The window is two integers, a bit for each call: whether it failed, whether it was slow (88 bytes for 100 calls;
    a deque takes 1,288). `_calm` is the current permit while the window is full of good calls: then another good call
    changes nothing. A failure that comes at the same moment is the later of the two.

    `admit` and `success` take no lock while it is closed: CPython 3.11 to 3.13 lets another thread in only at calls and
    backward jumps, and there are none from the look at `_trip` on. That is a third of the time with the lock. Whoever
    adds a call there takes the lock; `tests/policies/test_threads.py` finds lost outcomes.
    """

    __slots__ = (
        "__weakref__",
        "_bad",
        "_calm",
        "_seen",
        "_slow",
        "_streak",
        "_trip",
        "generation",
        "key",
        "site",
        "used",
    )

    def __init__(self, site: BreakerSite, key: str) -> None:
        self.site = site
        self.key = key
        self.generation = 1
        self.used = False
        self._calm = _NEVER
        self._bad = self._slow = self._seen = self._streak = 0
        self._trip: _Trip | None = None

    # ---- a call ----

    def admit(self, now: float) -> int:
        """A permit, or 0 when the call must not be made."""
        if self._trip is None:
            return self.generation
        return self._admit(now, self.site.gate is None)

    def probe(self, now: float) -> int:
        """As `admit`, for whoever has asked the site's gate."""
        return self._admit(now, True)

    def success(self, permit: int, duration_s: float, now: float) -> bool:
        """The call succeeded; False when the permit was stale."""
        site = self.site
        if duration_s <= site.slow_s:
            if permit == self._calm:
                return True
            if permit == self.generation and self._trip is None:
                self._streak = 0
                self._bad = self._bad << 1 & site.mask
                self._slow = self._slow << 1 & site.mask
                if self._seen < site.window:
                    self._seen += 1
                elif not self._bad and not self._slow:
                    self._calm = permit
                return True
        return self._report(permit, now, bad=0, slow=int(duration_s > site.slow_s), hard=False)

    def failure(self, permit: int, now: float, hard: bool = True, duration_s: float = 0.0) -> bool:
        """The call failed; False when the permit was stale."""
        return self._report(permit, now, bad=1, slow=int(duration_s > self.site.slow_s), hard=hard)

    def ignore(self, permit: int) -> bool:
        """The call says nothing about what was called: a probe's permit goes back; False when it was stale."""
        trip = self._trip
        if trip is None or trip.state == "closed":
            return permit == self.generation
        with _lock:
            known = trip is self._trip and trip.leases.pop(permit, None) is not None
        if known and self.site.gate is not None:
            self.site.gate.let_go(self, permit)
        return known

    # ---- by hand, or by the rest of a fleet ----

    def open(
        self, now: float, *, for_s: float | None = None, reason: str = "manual", opened: int | None = None
    ) -> None:
        """Open; for `for_s` seconds, after which it probes as usual, or until `auto()` or `close()`.

        `opened` says how many openings in a row this makes, where others have counted; default one more than before.
        """
        with _lock:
            held = for_s is None
            if opened is None:
                opened = (self._trip.opened if self._trip is not None else 0) + 1
            trip = _Trip(
                opened=opened, open_s=self.site.options.open_s if for_s is None else for_s, now=now, held=held
            )
            change = self._become(trip, "open", reason, now)
        self._tell(change)

    def close(self, now: float, *, hold: bool = False, reason: str = "manual") -> None:
        """Close with an empty window; with `hold` it lets everything through until `auto()` or `open()`."""
        with _lock:
            trip = _Trip(opened=0, open_s=0.0, now=now, state="closed", held=True) if hold else None
            change = self._become(trip, "closed", reason, now)
        self._tell(change)

    def auto(self, now: float) -> None:
        """Decide by itself again: a breaker held open lets a probe through next, one held closed starts afresh."""
        with _lock:
            trip, change = self._trip, None
            if trip is not None and trip.held:
                if trip.state == "closed":
                    change = self._become(None, "closed", "manual", now)
                else:
                    trip.held, trip.until = False, now
        self._tell(change)

    # ---- looking ----

    @property
    def state(self) -> State:
        """`closed`, `open` or `half_open`; an opening that is over shows as open until the next call."""
        trip = self._trip
        return "closed" if trip is None else trip.state

    def retry_after(self, now: float) -> float | None:
        """Seconds until a call may be let through: 0 when now, None while somebody holds it open."""
        with _lock:
            return self._retry_after(now)

    def is_idle(self, now: float) -> bool:
        """Whether forgetting this breaker loses nothing but a window: closed, or open and over, and nothing held."""
        with _lock:
            trip = self._trip
            return trip is None or (not trip.held and trip.blocked_s(now) <= 0 and not trip.leases)

    def stats(self, now: float) -> BreakerStats:
        """Everything that can be said of this breaker."""
        with _lock:
            calls, failed, slow = self._counts(now)
            trip = self._trip
            if trip is not None:
                trip.expire(now, self.site.lease_s)
            return BreakerStats(
                key=self.key,
                state=self.state,
                held=trip is not None and trip.held,
                generation=self.generation,
                calls=calls,
                failed=failed,
                slow=slow,
                hard_in_row=self._streak,
                opened=0 if trip is None else trip.opened,
                retry_after_s=self._retry_after(now),
                probes_running=0 if trip is None else len(trip.leases),
            )

    def __repr__(self) -> str:
        return f"BreakerState({self.key!r}, {self.state}, generation={self.generation})"

    # ---- deciding; the lock is held below ----

    def _admit(self, now: float, may_probe: bool) -> int:
        change, permit = None, 0
        with _lock:
            trip = self._trip
            if trip is None or trip.state == "closed":
                return self.generation
            if not may_probe or trip.held or trip.blocked_s(now) > 0:
                return 0
            trip.expire(now, self.site.lease_s)
            if len(trip.leases) + trip.succeeded < self.site.options.probes:
                self.generation = permit = self.generation + 1
                trip.leases[permit] = now + self.site.lease_s
                if trip.state == "open":
                    trip.state = "half_open"
                    change = self._change("open", "half_open", "time_over", now, 0.0)
        self._tell(change)
        return permit

    def _report(self, permit: int, now: float, *, bad: int, slow: int, hard: bool) -> bool:
        change = None
        # Drawn before the lock, because the generator was handed in.
        luck = self.site.rng.random() if bad or slow else 0.0
        with _lock:
            trip = self._trip
            if trip is None:
                if permit != self.generation:
                    return False
                self._record(bad, slow, now)
                self._streak = self._streak + 1 if hard else self._streak if bad else 0
                reason = self._why_open(now) if bad or slow else None
                if reason is not None:
                    change = self._trip_for(1, reason, now, luck)
            else:
                trip.expire(now, self.site.lease_s)
                if trip.leases.pop(permit, None) is None:
                    return False
                if bad or slow:
                    change = self._trip_for(
                        trip.opened + 1, "probe_failed" if bad else "probe_slow", now, luck
                    )
                else:
                    trip.succeeded += 1
                    if trip.succeeded >= self.site.options.probes:
                        change = self._become(None, "closed", "probes_succeeded", now)
        self._tell(change)
        return True

    def _why_open(self, now: float) -> str | None:
        options = self.site.options
        if options.hard_failures is not None and self._streak >= options.hard_failures:
            return "hard_failures"
        calls, failed, slow = self._counts(now)
        if calls < self.site.min_calls:
            return None
        if failed >= options.failure_rate * calls:
            return "failure_rate"
        return "slow_rate" if slow >= options.slow_rate * calls else None

    def _trip_for(self, opened: int, reason: str, now: float, luck: float) -> BreakerChange:
        options = self.site.options
        open_s = nominal(
            "exponential",
            attempt=opened,
            base_s=options.open_s,
            factor=options.open_factor,
            cap_s=options.max_open_s,
        )
        return self._become(
            _Trip(opened=opened, open_s=open_s * (1 - options.jitter * luck), now=now), "open", reason, now
        )

    def _become(self, trip: _Trip | None, after: State, reason: str, now: float) -> BreakerChange:
        before = self.state
        # In this order, because closed breakers are read without the lock: old permits end, the window is emptied,
        # and only then does anybody see the new state.
        self._calm = _NEVER
        self.generation += 1
        if after == "closed":
            self._clear()
        self._trip = trip
        return self._change(before, after, reason, now, trip.open_s if trip is not None else 0.0)

    def _change(self, before: State, after: State, reason: str, now: float, open_s: float) -> BreakerChange:
        calls, failed, slow = self._counts(now)
        return BreakerChange(
            name=self.site.name,
            key=self.key,
            before=before,
            after=after,
            reason=reason,
            at=now,
            open_s=open_s,
            generation=self.generation,
            calls=calls,
            failed=failed,
            slow=slow,
        )

    def _tell(self, change: BreakerChange | None) -> None:
        if change is not None:
            self.site.tell(change)

    def _retry_after(self, now: float) -> float | None:
        trip = self._trip
        if trip is None or trip.state == "closed":
            return 0.0
        if trip.held:
            return None
        if trip.leases:
            trip.expire(now, self.site.lease_s)
        if len(trip.leases) + trip.succeeded >= self.site.options.probes and trip.leases:
            return min(min(trip.leases.values()) - now, self.site.options.open_s)
        return max(0.0, trip.blocked_s(now))

    # ---- the window ----

    def _record(self, bad: int, slow: int, now: float) -> None:
        site = self.site
        if self._seen < site.window:
            self._seen += 1
        self._bad = (self._bad << 1 | bad) & site.mask
        self._slow = (self._slow << 1 | slow) & site.mask
        self._calm = _NEVER

    def _counts(self, now: float) -> tuple[int, int, int]:
        return self._seen, self._bad.bit_count(), self._slow.bit_count()

    def _clear(self) -> None:
        self._bad = self._slow = self._seen = self._streak = 0


class TimedBreakerState(BreakerState):
    """One breaker over the last seconds."""

    __slots__ = ("_window",)

    def __init__(self, site: BreakerSite, key: str) -> None:
        super().__init__(site, key)
        window_s = site.options.window_s
        assert window_s is not None  # new_state() takes the other kind then
        self._window = BucketWindow(width_s=window_s / _BUCKETS, size=_BUCKETS, fields=3)

    def success(self, permit: int, duration_s: float, now: float) -> bool:
        """The call succeeded; False when the permit was stale."""
        return self._report(permit, now, bad=0, slow=int(duration_s > self.site.slow_s), hard=False)

    def _record(self, bad: int, slow: int, now: float) -> None:
        self._window.add(self._window.index_of(now), (1, bad, slow))

    def _counts(self, now: float) -> tuple[int, int, int]:
        calls, failed, slow = self._window.sums(self._window.index_of(now))
        return calls, failed, slow

    def _clear(self) -> None:
        super()._clear()
        self._window.clear()


def new_state(site: BreakerSite, key: str = "") -> BreakerState:
    """A fresh closed breaker of the kind that the options ask for."""
    state = BreakerState(site, key) if site.options.window_s is None else TimedBreakerState(site, key)
    if site.gate is not None:
        site.gate.joined(state)
    return state
