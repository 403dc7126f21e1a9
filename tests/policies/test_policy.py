"""Layers of policies, what holds in the end, and policies from plain data."""

import copy
import importlib
import json
import pkgutil
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import pytest

from failsoft import policies
from failsoft.core.annotations import Standing
from failsoft.core.errors import UsageError
from failsoft.policies import (
    DEFAULTS,
    UNSET,
    Breaker,
    Bulkhead,
    EffectivePolicy,
    Fallback,
    Isolation,
    Output,
    Policy,
    Rate,
    Retry,
    RetryBudget,
    Timeout,
    presets,
    resolve,
)
from failsoft.policies.defaults import table
from failsoft.policies.policy import PARTS


def test_the_defaults_are_those_of_the_design() -> None:
    """Every default has the value that the docs promise."""
    effective = resolve(standing=Standing.REPEATABLE)
    assert (effective.timeout.attempt_s, effective.timeout.total_s, effective.timeout.grace_s) == (30, 60, 1)
    assert effective.retry == Retry(max_attempts=3, base_s=0.5, factor=2, cap_s=10, jitter="full")
    assert effective.retry.of_kind("rate_limited").base_s == 1
    assert effective.retry.of_kind("rate_limited").cap_s == 60
    assert effective.retry_budget == RetryBudget(ratio=0.2, min_retries=3, window_s=10)
    assert effective.breaker == Breaker(
        window=20, min_calls=10, failure_rate=0.5, hard_failures=5, open_s=30, max_open_s=300, probes=1
    )
    assert effective.output == Output(max_chars=10_000)
    assert (effective.bulkhead, effective.rate, effective.fallback) == (None, None, None)
    assert (effective.isolation.mode, effective.when_open) == ("auto", "offer")
    assert set(effective.origin) == set(PARTS)
    assert set(effective.origin.values()) == {"default"}
    assert DEFAULTS.said == PARTS


def test_the_docs_table_is_made_from_the_code() -> None:
    """The rows name the numbers that hold."""
    rows = {row[0]: row[1] for row in table()}
    assert rows["attempt, total"].startswith("30 s, 60 s")
    assert rows["retry"] == (
        "3 attempts, base 0.5 s × 2, cap 10 s, full jitter; `rate_limited` base 1 s, cap 60 s"
    )
    assert rows["retry budget"] == "20 % of calls + 3 per 10 s, per tool and run"
    assert "open 30 s growing to 300 s; 1 probe" in rows["breaker"]
    assert rows["output"] == "10,000 characters"


def test_tool_over_harness_over_default() -> None:
    """The nearest layer that says something wins, part by part, and is named."""
    effective = resolve(
        harness=Policy(retry=Retry(max_attempts=5), breaker=None, output=500),
        tool=Policy(retry=2, bulkhead=3),
        standing=Standing.REPEATABLE,
    )
    assert effective.retry == Retry(max_attempts=2)
    assert effective.breaker is None
    assert effective.output == Output(max_chars=500)
    assert effective.bulkhead == Bulkhead(3)
    assert {part: effective.origin[part] for part in ("retry", "breaker", "bulkhead", "timeout")} == {
        "retry": "tool",
        "breaker": "harness",
        "bulkhead": "tool",
        "timeout": "default",
    }


def test_a_source_is_named_instead_of_its_layer() -> None:
    """What a file or a preset says is shown as coming from there."""
    effective = resolve(harness=Policy.from_mapping({"retry": False}, "failsoft.toml"), tool=presets.lookup())
    assert effective.origin["timeout"] == "preset lookup"
    assert resolve(harness=Policy.from_mapping({"retry": False})).origin["retry"] == "failsoft.toml"


@pytest.mark.parametrize(
    ("standing", "attempt_s"),
    [(Standing.REPEATABLE, 30), (Standing.PROTECTED, 60), (Standing.UNDECLARED, 60)],
)
def test_what_cannot_be_repeated_runs_as_long_as_the_total(standing: Standing, attempt_s: float) -> None:
    """Where the attempt is not given, a tool that is not repeatable gets the total."""
    assert resolve(standing=standing).timeout.attempt_s == attempt_s
    assert resolve(tool=Policy(timeout=3), standing=standing).timeout.attempt_s == 3
    assert resolve(harness=Policy(timeout=Timeout(total_s=20)), standing=standing).timeout.attempt_s == 20


