"""Time-outs: how long one attempt, the whole call and a silence may last.

total( retry( attempt( body ) ) ): the total covers waits and queueing, the attempt only the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from failsoft.policies._checks import refuse, seconds
from failsoft.policies.unset import UNSET, Unset

__all__ = ["ATTEMPT_S", "GRACE_S", "TOTAL_S", "Timeout"]

ATTEMPT_S = 30.0
TOTAL_S = 60.0
GRACE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Timeout:
    """Limits in seconds.

    Args:
        attempt_s: One attempt; a sequence gives later attempts limits of their own, the last one holds on.
            Default 30; or the total where that is shorter, or where the tool is not repeatable.
        total_s: The whole call with all waits. Default 60; twice the longest attempt where that is longer.
        idle_s: The longest silence between two items or progress reports; default none.
        grace_s: How long a cancelled body may clean up; default 1.

    Raises:
        UsageError: A limit is not a finite positive number, or an attempt or silence is longer than the total.
    """

    attempt_s: float | tuple[float, ...]
    total_s: float
    idle_s: float | None
    grace_s: float
    attempt_given: bool = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        *,
        attempt_s: float | Sequence[float] | Unset = UNSET,
        total_s: float | Unset = UNSET,
        idle_s: float | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        given = not isinstance(attempt_s, Unset)
        attempts: float | tuple[float, ...] = (
            ATTEMPT_S if isinstance(attempt_s, Unset) else _attempts(attempt_s)
        )
        longest = max(attempts) if isinstance(attempts, tuple) else attempts
        total = (
            max(TOTAL_S, 2 * longest) if isinstance(total_s, Unset) else seconds("Timeout.total_s", total_s)
        )
        if longest > total:
            if given:
                hint = "the total covers every attempt and wait; raise total_s or lower attempt_s"
                raise refuse("Timeout.attempt_s", f"at most total_s ({total:g} s)", attempt_s, hint)
            attempts = total
        if idle_s is not None and seconds("Timeout.idle_s", idle_s) > total:
            raise refuse(
                "Timeout.idle_s", f"at most total_s ({total:g} s)", idle_s, "it could never be reached"
            )
        put = object.__setattr__
        put(self, "attempt_s", attempts)
        put(self, "total_s", total)
        put(self, "idle_s", idle_s if idle_s is None else float(idle_s))
        put(self, "grace_s", seconds("Timeout.grace_s", grace_s, zero=True))
        put(self, "attempt_given", given)

    @property
    def longest_attempt_s(self) -> float:
        """The longest limit of any attempt."""
        return max(self.attempt_s) if isinstance(self.attempt_s, tuple) else self.attempt_s

    def attempt(self, n: int, remaining: float) -> float:
        """Seconds that attempt `n`, counted from 1, may take when `remaining` seconds are left; never below 0."""
        limit = self.attempt_s
        if isinstance(limit, tuple):
            limit = limit[min(max(n, 1), len(limit)) - 1]
        return max(0.0, min(limit, remaining))

    def for_standing(self, repeatable: bool) -> Timeout:
        """The same limits for a tool that may or may not be repeated.

        An early end of what cannot be repeated only makes a doubt: its attempt lasts as long as the total.
        """
        if repeatable or self.attempt_given:
            return self
        limits = Timeout(total_s=self.total_s, idle_s=self.idle_s, grace_s=self.grace_s)
        object.__setattr__(limits, "attempt_s", self.total_s)
        return limits


def _attempts(given: float | Sequence[float]) -> float | tuple[float, ...]:
    if isinstance(given, Sequence):
        if not given or isinstance(given, str):  # type: ignore[unreachable]
            raise refuse("Timeout.attempt_s", "a number, or a sequence with at least one", given)
        return tuple(seconds(f"Timeout.attempt_s[{i}]", value) for i, value in enumerate(given))
    return seconds("Timeout.attempt_s", given)
