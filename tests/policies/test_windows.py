"""Every window against a naive list: the same numbers, whatever came in and whenever it was looked at."""

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from failsoft.policies import Breaker
from failsoft.policies._window import BucketWindow

OUTCOMES = st.tuples(st.booleans(), st.booleans())


@given(window=st.integers(1, 130), outcomes=st.lists(OUTCOMES, max_size=300))
def test_count_window_is_the_tail_of_the_list(window: int, outcomes: list[tuple[bool, bool]]) -> None:
    """A window of N calls counts what the last N entries of a list count."""
    # Nothing trips: no hard failures in a row, and more calls needed than there are.
    breaker = Breaker(window=window, min_calls=10**6, hard_failures=None, slow_s=1).start(
        rng=random.Random(0)
    )
    breaker.site.min_calls = 10**6
    for bad, slow in outcomes:
        permit = breaker.admit(0.0)
        if bad:
            breaker.failure(permit, 0.0, True, 2.0 if slow else 0.0)
        else:
            breaker.success(permit, 2.0 if slow else 0.0, 0.0)
    stats, tail = breaker.stats(0.0), outcomes[-window:]
    assert (stats.calls, stats.failed, stats.slow) == (
        len(tail),
        sum(bad for bad, _ in tail),
        sum(slow for _, slow in tail),
    )


STEPS = st.lists(
    st.tuples(st.floats(-30, 30, allow_nan=False), st.integers(0, 3), st.integers(0, 3), st.booleans()),
    max_size=80,
)


@given(width_s=st.sampled_from([0.1, 1.0, 3.3]), size=st.integers(1, 12), steps=STEPS)
def test_bucket_window_is_the_filtered_list(
    width_s: float, size: int, steps: list[tuple[float, int, int, bool]]
) -> None:
    """The sums are those of all entries in the newest buckets; a clock that goes back stands still."""
    window = BucketWindow(width_s=width_s, size=size, fields=2)
    now, newest = 1000.0, -(10**9)
    rows: list[tuple[int, int, int]] = []
    for step, first, second, looks in steps:
        now += step
        if looks and not rows:
            continue
        newest = max(newest, int(now // width_s))
        if not looks:
            window.add(window.index_of(now), (first, second))
            rows.append((newest, first, second))
        inside = [row for row in rows if row[0] > newest - size]
        expected = (sum(row[1] for row in inside), sum(row[2] for row in inside))
        assert window.sums(window.index_of(now)) == expected


def test_bucket_window_forgets_after_a_gap() -> None:
    """After a gap as long as the window nothing is left, and nothing is left negative."""
    window = BucketWindow(width_s=1.0, size=3, fields=1)
    window.add(0, (5,))
    assert window.sums(2) == (5,)
    assert window.sums(3) == (0,)
    assert window.sums(10**9) == (0,)


@pytest.mark.parametrize("size", [1, 2])
def test_bucket_window_of_one_or_two(size: int) -> None:
    """The smallest windows hold exactly their newest buckets."""
    window = BucketWindow(width_s=1.0, size=size, fields=1)
    for index in range(10):
        window.add(index, (1,))
        assert window.sums(index) == (min(index + 1, size),)


def test_bucket_window_clears() -> None:
    """Clearing forgets the sums and the buckets alike."""
    window = BucketWindow(width_s=1.0, size=3, fields=2)
    window.add(5, (1, 2))
    window.clear()
    assert window.sums(5) == (0, 0)
    window.add(6, (1, 0))
    assert window.sums(8) == (1, 0)
    assert window.sums(9) == (0, 0)
