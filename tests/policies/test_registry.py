"""Breakers by key."""

import logging
import random
from typing import Any

import pytest

from failsoft.policies import Breaker, BreakerRegistry, BreakerSite


def registry(**options: Any) -> BreakerRegistry:
    """A registry whose breakers open on the first hard failure."""
    return BreakerRegistry(
        BreakerSite(Breaker(**{"hard_failures": 1, "jitter": 0, **options}), rng=random.Random(1), name="t")
    )


def test_one_breaker_for_each_word() -> None:
    """Calls of one key share a breaker, those of another have their own."""
    breakers = registry(key=lambda arguments: arguments["host"])
    assert breakers.key_of({"host": "a"}) == "a"
    first = breakers.get("a", 0)
    first.failure(first.admit(0), 0)
    assert breakers.get("a", 0) is first
    assert breakers.get("b", 0).admit(0)
    assert [row.key for row in breakers.stats(0)] == ["a", "b"]
    assert registry().key_of({"host": "a"}) == ""
    assert repr(breakers) == "BreakerRegistry('t', keys=2)"


def test_a_key_function_that_raises_hurts_no_call(caplog: pytest.LogCaptureFixture) -> None:
    """Such calls share one breaker, and the log says so once."""
    breakers = registry(key=lambda arguments: arguments["host"])
    with caplog.at_level(logging.ERROR):
        assert [breakers.key_of({}), breakers.key_of({})] == ["", ""]
    assert len(caplog.records) == 1


def test_the_bound_holds_and_what_was_used_stays() -> None:
    """New keys push out those that nobody asked for since, not those in use."""
    breakers = registry(max_keys=10)
    kept = breakers.get("kept", 0)
    for i in range(1000):
        breakers.get(f"k{i}", 0)
        breakers.get("kept", 0)
        assert len(breakers) <= 10
    assert breakers.get("kept", 0) is kept


def test_the_bound_holds_when_all_were_used() -> None:
    """When every key was asked for again, one of them still makes room."""
    breakers = registry(max_keys=20)
    for i in range(500):
        breakers.get(f"k{i}", 0)
        for state in list(breakers._states):
            breakers.get(state, 0)
        assert len(breakers) <= 20


def test_a_breaker_in_use_is_found_again() -> None:
    """A breaker whose call runs while it is pushed out is the same one for the next call of its key."""
    breakers = registry(max_keys=2)
    running = breakers.get("a", 0)
    permit = running.admit(0)
    for i in range(20):
        breakers.get(f"k{i}", 0)
    assert "a" not in breakers._states
    assert running.failure(permit, 0)
    assert breakers.get("a", 0) is running
    assert not breakers.get("a", 0).admit(0)


def test_open_breakers_are_never_dropped() -> None:
    """A bound of three is passed by ten open breakers; it holds again when their time is over."""
    breakers = registry(max_keys=3, open_s=30)
    for i in range(10):
        state = breakers.get(f"bad{i}", 0)
        state.failure(state.admit(0), 0)
    assert len(breakers) == 10
    assert all(breakers.get(f"bad{i}", 1).state == "open" for i in range(10))
    for i in range(40):
        breakers.get(f"good{i}", 100)
    assert len(breakers) == 10, "it does not grow any more"


def test_held_breakers_are_never_dropped() -> None:
    """What a person set by hand is not forgotten."""
    breakers = registry(max_keys=2)
    breakers.get("held", 0).close(0, hold=True)
    breakers.get("off", 0).open(0)
    for i in range(50):
        breakers.get(f"k{i}", 10**6)
    states = {row.key: row.held for row in breakers.stats(10**6) if row.held}
    assert states == {"held": True, "off": True}
