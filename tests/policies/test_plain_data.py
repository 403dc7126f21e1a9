"""Policies from a file: what each way of writing means, and how an error finds its place."""

from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import (
    Breaker,
    Bulkhead,
    Fallback,
    Isolation,
    Output,
    Policy,
    Rate,
    Retry,
    RetryBudget,
    Timeout,
)
from failsoft.policies.mapping import policy_from


@pytest.mark.parametrize(
    ("part", "table", "made"),
    [
        ("timeout", {"attempt_s": 5}, Timeout(attempt_s=5)),
        ("retry", {"max_attempts": 7}, Retry(max_attempts=7)),
        ("retry_budget", {"ratio": 0.3}, RetryBudget(ratio=0.3)),
        ("breaker", {"window": 30}, Breaker(window=30)),
        ("bulkhead", {"limit": 4, "queue": 2}, Bulkhead(4, queue=2)),
        ("rate", {"limit": 5, "per_s": 2}, Rate(5, 2)),
        ("fallback", {"tool": "other"}, Fallback(tool="other")),
        ("isolation", {"mode": "process", "memory_mb": 64}, Isolation("process", memory_mb=64)),
        ("output", {"max_chars": 99}, Output(max_chars=99)),
    ],
)
def test_a_table_makes_the_record_of_its_part(part: str, table: dict[str, Any], made: object) -> None:
    """Every part can be a table of its options; an empty one is the defaults where nothing is needed."""
    policy = policy_from({part: table})
    assert getattr(policy, part) == made
    assert policy.said == (part,)


def test_false_is_off_and_so_is_nothing() -> None:
    """Both turn a part off, and it counts as said; a part that is not there was not said."""
    for off in (False, None):
        policy = policy_from({"retry": off, "breaker": off})
        assert (policy.retry, policy.breaker) == (None, None)
        assert policy.said == ("retry", "breaker")
    assert policy_from({"breaker": {}}).breaker == Breaker()


def test_where_a_policy_came_from_is_kept() -> None:
    """The file's name where it was given, else the usual one; errors begin with it."""
    assert policy_from({"retry": 2}).source == "failsoft.toml"
    assert policy_from({"retry": 2}, "other.toml").source == "other.toml"
    for where in ("failsoft.toml", "other.toml"):
        with pytest.raises(UsageError) as caught:
            policy_from({"retry": 0}, where)
        assert str(caught.value).startswith(f"{where}: retry: Retry.max_attempts must be")
        assert isinstance(caught.value.__cause__, UsageError), "the record's own error is its cause"


@pytest.mark.parametrize(
    ("values", "begins", "hint"),
    [
        ({"retries": 1}, "here: there is no policy 'retries'", "did you mean 'retry'"),
        ({7: 1}, "here: there is no policy 7", "known: "),
        ({"rate": {"limt": 1}}, "here: rate: Rate has no option 'limt'", "did you mean 'limit'?"),
        ({"rate": {7: 1}}, "here: rate: Rate has no option 7", "known: burst, limit"),
        ({"rate": {"per_s": 1}}, "here: rate: Rate needs 'limit'", ""),
        ({"bulkhead": {}}, "here: bulkhead: Bulkhead needs 'limit'", ""),
        ({"when_open": {"a": 1}}, "here: when_open: Policy.when_open must be a word, got {'a': 1}", ""),
        ({"retry": True}, "here: retry: Policy.retry", ""),
        ({"retry": 2, "rate": "x"}, "here: rate: Rate must be", ""),
    ],
)
def test_an_error_names_file_part_and_option(values: dict[Any, Any], begins: str, hint: str) -> None:
    """And what it could have been; the parts before it that work are not blamed."""
    with pytest.raises(UsageError) as caught:
        policy_from(values, "here")
    said, _, hinted = str(caught.value).partition("\n\nhint: ")
    assert said.startswith(begins)
    assert hinted.startswith(hint)


def test_what_is_no_table_is_refused_with_its_value() -> None:
    """A list or a word in the place of the whole table."""
    for wrong in ([1], "retry", None):
        with pytest.raises(UsageError) as caught:
            policy_from(wrong, "here")  # type: ignore[arg-type]
        assert str(caught.value) == f"here must be a table of policies, got {wrong!r}"


def test_nothing_said_is_an_empty_layer() -> None:
    """An empty table says nothing about any part."""
    assert policy_from({}).said == ()
    assert policy_from({}) == Policy()
