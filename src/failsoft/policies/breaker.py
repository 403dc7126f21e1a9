"""Breaker: stop calling what is down, and find out cheaply when it is back.

    closed ──(rate, slow rate or hard failures)──▶ open ──(time over, next call)──▶ half-open
      ▲                                             ▲                                  │
      │                                             └──────(a probe fails or is slow)──┤
      └────────────────────────────(all probes succeed)────────────────────────────────┘

Rules of this file
- Every admitted call holds a permit and reports once: success, failure or ignored. A permit of an earlier state is
  stale and changes nothing; the report says so by returning False.
- A closed breaker's permit is its generation. A probe's permit is a number of its own with a lease: a holder that is
  lost gives way when the lease ends.
- A rate is looked at when a bad outcome comes, never when a good one does.
- Time is looked at when somebody asks; there are no timers, so `state` shows "open" until the first call after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.policies._breaker_site import BreakerSite
from failsoft.policies._checks import count, factor, refuse, seconds, share
from failsoft.policies.breaker_state import BreakerState, new_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.policies._backoff import Rng
    from failsoft.policies._breaker_site import BreakerChange

__all__ = ["Breaker"]

_MAX_WINDOW = 10_000
_MAX_OPEN_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """When to open, for how long, and how to close again.

    Args:
        window: Calls that the rates are taken over; default 20.
        min_calls: Calls that must stand in the window before a rate counts; default 10, at most `window`.
        failure_rate: Share of failed calls that opens; default 0.5.
        hard_failures: Hard failures in a row (unavailable, network, time-out) that open at once; default 5.
            None turns this off.
        slow_s: A call that takes longer is slow; default none is.
        slow_rate: Share of slow calls that opens; default 1.0.
        open_s: How long the first opening lasts; default 30.
        max_open_s: The longest opening; default 300.
        open_factor: Growth of the opening each time that a probe fails; default 2.
        jitter: An opening ends up to this share earlier, so that a fleet does not probe in step; default 0.1.
        probes: Calls let through after an opening; all must succeed. Default 1.
        probe_lease_s: After this time a probe that did not report is given up.
            Default: the longest attempt and the grace.
        window_s: Take the rates over this many seconds (ten buckets) instead of over `window` calls.
        key: A function from the arguments to a word: one breaker for each word. Default one for the tool.
        max_keys: Breakers kept for `key`; default 1,000. Open ones and those in use are never dropped.

    Raises:
        UsageError: A value cannot work.
    """

    window: int = 20
    min_calls: int = 10
    failure_rate: float = 0.5
    hard_failures: int | None = 5
    slow_s: float | None = None
    slow_rate: float = 1.0
    open_s: float = 30.0
    max_open_s: float = _MAX_OPEN_S
    open_factor: float = 2.0
    jitter: float = 0.1
    probes: int = 1
    probe_lease_s: float | None = None
    window_s: float | None = None
    key: Callable[[Mapping[str, Any]], object] | None = None
    max_keys: int = 1_000

    def __post_init__(self) -> None:
        if count("Breaker.window", self.window) > _MAX_WINDOW:
            hint = "use window_s for rates over many calls"
            raise refuse("Breaker.window", f"at most {_MAX_WINDOW}", self.window, hint)
        for name in ("min_calls", "probes", "max_keys"):
            count(f"Breaker.{name}", getattr(self, name))
        if self.hard_failures is not None:
            count("Breaker.hard_failures", self.hard_failures)
        for name in ("slow_s", "probe_lease_s", "window_s"):
            if getattr(self, name) is not None:
                seconds(f"Breaker.{name}", getattr(self, name))
        for name in ("open_s", "max_open_s"):
            seconds(f"Breaker.{name}", getattr(self, name))
        for name in ("failure_rate", "slow_rate"):
            share(f"Breaker.{name}", getattr(self, name))
        share("Breaker.jitter", self.jitter, zero=True)
        factor("Breaker.open_factor", self.open_factor)
        if self.max_open_s < self.open_s:
            # Somebody who gives only a long open_s means it; a shorter max_open_s of their own is a contradiction.
            if self.max_open_s != _MAX_OPEN_S:
                raise refuse("Breaker.max_open_s", f"at least open_s ({self.open_s:g} s)", self.max_open_s)
            object.__setattr__(self, "max_open_s", float(self.open_s))
        key: object = self.key  # a type checker's promise is no proof
        if key is not None and not callable(key):
            hint = "for one parameter write key=lambda arguments: arguments['host']"
            raise refuse("Breaker.key", "a function of the arguments", key, hint)

    def start(
        self,
        *,
        rng: Rng,
        name: str = "",
        lease_s: float = 31.0,
        listener: Callable[[BreakerChange], object] | None = None,
    ) -> BreakerState:
        """A fresh closed breaker; see `BreakerSite` for the arguments."""
        return new_state(BreakerSite(self, rng=rng, name=name, lease_s=lease_s, listener=listener))
