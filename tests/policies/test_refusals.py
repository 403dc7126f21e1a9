"""A value that cannot work: the error says which option it is, what was wanted, what came, and what to write instead."""

import math
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import Breaker, Bulkhead, Isolation, Output, Policy, Rate, Retry, RetryBudget


class Few(IntEnum):
    """A number that somebody gave a name."""

    TWO = 2


def said(make: Callable[..., object], *args: Any, **values: Any) -> str:
    """The text of the refusal."""
    with pytest.raises(UsageError) as caught:
        make(*args, **values)
    return str(caught.value)


def hint_of(text: str) -> str:
    """What to do about it; empty where the error does not say."""
    return text.partition("\n\nhint: ")[2]


WHOLE_NUMBERS = [
    (Breaker, "window", {}, 1),
    (Breaker, "min_calls", {}, 1),
    (Breaker, "hard_failures", {}, 1),
    (Breaker, "probes", {}, 1),
    (Breaker, "max_keys", {}, 1),
    (Rate, "burst", {"limit": 1, "per_s": 1}, 1),
    (Rate, "limit", {"per_s": 1}, 1),
    (RetryBudget, "min_retries", {}, 0),
    (Bulkhead, "limit", {}, 1),
    (Bulkhead, "queue", {"limit": 1}, 0),
    (Isolation, "memory_mb", {"mode": "process"}, 1),
    (Output, "max_chars", {}, 1),
]


@pytest.mark.parametrize(("record", "option", "others", "least"), WHOLE_NUMBERS)
def test_whole_numbers_have_a_least_value(
    record: Callable[..., Any], option: str, others: dict[str, Any], least: int
) -> None:
    """The least value works; one below it, a fraction, a yes and an infinity do not, and the error names the least."""
    assert getattr(record(**others, **{option: least}), option) == least
    for wrong in (least - 1, least + 0.5, True, math.inf, math.nan):
        text = said(record, **others, **{option: wrong})
        assert text.startswith(f"{record.__name__}.{option} must be a whole number >= {least}, got {wrong!r}")


SECONDS = [
    (Breaker, "slow_s", {}, False),
    (Breaker, "open_s", {"max_open_s": 1e300}, False),
    (Breaker, "max_open_s", {"open_s": 1e-300}, False),
    (Breaker, "probe_lease_s", {}, False),
    (Breaker, "window_s", {}, False),
    (Rate, "max_wait_s", {"limit": 1, "per_s": 1}, True),
    (RetryBudget, "window_s", {}, False),
    (Bulkhead, "max_wait_s", {"limit": 1}, True),
]


@pytest.mark.parametrize(("record", "option", "others", "zero"), SECONDS)
def test_durations_are_finite_and_above_zero(
    record: Callable[..., Any], option: str, others: dict[str, Any], zero: bool
) -> None:
    """The smallest fraction works, 0 only where it means something; the error says which of the two it is."""
    assert getattr(record(**others, **{option: 1e-300}), option) == 1e-300
    wanted = "a finite number of seconds " + (">= 0" if zero else "> 0")
    wrongs: list[Any] = [-1e-300, math.inf, -math.inf, math.nan, 10**400, True, "5", [5]]
    if zero:
        assert getattr(record(**others, **{option: 0}), option) == 0
    else:
        wrongs.append(0)
    for wrong in wrongs:
        text = said(record, **others, **{option: wrong})
        assert text.startswith(f"{record.__name__}.{option} must be {wanted}, got {wrong!r}")


SHARES = [
    (Breaker, "failure_rate", False),
    (Breaker, "slow_rate", False),
    (Breaker, "jitter", True),
    (RetryBudget, "ratio", True),
]


