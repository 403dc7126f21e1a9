"""Breakers for tests that go step by step, and a listener that keeps what it was told."""

import random
from typing import Any

from failsoft.policies import Breaker, BreakerChange, BreakerState


def start(listener: Any = None, lease_s: float = 31.0, rng: Any = None, **options: Any) -> BreakerState:
    """A fresh breaker that one hard failure opens for thirty seconds, unless the options say otherwise."""
    values = {"hard_failures": 1, "jitter": 0, **options}
    return Breaker(**values).start(
        rng=rng or random.Random(1), name="tool", listener=listener, lease_s=lease_s
    )


def fail(breaker: BreakerState, now: float = 0.0, *, times: int = 1, hard: bool = True) -> None:
    """That many failures at one moment."""
    for _ in range(times):
        assert breaker.failure(breaker.admit(now), now, hard)


def succeed(breaker: BreakerState, now: float = 0.0, *, times: int = 1, duration_s: float = 0.1) -> None:
    """That many successes at one moment."""
    for _ in range(times):
        assert breaker.success(breaker.admit(now), duration_s, now)


def fill(breaker: BreakerState, outcomes: str) -> None:
    """Slow successes (l), slow failures (b) and soft failures (f), in that order."""
    for letter in outcomes:
        if letter == "l":
            succeed(breaker, duration_s=9.0)
        else:
            assert breaker.failure(breaker.admit(0.0), 0.0, False, 9.0 if letter == "b" else 0.0)


class Noted:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.changes: list[BreakerChange] = []

    def __call__(self, change: BreakerChange) -> None:
        self.changes.append(change)

    def steps(self) -> list[tuple[str, str, str, float]]:
        """From, to, why and for how long, of each change."""
        return [(each.before, each.after, each.reason, each.open_s) for each in self.changes]
