"""How long to wait after a failed attempt: the formulas, without any rule about whether to.

Cap first, then jitter: a cap on top of the jitter makes all late waits equal, and the herd meets again.
Full, equal and decorrelated jitter after the AWS Architecture Blog, "Exponential Backoff And Jitter" (2015).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Rng", "decorrelated", "nominal", "spread"]


class Rng(Protocol):
    """What is needed of randomness: `random.Random` fits."""

    def random(self) -> float:
        """A number from 0 up to, but not including, 1."""
        ...


def nominal(
    backoff: str | Callable[[int], float], *, attempt: int, base_s: float, factor: float, cap_s: float
) -> float:
    """The wait after attempt number `attempt` without jitter: from 0 to `cap_s`, whatever the attempt."""
    try:
        if callable(backoff):
            wait = float(backoff(attempt))
        elif backoff == "fixed":
            wait = base_s
        elif backoff == "linear":
            wait = base_s * attempt
        else:
            wait = base_s * factor ** (attempt - 1)
    except OverflowError:
        return cap_s
    # A user's function may give NaN or a negative number: no wait is the honest reading of both.
    return min(cap_s, wait) if wait > 0 and not math.isnan(wait) else 0.0


def spread(wait_s: float, jitter: str, rng: Rng) -> float:
    """A wait somewhere below `wait_s`: full from 0 on, equal from its half on, none exactly."""
    if jitter == "full":
        return wait_s * rng.random()
    if jitter == "equal":
        return wait_s / 2 + wait_s / 2 * rng.random()
    return wait_s


def decorrelated(previous_wait_s: float | None, *, base_s: float, cap_s: float, rng: Rng) -> float:
    """Between the base and three times the wait before, at most the cap."""
    low = min(base_s, cap_s)
    high = min(cap_s, max(low, 3 * (base_s if previous_wait_s is None else previous_wait_s)))
    return low + (high - low) * rng.random()