@pytest.mark.parametrize(("record", "option", "zero"), SHARES)
def test_shares_are_parts_of_one(record: Callable[..., Any], option: str, zero: bool) -> None:
    """All of it works, and nothing of it where that means something; beyond one does not."""
    assert getattr(record(**{option: 1}), option) == 1
    assert getattr(record(**{option: 1e-9}), option) == 1e-9
    wanted = "a share from 0 up to 1" if zero else "a share above 0 up to 1"
    wrongs: list[Any] = [-0.1, 1.01, 101, math.nan, True, "0.5"]
    if zero:
        assert getattr(record(**{option: 0}), option) == 0
    else:
        wrongs.append(0)
    for wrong in wrongs:
        text = said(record, **{option: wrong})
        assert text.startswith(f"{record.__name__}.{option} must be {wanted}, got {wrong!r}")


def test_a_percentage_is_recognized() -> None:
    """Who writes 50 for a half, or 100 for all, is told how to write it; who writes 101 or a word is not."""
    assert "50/100" in hint_of(said(Breaker, failure_rate=50))
    assert "100/100" in hint_of(said(Breaker, failure_rate=100))
    assert "2/100" in hint_of(said(RetryBudget, ratio=2))
    for wrong in (101, 0, -1, "50", math.nan):
        assert not hint_of(said(Breaker, failure_rate=wrong)), wrong


def test_an_opening_never_shrinks() -> None:
    """A growth of 1 keeps the openings as long as the first; less, and no finite growth, are refused by name."""
    assert Breaker(open_factor=1).open_factor == 1
    for wrong in (0.99, math.inf, math.nan, True, "2"):
        text = said(Breaker, open_factor=wrong)
        assert text.startswith(f"Breaker.open_factor must be a finite number >= 1, got {wrong!r}")


def test_numbers_with_a_name_are_numbers() -> None:
    """An enumeration's number counts as the number, and stands as such in the options."""
    budget = RetryBudget(min_retries=Few.TWO, ratio=1, window_s=5)
    assert (type(budget.min_retries), type(budget.ratio), type(budget.window_s)) == (int, float, float)
    assert "min_retries=2, window_s=5.0" in repr(budget)


def test_a_window_by_calls_has_a_greatest_size() -> None:
    """Ten thousand calls fit; one more is refused, with the way to have rates over more."""
    assert Breaker(window=10_000).window == 10_000
    text = said(Breaker, window=10_001)
    assert text.startswith("Breaker.window must be at most 10000, got 10001")
    assert hint_of(text).startswith("use window_s")


def test_the_longest_opening_is_not_below_the_first() -> None:
    """A contradiction of the two lengths is refused with both; equal ones work, and a long first one needs no second."""
    assert said(Breaker, open_s=20, max_open_s=19.5).startswith(
        "Breaker.max_open_s must be at least open_s (20 s), got 19.5"
    )
    assert Breaker(open_s=20, max_open_s=20).max_open_s == 20
    assert Breaker(open_s=300).max_open_s == 300
    long = Breaker(open_s=301)
    assert (long.max_open_s, type(long.max_open_s)) == (301, float)


def test_a_key_is_a_function() -> None:
    """The name of a parameter is refused with the function that was meant."""
    text = said(Breaker, key="host")
    assert text.startswith("Breaker.key must be a function of the arguments, got 'host'")
    assert hint_of(text).startswith("for one parameter write key=lambda arguments: arguments[")


def test_a_breaker_can_be_told_to_ignore_hard_failures() -> None:
    """None turns the row of hard failures off, and the other options that may be left out are left out."""
    options = Breaker(hard_failures=None)
    assert (options.hard_failures, options.slow_s, options.probe_lease_s, options.window_s) == (None,) * 4


def test_a_wrong_mode_of_isolation_names_the_right_ones() -> None:
    """All five are listed, and the nearest one is asked about where there is one."""
    text = said(Isolation, "proces")
    assert text.startswith(
        "Isolation.mode must be one of 'auto', 'inline', 'task', 'thread', 'process', got 'proces'"
    )
    assert hint_of(text) == "did you mean 'process'?"
    assert hint_of(said(Isolation, "xyzzy")) == "known: auto, inline, process, task, thread"
    assert not hint_of(said(Isolation, 5))


