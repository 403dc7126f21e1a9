"""Which request meets which trouble: seeded, so that a run can be repeated."""

from __future__ import annotations

import random
import threading
from enum import StrEnum

__all__ = ["Fault", "Faults"]


class Fault(StrEnum):
    """What may happen to one request."""

    NONE = "none"
    CUT_BEFORE = "cut_before"
    LIMITED = "limited"
    DOWN = "down"
    HANG = "hang"
    LOST_ANSWER = "lost_answer"
    SLOW = "slow"


# Reads cannot lose an effect; writes can be cut before it, or lose their answer after it.
_READS = (Fault.LIMITED, Fault.DOWN, Fault.HANG, Fault.CUT_BEFORE, Fault.SLOW)
_WRITES = (Fault.LIMITED, Fault.DOWN, Fault.LOST_ANSWER, Fault.LOST_ANSWER, Fault.HANG, Fault.CUT_BEFORE)


class Faults:
    """The schedule of one service.

    Args:
        name: The service; part of the seed, so that services do not fail in step.
        seed: Of the run.
        chaos: Share of requests that meet trouble, 0 to 1.
        opening: What the first requests meet, before chance decides.
    """

    def __init__(self, name: str, seed: int, chaos: float, opening: tuple[Fault, ...] = ()) -> None:
        self._rng = random.Random(f"{name}:{seed}")
        self._chaos = chaos
        self._opening = list(opening) if chaos > 0 else []
        self._lock = threading.Lock()

    def next(self, *, writes: bool) -> Fault:
        """What the next request meets."""
        with self._lock:
            if self._opening:
                return self._opening.pop(0)
            if self._rng.random() >= self._chaos:
                return Fault.NONE
            return self._rng.choice(_WRITES if writes else _READS)
