"""Fallbacks: in order, and never over a doubt."""

from typing import Any

import pytest

from failsoft.core.errors import UsageError, make_error
from failsoft.core.kinds import KIND_DEFAULTS, Effect
from failsoft.policies import Fallback, LastGoodState, UseFunction, UseLastGood, UseTool, UseValue
from failsoft.policies.fallback import DEFAULT_ON, plan

ALL = Fallback(tool="other", last_good_max_age_s=60, function=len, value=[])


def words(error: Any, **facts: bool) -> list[str]:
    """The words of the steps that may be tried."""
    return [step.word for step in plan(ALL, error, **{"read_only": False, "repeatable": False, **facts})]


def test_the_order_is_tool_old_value_function_constant() -> None:
    """Given in short, the steps stand in one order; several tools in theirs."""
    assert ALL.steps == (UseTool("other"), UseLastGood(60), UseFunction(len), UseValue([]))
    assert Fallback(tool=["a", "b"]).tools == ("a", "b")
    assert Fallback(value=None).steps == (UseValue(None),)
    assert ALL.remembers
    assert not Fallback(value=1).remembers
    assert Fallback(steps=[UseValue(1)]).steps == (UseValue(1),)


@pytest.mark.parametrize("kind", sorted(KIND_DEFAULTS))
@pytest.mark.parametrize("effect", list(Effect))
@pytest.mark.parametrize(("read_only", "repeatable"), [(True, True), (False, True), (False, False)])
def test_a_possible_effect_is_never_covered(
    kind: str, effect: Effect, read_only: bool, repeatable: bool
) -> None:
    """Stand-ins need a tool that only reads, or no effect; another tool needs a repeatable one, or no effect."""
    said = words(make_error(kind, effect=effect), read_only=read_only, repeatable=repeatable)
    if kind not in DEFAULT_ON:
        assert said == []
    elif effect == "none" or read_only:
        assert said == ["other", "last_good", "function", "value"]
    else:
        assert said == (["other"] if repeatable else [])


def test_a_breaker_in_front_never_stops_it() -> None:
    """A call that a breaker, a queue or a rate refused is answered, whatever the tool."""
    for kind in ("circuit_open", "overloaded", "rate_limited"):
        assert len(words(make_error(kind))) == 4


def test_no_fallback_where_it_would_hide_something() -> None:
    """Bad arguments, refusals, cancels and doubts stand; so does a failure after items came; off is off."""
    for kind in (
        "invalid_argument",
        "permission_denied",
        "cancelled",
        "in_doubt",
        "not_found",
        "budget_exhausted",
    ):
        assert words(make_error(kind, effect="none"), read_only=True, repeatable=True) == []
    error = make_error("network", effect="none")
    assert plan(ALL, error, read_only=True, repeatable=True, yielded=True) == ()
    assert plan(None, error, read_only=True, repeatable=True) == ()


def test_on_names_the_kinds() -> None:
    """The kinds that are worth a fallback can be said, but not those that must stand."""
    fallback = Fallback(value=0, on=["not_found", "my_kind"])
    facts = {"read_only": True, "repeatable": True}
    assert plan(fallback, make_error("my_kind"), **facts)
    assert not plan(fallback, make_error("network"), **facts)
    with pytest.raises(UsageError, match="must stand"):
        Fallback(value=0, on=["permission_denied"])


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"steps": [UseValue(1), UseTool("a")]},
        {"steps": ["a"]},
        {"steps": [UseValue(1)], "value": 2},
        {"last_good_max_age_s": 0},
        {"function": 3},
        {"value": 1, "max_remembered": 0},
    ],
)
def test_fallbacks_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """Nothing to fall back on, something behind a constant, or a wrong value is refused."""
    with pytest.raises(UsageError):
        Fallback(**values)


def test_last_good_values_have_an_age_and_a_bound() -> None:
    """A value is recalled for its own arguments only, not when it is too old, and the oldest makes room."""
    memory = LastGoodState(2)
    memory.remember("a", None, 0)
    memory.remember("b", 2, 1)
    found = memory.recall("a", 10, 10)
    assert found is not None
    assert (found.value, found.age_s) == (None, 10)
    assert memory.recall("a", 10.1, 10) is None
    assert memory.recall("c", 0, 10) is None
    memory.remember("a", 3, 12)
    memory.remember("c", 4, 13)
    assert memory.recall("b", 13, 100) is None
    assert len(memory) == 2
    back = memory.recall("a", 5, 1)
    assert back is not None
    assert back.age_s == 0, "a clock that goes back makes nothing younger than new"
    assert Fallback(value=1, max_remembered=7).start().max_remembered == 7
    assert repr(memory) == "LastGoodState(2/2)"


@pytest.mark.parametrize("on", [["timeot"], "timeout", 3])
def test_kinds_that_match_nothing_are_refused(on: Any) -> None:
    """A slip in a kind, or a text in place of a collection, would turn the fallback off without a word."""
    with pytest.raises(UsageError, match=r"Fallback\.on must be"):
        Fallback(value=1, on=on)
    assert "warehouse_closed" in Fallback(value=1, on=["warehouse_closed"]).on
