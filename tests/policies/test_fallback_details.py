"""Fallbacks in detail: which failures they cover by themselves, and what the memory of good values keeps."""

from typing import Any

import pytest

from failsoft.core.errors import make_error
from failsoft.core.kinds import KIND_DEFAULTS
from failsoft.policies import Fallback, LastGoodState, UseFunction, UseLastGood, UseTool, UseValue
from failsoft.policies.fallback import plan

COVERED = {
    "quota_exhausted", "rate_limited", "overloaded", "unavailable", "network", "timeout", "circuit_open",
    "invalid_output", "model_error", "internal", "unknown",
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(KIND_DEFAULTS))
def test_the_worlds_failures_are_covered_by_default(kind: str) -> None:
    """What only the model, a person or nobody can change is not mended by asking elsewhere; the rest is."""
    error = make_error(kind, effect="none")
    steps = plan(Fallback(value=1), error, read_only=True, repeatable=True)
    assert bool(steps) == (kind in COVERED)


def test_words_say_what_answered() -> None:
    """`degraded_by` is another tool's name, or the sort of stand-in."""
    steps = (UseTool("other"), UseLastGood(5), UseFunction(len), UseValue(None))
    assert [step.word for step in steps] == ["other", "last_good", "function", "value"]
    assert (
        repr(steps[1:])
        == "(UseLastGood(max_age_s=5), UseFunction(function=<built-in function len>), UseValue(value=None))"
    )


@pytest.mark.parametrize(
    ("tool", "names"),
    [("a", ("a",)), (["a", "b"], ("a", "b")), (("b", "a"), ("b", "a"))],
)
def test_other_tools_in_their_order(tool: Any, names: tuple[str, ...]) -> None:
    """One name, or several in the order of trying; only tools are among `tools`."""
    fallback = Fallback(tool=tool, value=0)
    assert fallback.tools == names
    assert fallback.steps == (*(UseTool(name) for name in names), UseValue(0))


def test_a_constant_may_be_nothing() -> None:
    """None, an empty list and UNSET's truth are not taken for "no constant"."""
    nothing: list[Any] = [None, [], 0, ""]
    for value in nothing:
        assert Fallback(value=value).steps == (UseValue(value),)
    assert Fallback(last_good_max_age_s=5).steps == (UseLastGood(5),)
    assert Fallback(function=len).steps == (UseFunction(len),)


def test_a_constant_in_the_middle_is_found_wherever_it_stands() -> None:
    """Two constants are one too many, and a constant at the end is none."""
    order: list[Any] = [UseLastGood(600), UseTool("other"), UseFunction(len), UseValue(1)]
    assert Fallback(steps=order).steps == tuple(order)
    assert Fallback(steps=order).remembers
    assert Fallback(steps=order).tools == ("other",)


def test_the_memory_has_room_for_256_values_by_default() -> None:
    """The default bound is 256, of a fallback and of a memory alone; the 257th value costs the first."""
    for memory in (Fallback(value=1).start(), LastGoodState()):
        for number in range(257):
            memory.remember(number, number, 0.0)
        assert len(memory) == 256
        assert memory.recall(0, 0.0, 1.0) is None
        assert memory.recall(1, 0.0, 1.0) is not None
    assert Fallback(value=1).max_remembered == 256


def test_a_value_that_was_made_again_is_kept_longest() -> None:
    """A new good value for old arguments counts as the newest, and replaces value and age."""
    memory = LastGoodState(2)
    memory.remember("a", 1, 0.0)
    memory.remember("b", 2, 1.0)
    memory.remember("a", 3, 2.0)
    memory.remember("c", 4, 3.0)
    assert memory.recall("b", 3.0, 100.0) is None
    found = memory.recall("a", 5.0, 100.0)
    assert found is not None
    assert (found.value, found.age_s) == (3, 3.0)


def test_a_value_is_good_up_to_its_age() -> None:
    """Exactly as old as allowed is allowed, also where it was made at the clock's zero."""
    memory = LastGoodState(2)
    memory.remember("a", "x", 0.0)
    assert memory.recall("a", 5.0, 5.0) is not None
    assert memory.recall("a", 5.001, 5.0) is None
    fresh = memory.recall("a", 0.0, 5.0)
    assert fresh is not None
    assert fresh.age_s == 0.0
    young = memory.recall("a", 0.25, 5.0)
    assert young is not None
    assert young.age_s == 0.25, "less than a second is not rounded up"


def test_a_failure_after_a_possible_effect_may_go_to_another_tool_only() -> None:
    """Each of read-only and repeatable counts by itself for another tool; only read-only for a stand-in."""
    both = Fallback(tool="other", value=0)
    error = make_error("timeout", effect="possible")

    def words(**facts: bool) -> list[str]:
        return [step.word for step in plan(both, error, **facts)]

    assert words(read_only=True, repeatable=False) == ["other", "value"]
    assert words(read_only=False, repeatable=True) == ["other"]
    assert words(read_only=False, repeatable=False) == []
    done = make_error("invalid_output", effect="done")
    assert plan(both, done, read_only=False, repeatable=False) == ()