def test_plain_values_stand_for_records() -> None:
    """The commonest records can be said by a number or a word; False is off."""
    policy = Policy(
        timeout=5, retry=2, retry_budget=0.1, breaker=None, bulkhead=4, rate="30/minute", fallback="other",
        isolation="process", output=False,
    )  # fmt: skip
    assert policy == Policy(
        timeout=Timeout(attempt_s=5),
        retry=Retry(max_attempts=2),
        retry_budget=RetryBudget(ratio=0.1),
        breaker=None,
        bulkhead=Bulkhead(4),
        rate=Rate(30, 60),
        fallback=Fallback(tool="other"),
        isolation=Isolation("process"),
        output=None,
    )
    assert Policy(timeout=[5, 2]).timeout == Timeout(attempt_s=(5, 2))
    assert Policy(fallback=["a", "b"]).fallback == Fallback(tool=["a", "b"])  # type: ignore[arg-type]
    assert policy.when_open is UNSET
    assert repr(UNSET) == "UNSET"
    assert not UNSET


@pytest.mark.parametrize(
    "values",
    [
        {"timeout": None},
        {"isolation": None},
        {"timeout": True},
        {"retry": "3"},
        {"retry": True},
        {"retry": Breaker()},
        {"breaker": True},
        {"breaker": 5},
        {"rate": 30},
        {"bulkhead": 0},
        {"isolation": "proces"},
        {"output": {}},
        {"when_open": "hide"},
        {"when_open": None},
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """A part of the wrong sort is refused where it is written."""
    with pytest.raises(UsageError):
        Policy(**values)
    with pytest.raises(UsageError, match="long limits"):
        Policy(timeout=None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'auto' chooses"):
        Policy(isolation=None)  # type: ignore[arg-type]
    assert Isolation("process", memory_mb=100).memory_mb == 100
    with pytest.raises(UsageError, match="memory"):
        Isolation("thread", memory_mb=100)


def test_one_layer_over_another() -> None:
    """A policy on top of another keeps what it says and takes the rest."""
    policy = Policy(retry=5, breaker=None).over(presets.payment())
    assert policy.retry == Retry(max_attempts=5)
    assert policy.breaker is None
    assert policy.timeout == presets.payment().timeout
    assert policy.source == "preset payment"
    assert policy.said == ("timeout", "retry", "breaker", "fallback")


def test_policies_are_immutable_and_copy_as_themselves() -> None:
    """No part can be changed after it was checked; copies are equal."""
    policy, effective = Policy(retry=2), resolve()
    with pytest.raises(FrozenInstanceError):
        policy.retry = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        effective.origin["retry"] = "x"  # type: ignore[index]
    assert copy.deepcopy(policy) == policy
    assert copy.deepcopy(effective) is effective
    assert hash(effective) == hash(resolve())


def test_a_layer_must_say_everything_in_the_end() -> None:
    """Without the defaults beneath, a part that nobody says anything about is refused."""
    with pytest.raises(UsageError, match="DEFAULTS"):
        resolve(Policy(), Policy(retry=3))


def test_what_holds_can_be_shown_as_plain_data() -> None:
    """Every part becomes plain data, functions their names."""
    effective = resolve(
        tool=Policy(
            breaker=Breaker(key=lambda arguments: arguments["host"]),
            fallback=Fallback(function=len),
            timeout=[3, 1],
        ),
        standing=Standing.REPEATABLE,
    )
    shown = json.loads(json.dumps(effective.to_mapping()))
    assert list(shown) == list(PARTS)
    assert shown["retry"]["per_kind"] == {"rate_limited": {"base_s": 1, "cap_s": 60}}
    assert shown["timeout"] == {"attempt_s": [3, 1], "total_s": 60, "idle_s": None, "grace_s": 1}
    assert shown["fallback"]["steps"] == [{"function": "len"}]
    assert "lambda" in shown["breaker"]["key"]
    assert shown["bulkhead"] is None
    assert shown["when_open"] == "offer"


def test_a_probe_may_hold_its_permit_as_long_as_an_attempt() -> None:
    """The lease is the longest attempt and the grace; the total where a call may wait behind the breaker."""
    assert resolve(standing=Standing.REPEATABLE).probe_lease_s == 31
    assert resolve(tool=Policy(bulkhead=1), standing=Standing.REPEATABLE).probe_lease_s == 61
    assert resolve(tool=Policy(rate="1/s"), standing=Standing.REPEATABLE).probe_lease_s == 61


def test_policies_from_plain_data() -> None:
    """A table, a plain value or false for each part, as a TOML file gives them."""
    policy = Policy.from_mapping(
        {
            "timeout": {"attempt_s": [10, 5], "total_s": 40},
            "retry": {"max_attempts": 4, "per_kind": {"network": {"base_s": 2}}},
            "retry_budget": False,
            "breaker": {"window_s": 30},
            "bulkhead": {"limit": 2, "queue": 3},
            "rate": "5/s",
            "fallback": {"value": None},
            "isolation": "thread",
            "output": 100,
            "when_open": "withhold",
        },
        "here",
    )
    assert policy.timeout == Timeout(attempt_s=(10, 5), total_s=40)
    assert policy.retry == Retry(max_attempts=4, per_kind={"network": {"base_s": 2}})
    assert policy.retry_budget is None
    assert policy.breaker == Breaker(window_s=30)
    assert policy.bulkhead == Bulkhead(2, queue=3)
    assert policy.source == "here"
    assert policy.said == PARTS
    assert Policy.from_mapping({}) == Policy()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"retyr": 1}, "x.toml: there is no policy 'retyr'\n\nhint: did you mean 'retry'"),
        ({"zzz": 1}, "known: breaker, bulkhead"),
        (
            {"retry": {"max_attemps": 2}},
            "x.toml: retry: Retry has no option 'max_attemps'\n\nhint: did you mean 'max_att",
        ),
        ({"bulkhead": {"queue": 2}}, "x.toml: bulkhead: Bulkhead needs 'limit'"),
        ({"breaker": {"failure_rate": 50}}, "x.toml: breaker: Breaker.failure_rate must be a share"),
        ({"rate": "often"}, "x.toml: rate: Rate must be such as '30/minute'"),
        ({"retry": None}, None),
        ({"when_open": {"a": 1}}, "x.toml: when_open: Policy.when_open must be a word"),
        ({"when_open": "hide"}, "x.toml: when_open: Policy.when_open must be one of"),
        ({"retry": {"per_kind": {"network": {"base": 2}}}}, "hint: did you mean 'base_s'"),
        ({"timeout": False}, "x.toml: timeout: Policy.timeout must be set"),
    ],
)
def test_wrong_data_is_refused_with_its_place(values: dict[str, Any], said: str | None) -> None:
    """The error names the file, the part, the option, and the near words."""
    if said is None:
        assert Policy.from_mapping(values, "x.toml").retry is None
        return
    with pytest.raises(UsageError) as caught:
        Policy.from_mapping(values, "x.toml")
    assert said in str(caught.value)
    with pytest.raises(UsageError, match="a table of policies"):
        Policy.from_mapping([1])  # type: ignore[arg-type]


def test_records_are_frozen_and_slotted() -> None:
    """No record of this room can be changed or given a field that it does not have."""
    seen = set()
    for info in pkgutil.iter_modules(policies.__path__):
        module = importlib.import_module(f"failsoft.policies.{info.name}")
        for record in vars(module).values():
            if is_dataclass(record) and isinstance(record, type) and record.__module__ == module.__name__:
                seen.add(record.__name__)
                assert record.__dataclass_params__.frozen, record  # type: ignore[attr-defined]
                assert "__slots__" in vars(record), record
    assert {"Breaker", "UseTool", "Reservation", "EffectivePolicy", "Page"} <= seen


def test_records_are_keyword_only() -> None:
    """Options are named, so that fields can be added; what has one obvious number takes it plainly."""
    for record in (Timeout, Retry, RetryBudget, Breaker, Output, Policy, Fallback, EffectivePolicy):
        with pytest.raises(TypeError):
            record(1)  # type: ignore[operator]
        assert fields(record)
