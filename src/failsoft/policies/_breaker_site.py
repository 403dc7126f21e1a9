"""What the breakers of one tool share: the options made ready, randomness, and who is told of changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.policies._backoff import Rng
    from failsoft.policies.breaker import Breaker
    from failsoft.policies.breaker_state import BreakerState

__all__ = ["BreakerChange", "BreakerSite", "BreakerStats", "ProbeGate", "State"]

State = Literal["closed", "open", "half_open"]

_log = logging.getLogger("failsoft.policies")


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerChange:
    """One change of state.

    Args:
        name: The tool.
        key: Which of its breakers; empty where it has one.
        before: The state before.
        after: The state after.
        reason: `failure_rate`, `hard_failures`, `slow_rate`, `probe_failed`, `probe_slow`, `time_over`,
            `probes_succeeded`, `manual`, or whatever was given to `open()` and `close()`.
        at: Monotonic seconds.
        open_s: How long it stays open; 0 where it does not.
        generation: The breaker's generation after the change.
        calls: Calls in the window.
        failed: Failed ones among them.
        slow: Slow ones among them.
    """

    name: str
    key: str
    before: str
    after: str
    reason: str
    at: float
    open_s: float
    generation: int
    calls: int
    failed: int
    slow: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerStats:
    """One breaker, as it stands.

    Args:
        key: Which one.
        state: `closed`, `open` or `half_open`.
        held: Whether somebody set the state by hand.
        generation: Grows with each change and each probe.
        calls: Calls in the window.
        failed: Failed ones among them.
        slow: Slow ones among them.
        hard_in_row: Hard failures since the last success.
        opened: Openings since it was last closed.
        retry_after_s: Seconds until a call may be let through; None when nobody can say.
        probes_running: Probes that have not reported.
    """

    key: str
    state: State
    held: bool
    generation: int
    calls: int
    failed: int
    slow: int
    hard_in_row: int
    opened: int
    retry_after_s: float | None
    probes_running: int


class ProbeGate(Protocol):
    """Who else must agree before a probe goes: the rest of a fleet.

    It is asked where a probe would go and nowhere else, so that a closed breaker never waits for it.
    """

    async def admit(self, breaker: BreakerState, remaining_s: float) -> int:
        """A permit for a breaker whose `admit` gave none, or 0; takes `remaining_s` seconds at most."""
        ...

    def let_go(self, breaker: BreakerState, permit: int) -> None:
        """A probe's permit was given back without an outcome."""
        ...

    def joined(self, breaker: BreakerState) -> None:
        """A breaker was made; called once for each, may open it."""
        ...


class BreakerSite:
    """Shared by all breakers of one tool.

    Args:
        options: The options.
        rng: Randomness for the length of an opening.
        name: The tool.
        lease_s: How long a probe may take, where the options do not say.
        listener: Told of each change, outside of any lock, in the thread of the call that caused it. Two threads may
            tell two changes the other way round: `generation` has the order. What it raises is logged once and
            reaches nobody.
        gate: Who else must agree before a probe goes; then `admit` gives none, and `probe` does.
    """

    __slots__ = (
        "_grumbled",
        "gate",
        "lease_s",
        "listener",
        "mask",
        "min_calls",
        "name",
        "options",
        "rng",
        "slow_s",
        "window",
    )

    def __init__(
        self,
        options: Breaker,
        *,
        rng: Rng,
        name: str = "",
        lease_s: float = 31.0,
        listener: Callable[[BreakerChange], object] | None = None,
        gate: ProbeGate | None = None,
    ) -> None:
        self.options = options
        self.gate = gate
        self.rng = rng
        self.name = name
        self.listener = listener
        self.lease_s = options.probe_lease_s or lease_s
        self.slow_s = options.slow_s or float("inf")
        self.window = options.window
        self.mask = (1 << options.window) - 1
        # Ten calls can never stand in a window of five; by time any number can.
        self.min_calls = options.min_calls if options.window_s else min(options.min_calls, options.window)
        self._grumbled = False

    def tell(self, change: BreakerChange) -> None:
        """Hand a change to the listener."""
        if self.listener is None:
            return
        try:
            self.listener(change)
        except Exception:
            if not self._grumbled:
                self._grumbled = True
                _log.exception("the listener of breaker %r raised; it is told of further changes", self.name)
