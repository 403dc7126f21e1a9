"""Retry budget: retries may add only a share to the load, so that layers of retries do not multiply.

After Finagle's RetryBudget: each call pays in a little, each retry takes out one, both are forgotten after a while,
and a reserve lets a quiet tool retry at all. Asked before the wait; a refusal is noted on the error, never replaces it.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from failsoft.policies._checks import count, seconds, share
from failsoft.policies._window import BucketWindow

__all__ = ["RetryBudget", "RetryBudgetState", "RetryBudgetStats", "withdraw_all"]

_BUCKETS = 10
# 0.2 * 5 is 1.0 in floats, but 0.1 * 10 sums need not be: a retry is not refused for the last bit.
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudget:
    """The share and the reserve.

    Args:
        ratio: Retries per call; default 0.2.
        min_retries: Retries per window that need no calls; default 3.
        window_s: How long calls and retries are remembered; default 10.

    Raises:
        UsageError: A value cannot work.
    """

    ratio: float = 0.2
    min_retries: int = 3
    window_s: float = 10.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ratio", share("RetryBudget.ratio", self.ratio, zero=True))
        put(self, "min_retries", count("RetryBudget.min_retries", self.min_retries, least=0))
        put(self, "window_s", seconds("RetryBudget.window_s", self.window_s))

    def start(self) -> RetryBudgetState:
        """A fresh state: one per tool, one per run."""
        return RetryBudgetState(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudgetStats:
    """What stands in the window.

    Args:
        calls: Calls that paid in.
        retries: Retries that were granted.
        balance: Retries that could be granted now, fractions included.
        refused: Retries refused since the start.
    """

    calls: int
    retries: int
    balance: float
    refused: int


class RetryBudgetState:
    """One balance; safe for threads.

    Every call pays in, so that is kept cheap: deposits of the current bucket are a plain number, without the lock.
    `self._fresh += 1` loses nothing: CPython 3.11 to 3.13 lets another thread in only at calls and backward jumps, and
    there is neither in the statement (nor between the two statements of `_flush` that take the number over).
    """

    __slots__ = ("_bucket", "_edge", "_fresh", "_lock", "_window", "options", "refused")

    def __init__(self, options: RetryBudget) -> None:
        self.options = options
        self.refused = 0
        self._lock = threading.Lock()
        # One bucket more than the window needs: a retry is remembered for the whole of it, never for less.
        self._window = BucketWindow(width_s=options.window_s / _BUCKETS, size=_BUCKETS + 1, fields=2)
        self._fresh = 0
        self._bucket = 0
        self._edge = -math.inf

    def deposit(self, now: float) -> None:
        """A call began (the first attempt, not a retry)."""
        if now >= self._edge:
            with self._lock:
                self._flush(now)
        self._fresh += 1

    def withdraw(self, now: float) -> bool:
        """Take one retry out; False when there is none, then nothing is taken."""
        with self._lock:
            self._flush(now)
            if self._balance() < 1 - _EPSILON:
                self.refused += 1
                return False
            self._window.add(self._bucket, (0, 1))
            return True

    def refund(self, now: float) -> None:
        """Give one retry back that was granted but not begun."""
        with self._lock:
            self._flush(now)
            if self._window.sums(self._bucket)[1] > 0:
                self._window.add(self._bucket, (0, -1))

    def _flush(self, now: float) -> None:
        fresh = self._fresh
        self._fresh = 0
        if fresh:
            self._window.add(self._bucket, (fresh, 0))
        bucket = self._window.index_of(now)
        if self._edge == -math.inf or bucket > self._bucket:
            self._bucket = bucket
            self._edge = (bucket + 1) * self._window.width_s

    def _balance(self) -> float:
        calls, retries = self._window.sums(self._bucket)
        return self.options.min_retries + self.options.ratio * calls - retries

    def stats(self, now: float) -> RetryBudgetStats:
        """The balance and what it is made of."""
        with self._lock:
            self._flush(now)
            calls, retries = self._window.sums(self._bucket)
            return RetryBudgetStats(
                calls=calls, retries=retries, balance=max(0.0, self._balance()), refused=self.refused
            )

    def __repr__(self) -> str:
        return f"RetryBudgetState({self.options!r}, refused={self.refused})"


def withdraw_all(budgets: tuple[RetryBudgetState, ...], now: float) -> bool:
    """Take one retry out of each of `budgets`, such as the tool's and the run's, or out of none."""
    for i, budget in enumerate(budgets):
        if not budget.withdraw(now):
            for earlier in budgets[:i]:
                earlier.refund(now)
            return False
    return True
