"""Sums over the last seconds: a ring of buckets on a monotonic clock, constant work and memory.

Rules of this file: buckets expire on reading and on writing; a clock that goes back counts as one that stands still;
after a gap as long as the window everything is gone; what leaves a bucket leaves the sums, field by field.
"""

from __future__ import annotations

__all__ = ["BucketWindow"]


class BucketWindow:
    """A row of sums, `fields` of them, over `size` buckets of `width_s` seconds each."""

    __slots__ = ("_newest", "_rows", "_sums", "width_s")

    def __init__(self, *, width_s: float, size: int, fields: int) -> None:
        self.width_s = width_s
        self._rows = [[0] * fields for _ in range(size)]
        self._sums = [0] * fields
        self._newest: int | None = None

    def index_of(self, now: float) -> int:
        """The number of the bucket that `now` falls into."""
        return int(now // self.width_s)

    def add(self, index: int, amounts: tuple[int, ...]) -> None:
        """Put `amounts` into bucket `index`, or into the newest one when that is later."""
        newest = self._advance(index)
        row, sums = self._rows[newest % len(self._rows)], self._sums
        for i, amount in enumerate(amounts):
            row[i] += amount
            sums[i] += amount

    def sums(self, index: int) -> tuple[int, ...]:
        """The sums over the window whose last bucket is `index`."""
        self._advance(index)
        return tuple(self._sums)

    def clear(self) -> None:
        """Forget everything but the time."""
        for row in self._rows:
            row[:] = [0] * len(row)
        self._sums[:] = [0] * len(self._sums)

    def _advance(self, index: int) -> int:
        newest = self._newest
        if newest is None or index - newest >= len(self._rows):
            self.clear()
            self._newest = index
            return index
        for expired in range(newest + 1, index + 1):
            row = self._rows[expired % len(self._rows)]
            for i, amount in enumerate(row):
                self._sums[i] -= amount
                row[i] = 0
        self._newest = max(newest, index)
        return self._newest