def test_a_memory_limit_needs_a_process() -> None:
    """Elsewhere it is refused: the error says for which mode it is, and why."""
    for mode in ("auto", "inline", "task", "thread"):
        text = said(Isolation, mode, memory_mb=64)
        assert text.startswith("Isolation.memory_mb must be left out unless mode='process', got 64")
        assert hint_of(text).startswith("only a process")
    assert said(Isolation, "thread", memory_mb=0).startswith("Isolation.memory_mb must be a whole number")


def test_a_rate_says_how_it_may_be_written() -> None:
    """Words that are none, a number without its time, and a time that is said twice each get examples or the reason."""
    text = said(Rate, "often")
    assert text.startswith("Rate must be such as '30/minute'")
    assert text.endswith("got 'often'")
    text = said(Rate, 12)
    assert "12 calls" in text
    assert "'30/minute'" in hint_of(text)
    text = said(Rate, "5/s", 3)
    assert text.startswith("Rate.per_s must be left out when the limit is in words, got 3")
    assert said(Rate, 5, -1).startswith("Rate.per_s must be a finite number of seconds > 0, got -1")
    assert said(Rate, "0/s").startswith("Rate.limit must be a whole number >= 1, got 0")
    assert said(Rate, "1/0s").startswith("Rate.per_s must be a finite number of seconds > 0, got 0.0")


KIND_OPTIONS: list[tuple[str, Callable[[Any], object]]] = [
    ("Retry.on", lambda kinds: Retry(on=kinds)),
    ("Retry.per_kind", lambda kinds: Retry(per_kind={kind: {} for kind in kinds})),
]


@pytest.mark.parametrize(("where", "make"), KIND_OPTIONS)
def test_a_slip_in_a_kind_is_told_from_a_kind_of_ones_own(where: str, make: Callable[[Any], object]) -> None:
    """A word near a known kind is refused with that one, whatever its letters' size; one far from all is taken."""
    for slip, meant in (("timeouts", "timeout"), ("TimeOut", "timeout"), ("rate_limit", "rate_limited")):
        text = said(make, [slip])
        assert text.startswith(f"{where} must be kinds of errors, got {slip!r}")
        assert f"did you mean '{meant}'?" in hint_of(text)
    for own in ("printer_jam", "lost", "time"):
        make([own])


def test_kinds_are_words_in_a_collection() -> None:
    """A lone word is refused with its list, what is no collection with an example, and what is no word by its value."""
    text = said(Retry, on="timeout")
    assert text.startswith("Retry.on must be a collection of kinds, got 'timeout'")
    assert hint_of(text) == "write on=['timeout']"
    text = said(Retry, on=5)
    assert text.startswith("Retry.on must be a collection of kinds, got 5")
    assert hint_of(text).startswith("such as ['timeout'")
    text = said(Retry, on=["network", 7])
    assert text.startswith("Retry.on must be kinds of errors as words, got 7")
    assert hint_of(text).startswith("such as 'timeout'")
    assert "ErrorKind.TIMEOUT" in hint_of(text)


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({"breaker": {"probe": 1}}, "did you mean 'probes'?"),
        ({"breaker": {"open_": 1}}, "did you mean 'open_s' or 'max_open_s' or 'open_factor'?"),
        ({"isolation": {"zzz": 1}}, "known: memory_mb, mode"),
        ({"bulkheads": 1}, "did you mean 'bulkhead'?"),
    ],
)
def test_near_words_are_asked_about_and_else_all_are_listed(values: Mapping[str, Any], hint: str) -> None:
    """The nearest option comes first; where none is near, all of them stand there in the order of the alphabet."""
    assert hint_of(said(Policy.from_mapping, values)) == hint
