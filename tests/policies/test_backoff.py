"""The formulas of the waits, with the dice held still."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from failsoft.policies._backoff import decorrelated, nominal, spread


def dice(number: float) -> Any:
    """Randomness that always gives the same number."""
    return SimpleNamespace(random=lambda: number)


def wait(backoff: Any, attempt: int, **values: float) -> float:
    """The wait without jitter: base 2, growth 3, cap 100 unless said otherwise."""
    return nominal(backoff, attempt=attempt, **{"base_s": 2.0, "factor": 3.0, "cap_s": 100.0, **values})


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        ("fixed", [2, 2, 2]),
        ("linear", [2, 4, 6]),
        ("exponential", [2, 6, 18]),
        (lambda attempt: attempt + 0.5, [1.5, 2.5, 3.5]),
    ],
)
def test_shapes(backoff: Any, waits: list[float]) -> None:
    """Each shape has its waits after the first, second and third attempt."""
    assert [wait(backoff, attempt) for attempt in (1, 2, 3)] == waits


@pytest.mark.parametrize("odd", [-1.0, 0.0, math.nan, -math.inf])
def test_an_odd_wait_of_a_users_function_is_none(odd: float) -> None:
    """A function that gives a negative number or NaN is read as: no wait."""
    assert wait(lambda attempt: odd, 1) == 0


def test_the_cap_holds_for_every_shape() -> None:
    """No wait is longer than the cap, also where the number would be too large for a float."""
    assert wait(lambda attempt: math.inf, 1) == 100
    assert wait("linear", 1_000) == 100
    assert wait("exponential", 5_000) == 100
    assert wait(lambda attempt: 10**400, 1) == 100
    assert wait("fixed", 1, cap_s=1.5) == 1.5
    assert wait("fixed", 1, base_s=0.0) == 0
    assert wait("fixed", 1, base_s=0.25) == 0.25, "a wait shorter than a second is a wait"


@pytest.mark.parametrize(
    ("jitter", "number", "waited"),
    [
        ("full", 0.0, 0.0),
        ("full", 0.25, 2.0),
        ("full", 1.0, 8.0),
        ("equal", 0.0, 4.0),
        ("equal", 0.25, 5.0),
        ("equal", 1.0, 8.0),
        ("none", 0.25, 8.0),
    ],
)
def test_jitter(jitter: str, number: float, waited: float) -> None:
    """Full jitter begins at nothing, equal jitter at the half, none is the wait itself; none passes the wait."""
    assert spread(8.0, jitter, dice(number)) == waited


@pytest.mark.parametrize(
    ("previous_s", "number", "waited"),
    [
        (None, 0.0, 2.0),
        (None, 1.0, 6.0),
        (None, 0.5, 4.0),
        (5.0, 0.0, 2.0),
        (5.0, 1.0, 15.0),
        (5.0, 0.5, 8.5),
        (1_000.0, 1.0, 100.0),
        (0.1, 1.0, 2.0),
    ],
)
def test_decorrelated_waits_lie_between_the_base_and_three_times_the_last(
    previous_s: float | None, number: float, waited: float
) -> None:
    """From the base up to three times the wait before (the base at first), at most the cap."""
    assert decorrelated(previous_s, base_s=2.0, cap_s=100.0, rng=dice(number)) == waited


def test_decorrelated_waits_keep_a_cap_below_the_base() -> None:
    """A cap that is shorter than the base holds."""
    assert decorrelated(None, base_s=9.0, cap_s=4.0, rng=dice(0.5)) == 4
