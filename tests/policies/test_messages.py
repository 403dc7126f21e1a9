"""What an error of a policy names: the option, what was given, what would be right, and often what to do."""

from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import (
    DEFAULTS,
    Fallback,
    Isolation,
    Policy,
    Timeout,
    UseFunction,
    UseLastGood,
    UseTool,
    UseValue,
)
from failsoft.policies.resolve import resolve_layers


def said(make: Any, *args: Any, **values: Any) -> str:
    """The text of the refusal."""
    with pytest.raises(UsageError) as caught:
        make(*args, **values)
    return str(caught.value)


def holds_all(text: str, parts: list[str]) -> None:
    """Every part stands in the text, and no placeholder does."""
    for part in parts:
        assert part in text
    assert "None" not in text or "got None" in text or "None (off)" in text


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"attempt_s": 0}, ["Timeout.attempt_s must be", "got 0"]),
        ({"attempt_s": []}, ["Timeout.attempt_s must be a number, or a sequence with at least one", "got []"]),
        ({"attempt_s": "30"}, ["Timeout.attempt_s must be a number, or a sequence", "got '30'"]),
        ({"attempt_s": [5, -1]}, ["Timeout.attempt_s[1] must be", "got -1"]),
        (
            {"attempt_s": 20, "total_s": 10},
            ["Timeout.attempt_s must be at most total_s (10 s)", "got 20", "hint: the total covers", "lower attempt_s"],
        ),
        ({"attempt_s": [1, 20], "total_s": 10}, ["at most total_s (10 s)", "got [1, 20]"]),
        ({"total_s": -3}, ["Timeout.total_s must be", "> 0", "got -3"]),
        ({"idle_s": -4}, ["Timeout.idle_s must be", "> 0", "got -4"]),
        ({"idle_s": 61}, ["Timeout.idle_s must be at most total_s (60 s)", "got 61", "hint: it could never be reached"]),
        ({"grace_s": -5}, ["Timeout.grace_s must be", ">= 0", "got -5"]),
    ],
)  # fmt: skip
def test_timeouts(values: dict[str, Any], parts: list[str]) -> None:
    """A limit in time that cannot work."""
    holds_all(said(Timeout, **values), parts)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({}, ["needs something to fall back on", "hint: tool=, last_good_max_age_s=, function=, value="]),
        (
            {"steps": [UseValue(1)], "value": 2},
            ["Fallback.steps must be left out", "got [UseValue(value=1)]", "hint: put everything into steps"],
        ),
        ({"steps": ["other"]}, ["Fallback.steps must be UseTool, UseLastGood, UseFunction or UseValue", "got 'other'"]),
        (
            {"steps": [UseValue(1), UseTool("a")]},
            ["Fallback.steps must be ended by its constant", "UseTool(name='a')", "hint: a constant never fails"],
        ),
        ({"value": 1, "on": ["cancelled"]}, ["Fallback.on must be free of cancelled, in_doubt, permission_denied"]),
        (
            {"value": 1, "on": ["timeout", "in_doubt"]},
            ["Fallback.on must be", "got ['in_doubt', 'timeout']", "hint: these must stand"],
        ),
        ({"value": 1, "on": ["timeot"]}, ["Fallback.on must be", "'timeout'"]),
        ({"value": 1, "max_remembered": 0}, ["Fallback.max_remembered must be", "got 0"]),
        ({"tool": 3}, ["Fallback.tool must be another tool's name, or several in order", "got 3"]),
        ({"tool": {"a": 1}}, ["Fallback.tool must be"]),
    ],
)  # fmt: skip
def test_fallbacks(values: dict[str, Any], parts: list[str]) -> None:
    """A fallback that cannot work."""
    text = said(Fallback, **values)
    holds_all(text, parts)
    assert text.startswith("Fallback")


def test_steps_of_a_fallback() -> None:
    """An age that is none, and a function that cannot be called."""
    holds_all(said(UseLastGood, -1), ["UseLastGood.max_age_s must be", "> 0", "got -1"])
    wanted = "UseFunction.function must be a function of the tool's arguments"
    holds_all(said(UseFunction, "f"), [wanted, "got 'f'"])


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"timeout": None}, ["Policy.timeout must be set: it cannot be off", "got None", "hint: give long limits"]),
        ({"timeout": False}, ["Policy.timeout must be set", "got False", "hint: give long limits"]),
        ({"isolation": None}, ["Policy.isolation must be set", "hint: 'auto' chooses"]),
        ({"timeout": {}}, ["Policy.timeout must be a Timeout, seconds of one attempt or UNSET", "got {}"]),
        ({"retry": []}, ["Policy.retry must be a Retry, the number of attempts, None (off) or UNSET", "got []"]),
        ({"retry": True}, ["Policy.retry must be a Retry, the number of attempts", "got True"]),
        ({"retry_budget": []}, ["Policy.retry_budget must be a RetryBudget, the share of retries, None (off)"]),
        ({"breaker": 5}, ["Policy.breaker must be a Breaker, None (off) or UNSET", "got 5"]),
        ({"bulkhead": []}, ["Policy.bulkhead must be a Bulkhead, the number of bodies at once, None (off)"]),
        ({"rate": []}, ["Policy.rate must be a Rate, words such as '30/minute', None (off)"]),
        ({"fallback": {}}, ["Policy.fallback must be a Fallback, another tool's name, None (off)"]),
        ({"isolation": {}}, ["Policy.isolation must be an Isolation, a word such as 'process' or UNSET", "got {}"]),
        ({"output": []}, ["Policy.output must be an Output, the number of characters, None (off)"]),
        ({"when_open": "hid"}, ["Policy.when_open must be one of 'offer', 'describe', 'withhold'", "got 'hid'"]),
        ({"retry": 0}, ["Retry.max_attempts", "got 0"]),
        ({"timeout": -1}, ["Timeout.attempt_s", "got -1"]),
        ({"retry_budget": 30}, ["RetryBudget.ratio", "got 30"]),
        ({"bulkhead": 0}, ["Bulkhead.limit", "got 0"]),
        ({"output": 0}, ["Output.max_chars", "got 0"]),
    ],
)  # fmt: skip
def test_policies(values: dict[str, Any], parts: list[str]) -> None:
    """A part that cannot be what was given."""
    holds_all(said(Policy, **values), parts)


def test_isolation() -> None:
    """A place that there is not, and memory without a process."""
    holds_all(said(Isolation, "proces"), ["Isolation.mode must be one of 'auto'", "did you mean 'process'"])
    holds_all(said(Isolation, "process", 0), ["Isolation.memory_mb must be", "got 0"])
    wanted = "Isolation.memory_mb must be left out unless mode='process'"
    holds_all(said(Isolation, "task", 64), [wanted, "got 64", "hint: only a process has a memory of its own"])


def test_a_part_that_no_layer_says_anything_about() -> None:
    """The first part that is missing is named, and where to begin."""
    text = said(resolve_layers, [("mine", Policy(timeout=3, retry=None))])
    holds_all(
        text, ["no layer says anything about 'retry_budget'", "hint: begin with failsoft.policies.DEFAULTS"]
    )
    assert resolve_layers([("mine", DEFAULTS)]).when_open == "offer"
