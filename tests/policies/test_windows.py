"""Every window against a naive list: the same numbers, whatever came in and whenever it was looked at."""

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from failsoft.policies import Breaker
from failsoft.policies._window import BucketWindow

OUTCOMES = st.tuples(st.booleans(), st.booleans())


def follow(window: int, outcomes: list[tuple[bool, bool]]) -> None:
    """Report outcome after outcome and compare with the tail of the list each time."""
    # Nothing trips: no hard failures in a row, and more calls needed than there are.
    breaker = Breaker(window=window, hard_failures=None, slow_s=1).start(rng=random.Random(0))
    breaker.site.min_calls = 10**6
    for number, (bad, slow) in enumerate(outcomes, 1):
        permit, duration_s = breaker.admit(0.0), 2.0 if slow else 0.0
        counted = (
            breaker.failure(permit, 0.0, True, duration_s)
            if bad
            else breaker.success(permit, duration_s, 0.0)
        )
        assert counted
        stats, tail = breaker.stats(0.0), outcomes[max(0, number - window) : number]
        assert (stats.calls, stats.failed, stats.slow) == (
            len(tail),
            sum(was_bad for was_bad, _ in tail),
            sum(was_slow for _, was_slow in tail),
        )


@given(window=st.integers(1, 5), outcomes=st.lists(OUTCOMES, max_size=40))
def test_small_count_windows_are_the_tail_of_the_list(window: int, outcomes: list[tuple[bool, bool]]) -> None:
    """A window of N calls counts what the last N entries of a list count."""
    follow(window, outcomes)


@pytest.mark.parametrize("window", [1, 2, 20, 63, 64, 100, 130])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_count_windows_are_the_tail_of_a_long_list(window: int, share: float) -> None:
    """Also over hundreds of calls of which few, half or all were bad."""
    rng = random.Random(window)
    follow(window, [(rng.random() < share, rng.random() < share) for _ in range(3 * window + 50)])


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
