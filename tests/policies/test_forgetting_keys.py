"""Which breaker makes room for a new key: one that loses nothing, and that nobody has asked for lately."""

import logging
import random
from typing import Any

import pytest

from failsoft.policies import Breaker, BreakerRegistry, BreakerSite


def registry(max_keys: int, *asked: str, **options: Any) -> BreakerRegistry:
    """A registry of breakers that open on the first hard failure, with some keys asked for once."""
    values = {"hard_failures": 1, "jitter": 0, "max_keys": max_keys, **options}
    breakers = BreakerRegistry(BreakerSite(Breaker(**values), rng=random.Random(1), name="tool"))
    for key in asked:
        breakers.get(key, 0)
    return breakers


def keys(breakers: BreakerRegistry) -> str:
    """All keys, in the order of the alphabet."""
    return "".join(sorted(row.key for row in breakers.stats(0)))


def open_(breakers: BreakerRegistry, key: str) -> None:
    """One hard failure."""
    state = breakers.get(key, 0)
    state.failure(state.admit(0), 0)


def test_up_to_the_bound_nothing_is_forgotten() -> None:
    """The third of three keys costs none of the others; the fourth costs one."""
    breakers = registry(3, "a", "b", "c")
    assert (keys(breakers), len(breakers)) == ("abc", 3)
    breakers.get("a", 0)
    assert keys(breakers) == "abc", "a key that is there needs no room"
    breakers.get("d", 0)
    assert len(breakers) == 3


def test_the_oldest_that_nobody_asked_for_again_goes_first() -> None:
    """In the order in which they were made."""
    breakers = registry(3, "a", "b", "c")
    seen = []
    for key in "defg":
        breakers.get(key, 0)
        seen.append(keys(breakers))
    assert seen == ["bcd", "cde", "def", "efg"]


def test_who_was_asked_for_again_gets_a_second_chance_and_no_third() -> None:
    """It is passed over once; unless it is asked for again, the next new key takes its place."""
    breakers = registry(2, "a", "b")
    breakers.get("a", 0)
    breakers.get("c", 0)
    assert keys(breakers) == "ac"
    breakers.get("d", 0)
    assert keys(breakers) == "cd"


def test_when_all_were_asked_for_again_the_oldest_goes() -> None:
    """And the others have had their second chance by then."""
    breakers = registry(3, "a", "b", "c")
    for key in "abc":
        breakers.get(key, 0)
    breakers.get("d", 0)
    assert keys(breakers) == "bcd"
    breakers.get("e", 0)
    assert keys(breakers) == "cde"
    breakers.get("f", 0)
    assert keys(breakers) == "def"


def test_an_open_one_is_passed_over_also_beside_one_that_was_asked_for() -> None:
    """The one that loses nothing goes, though it was asked for again and the open one was not."""
    breakers = registry(2, "a", "b")
    open_(breakers, "a")
    breakers.get("b", 0)
    breakers.get("c", 0)
    assert keys(breakers) == "ac"
    breakers.get("d", 0)
    assert keys(breakers) == "ad"


@pytest.mark.parametrize(("opened", "kept"), [(7, 8), (8, 9)])
def test_eight_are_looked_at_for_each_new_key(opened: int, kept: int) -> None:
    """The eighth is found to make room; a ninth is not, so the bound is passed, but the next new key finds it."""
    breakers = registry(opened + 1, *"abcdefghi"[: opened + 1])
    for key in "abcdefghi"[:opened]:
        open_(breakers, key)
    breakers.get("x", 0)
    assert len(breakers) == kept + (opened == 8)
    breakers.get("y", 0)
    assert len(breakers) == kept + (opened == 8)


def test_when_all_are_open_none_is_forgotten() -> None:
    """The bound is passed, each open one keeps its state, and once their time is over the bound stops growing."""
    breakers = registry(2, "a", "b")
    for key in "abcd":
        open_(breakers, key)
    assert keys(breakers) == "abcd"
    assert [row.state for row in breakers.stats(0)] == ["open"] * 4
    breakers.get("e", 30)
    assert len(breakers) == 4


def test_a_forgotten_key_begins_anew() -> None:
    """Nothing of its window is left when nobody held it."""
    breakers = registry(1, hard_failures=None)
    state = breakers.get("a", 0)
    state.failure(state.admit(0), 0)
    assert breakers.get("a", 0).stats(0).failed == 1
    del state
    breakers.get("b", 0)
    assert keys(breakers) == "b"
    assert breakers.get("a", 0).stats(0).failed == 0


def test_a_breaker_knows_its_key_and_its_site() -> None:
    """Also one that was found again after it had been forgotten."""
    breakers = registry(1)
    held = breakers.get("a", 0)
    breakers.get("b", 0)
    assert breakers.get("a", 0) is held
    assert (held.key, held.site) == ("a", breakers.site)
    assert keys(breakers) == "a"


def test_those_that_are_not_closed_come_first() -> None:
    """Then in the order of their keys."""
    breakers = registry(9, *"cbadm")
    open_(breakers, "m")
    open_(breakers, "b")
    assert breakers.get("m", 0).admit(30)
    rows = breakers.stats(30)
    assert [(row.key, row.state) for row in rows] == [
        ("b", "open"),
        ("m", "half_open"),
        ("a", "closed"),
        ("c", "closed"),
        ("d", "closed"),
    ]


def test_a_key_of_any_sort_becomes_a_word() -> None:
    """A number or nothing is a key like any other; the function is given the arguments as they are."""
    breakers = registry(9, key=lambda arguments: arguments["account"])
    assert [breakers.key_of({"account": value}) for value in (7, None, "", "x")] == ["7", "None", "", "x"]


def test_a_key_function_that_raises_is_logged_with_its_tool_and_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once; later calls work as before."""
    breakers = registry(9, key=lambda arguments: arguments["account"])
    with caplog.at_level(logging.ERROR, "failsoft.policies"):
        assert [breakers.key_of(each) for each in ({}, {"account": 1}, {})] == ["", "1", ""]
    (record,) = caplog.records
    assert record.getMessage().startswith("Breaker.key of 'tool' raised")
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_a_listener_that_raises_is_logged_with_its_tool_and_told_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once in the log; it hears of the next change all the same."""
    told = []

    def listener(change: object) -> None:
        told.append(change)
        raise RuntimeError("no")

    breaker = Breaker(hard_failures=1, jitter=0).start(rng=random.Random(1), name="tool", listener=listener)
    with caplog.at_level(logging.ERROR, "failsoft.policies"):
        breaker.failure(breaker.admit(0), 0)
        breaker.success(breaker.admit(30), 0.1, 30)
    assert len(told) == 3
    (record,) = caplog.records
    assert record.getMessage().startswith("the listener of breaker 'tool' raised")
    assert record.exc_info is not None
