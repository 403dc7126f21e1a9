"""The stack in detail: the edges of what fits, what is hinted and what is not, and what is shown."""

from dataclasses import replace
from typing import Any

import pytest

from failsoft.core.annotations import Annotations
from failsoft.core.errors import UsageError
from failsoft.policies import (
    DEFAULTS,
    Breaker,
    Bulkhead,
    EffectivePolicy,
    Fallback,
    Policy,
    Rate,
    Retry,
    Timeout,
    UseLastGood,
    UseTool,
    UseValue,
    resolve,
    resolve_layers,
)
from failsoft.policies.stack import ToolFacts, check, check_all, describe
from tests.policies.stacks import PAYS, PLAIN, PUTS, READS, policy, tool


def refused(stack: EffectivePolicy, facts: ToolFacts = tool(), others: Any = None) -> list[str]:
    """The lines of the refusal."""
    with pytest.raises(UsageError) as caught:
        check(stack, facts, others)
    return str(caught.value).splitlines()


def test_a_tool_is_plain_until_it_says_otherwise() -> None:
    """Facts need a name only: nothing declared, no generator."""
    assert ToolFacts(name="x") == ToolFacts(name="x", annotations=Annotations(), streams=False)


def test_a_refusal_names_the_tool_and_each_reason_on_its_line() -> None:
    """The tool first, then one line for each problem, with the values that do not fit."""
    stack = policy(
        fallback="t", bulkhead=Bulkhead(1, queue=1, max_wait_s=90), breaker=Breaker(probe_lease_s=5)
    )
    lines = refused(stack)
    assert "tool 't' cannot work together" in lines[0]
    assert [line.partition(":")[0] for line in lines[1:]] == ["- fallback", "- bulkhead", "- breaker"]
    assert "'t' is the tool itself" in lines[1]
    assert lines[1].endswith("that is what retry is for")
    assert "(90 s)" in lines[2]
    assert "the total (60 s)" in lines[2]
    assert "probe_lease_s (5 s)" in lines[3]
    assert "an attempt (30 s)" in lines[3]


def test_what_fits_exactly_fits() -> None:
    """A wait as long as the total, and a lease as long as the longest attempt, are allowed."""
    waits: dict[str, Any] = {
        "bulkhead": Bulkhead(1, queue=1, max_wait_s=60),
        "rate": Rate(1, 1, max_wait_s=60),
    }
    assert check(policy(**waits, breaker=Breaker(probe_lease_s=30)), tool()) == ()
    assert "rate: max_wait_s (60.5 s)" in refused(policy(rate=Rate(1, 1, max_wait_s=60.5)))[1]
    assert "(29.5 s)" in refused(policy(breaker=Breaker(probe_lease_s=29.5)))[1]
    assert check(policy(bulkhead=Bulkhead(1, queue=1), rate=Rate(1, 1)), tool()) == ()


@pytest.mark.parametrize(
    ("here", "there", "why"),
    [
        (READS, PAYS, "a tool that only reads would be answered by one that acts"),
        (PAYS, PUTS, "the effect could happen twice"),
        (PAYS, PLAIN, "the effect could happen twice"),
        (PUTS, PAYS, "the first may have acted before it failed"),
    ],
)
def test_a_harmful_fallback_is_refused_with_its_reason(
    here: Annotations, there: Annotations, why: str
) -> None:
    """Each harm has its own words, with both tools' names."""
    others = {"a": tool("a", here), "b": tool("b", there)}
    line = refused(policy(here, fallback="b"), others["a"], others)[1]
    assert line.startswith("- fallback: from 'a' to 'b': ")
    assert why in line


def test_every_other_tool_of_a_fallback_is_looked_at() -> None:
    """The second name counts like the first, and a wrong first one does not hide it."""
    others = {"a": tool("a"), "good": tool("good"), "pays": tool("pays", PAYS)}
    lines = refused(policy(fallback=Fallback(tool=["good", "goood", "a", "pays"])), others["a"], others)
    assert len(lines) == 4
    assert "there is no tool 'goood'; did you mean 'good'" in lines[1]
    assert "'a' is the tool itself" in lines[2]
    assert "from 'a' to 'pays'" in lines[3]


def test_the_tool_itself_is_found_among_names_that_cannot_be_looked_up() -> None:
    """Without the other tools only the tool's own name can be checked, wherever it stands."""
    assert "'t' is the tool itself" in refused(policy(fallback=Fallback(tool=["other", "t"])))[1]


def test_a_name_that_is_near_to_none_gets_the_whole_list() -> None:
    """An unknown name without near ones is answered by all names."""
    others = {"alpha": tool("alpha"), "beta": tool("beta")}
    assert "known: alpha, beta" in refused(policy(fallback="zzzz"), others["alpha"], others)[1]


def chains(**after: str | list[str] | None) -> dict[str, tuple[EffectivePolicy, ToolFacts]]:
    """Tools that fall back on the ones named."""
    steps = {name: Fallback(tool=others) if others else None for name, others in after.items()}
    return {name: (policy(fallback=step), tool(name)) for name, step in steps.items()}


def test_a_circle_is_found_behind_a_fork() -> None:
    """A circle through the second of several names is found, told once around, with the way out."""
    with pytest.raises(UsageError) as caught:
        check_all(chains(a=["x", "b"], x=None, b=["x", "c"], c="a"))
    text = str(caught.value)
    assert "circle: a → b → c → a\n" in text
    assert "hint: end the chain with a tool without one" in text


def test_two_ways_to_one_tool_are_no_circle() -> None:
    """A tool that stands in for several, and a circle that others only lead into, are told apart."""
    assert set(check_all(chains(a=["b", "c"], b="d", c="d", d=None))) == {"a", "b", "c", "d"}
    with pytest.raises(UsageError, match="circle: b → c → b"):
        check_all(chains(a="b", b="c", c="b"))


def test_all_tools_are_checked_among_each_other() -> None:
    """Hints come by the tool's name, and names of fallbacks are looked up among all."""
    tools = chains(a="b", b=None)
    tools["b"] = (policy(breaker=None, when_open="withhold"), tool("b"))
    hints = check_all(tools)
    assert hints["a"] == ()
    assert len(hints["b"]) == 1
    assert "'withhold' does nothing without a breaker" in hints["b"][0]
    with pytest.raises(UsageError, match="there is no tool 'c'"):
        check_all(chains(a="c"))


@pytest.mark.parametrize(
    ("parts", "annotations", "streams", "begins"),
    [
        ({"retry": 2}, READS, True, ["retry: a generator"]),
        ({"retry": 2}, PLAIN, False, ["retry: only failures"]),
        ({"retry": 2}, PLAIN, True, ["retry: a generator", "retry: only failures"]),
        ({"retry": 1}, PLAIN, True, []),
        ({"retry": None}, PLAIN, True, []),
        ({"retry": 2}, READS, False, []),
        ({"retry": 2}, PUTS, False, []),
        ({"retry": Retry(base_s=59.5, cap_s=99, jitter="none")}, READS, False, []),
        ({"retry": Retry(base_s=60, cap_s=99, jitter="none")}, READS, False, ["retry: the first wait"]),
        ({"retry": Retry(base_s=60, cap_s=99)}, READS, False, []),
        ({"retry": Retry(max_attempts=1, base_s=60, jitter="none")}, READS, False, []),
        ({"retry": 1, "retry_budget": 0.5}, READS, False, ["retry_budget: there are no retries"]),
        ({"retry": 2, "retry_budget": 0.5}, READS, False, []),
        ({"retry": 1, "retry_budget": None}, READS, False, []),
        ({"breaker": None}, READS, False, []),
        ({"when_open": "withhold"}, READS, False, []),
        ({"breaker": Breaker(slow_s=30)}, READS, False, ["breaker: slow_s"]),
        ({"breaker": Breaker(slow_s=29.5)}, READS, False, []),
        ({"bulkhead": Bulkhead(1, max_wait_s=1)}, READS, False, ["bulkhead: max_wait_s"]),
        ({"bulkhead": Bulkhead(1, queue=1, max_wait_s=1)}, READS, False, []),
        ({"bulkhead": Bulkhead(1)}, READS, False, []),
        ({"fallback": Fallback(value=1)}, PUTS, False, ["fallback: a failure that may"]),
        ({"fallback": Fallback(tool="o")}, PUTS, False, []),
        ({"fallback": Fallback(tool="o", value=1)}, PUTS, False, ["fallback: a failure that may"]),
        ({"fallback": Fallback(value=1)}, READS, False, []),
    ],
)  # fmt: skip
def test_hints_begin_where_they_should(
    parts: dict[str, Any], annotations: Annotations, streams: bool, begins: list[str]
) -> None:
    """What does less than it seems to is hinted at its edge, and what works gives no hint."""
    hints = check(policy(annotations, **parts), tool("t", annotations, streams))
    assert len(hints) == len(begins)
    for hint, begin in zip(hints, begins, strict=True):
        assert hint.startswith(begin)


@pytest.mark.parametrize("source", ["", "failsoft.toml", "preset llm", "preseti"])
def test_only_what_a_person_chose_is_hinted(source: str) -> None:
    """The defaults' and a preset's retries give no hint about a tool that is not repeatable; somebody's own do."""
    own = resolve(tool=Policy(retry=3, source=source))
    hints = check(own, tool("t", PLAIN))
    assert bool(hints) == (source != "preset llm")
    assert check(resolve_layers([("default", DEFAULTS)]), tool("t", PLAIN, streams=True)) == ()


def test_what_comes_from_nowhere_counts_as_chosen() -> None:
    """A policy put together by hand, without origins, is hinted like somebody's own."""
    by_hand = replace(policy(), origin={})
    assert check(by_hand, tool("t", PLAIN))[0].startswith("retry: only failures")


def test_a_budget_of_the_defaults_is_not_hinted_without_retries() -> None:
    """Turning retries off is enough: the default budget beside it is nobody's mistake."""
    assert check(policy(retry=None), tool()) == ()


def test_a_description_shows_what_was_chosen() -> None:
    """Steps, windows and waits in their own units, each layer one step deeper than the one around it."""
    text = describe(
        policy(
            fallback=Fallback(steps=[UseTool("other"), UseLastGood(60), UseValue(0)]),
            retry=Retry(max_attempts=4, backoff="fixed", base_s=0.25, cap_s=9, jitter="equal"),
            breaker=Breaker(window=50, failure_rate=0.25, open_s=15, max_open_s=90),
            timeout=Timeout(attempt_s=7, total_s=21, grace_s=0.5),
            rate="90/minute",
            isolation="process",
        )
    ).splitlines()
    assert text == [
        "deadline",
        "  fallback: other, then last_good, then value  [tool]",
        "    total timeout: 21 s  [tool]",
        "      retry: 4 attempts, fixed from 0.25 s up to 9 s, equal jitter  [tool]",
        "        breaker: 25 % of 50 calls failed or 5 hard failures in a row; open 15 s up to 90 s  [tool]",
        "          rate: 90 per 60 s  [tool]",
        "            attempt timeout: 7 s, grace 0.5 s  [tool]",
        "              invoke: process  [tool]",
    ]


def test_a_description_names_where_each_part_comes_from() -> None:
    """Each line ends in its own part's origin, and says so where that is not known."""
    layered = resolve(
        harness=Policy(breaker=Breaker(), isolation="thread"), tool=Policy(retry=2, source="failsoft.toml")
    )
    lines = {line.split(":")[0].strip(): line for line in describe(layered).splitlines()}
    ends = {name: line.rpartition("  [")[2] for name, line in lines.items() if ":" in line}
    assert ends == {
        "total timeout": "default]",
        "retry": "failsoft.toml]",
        "breaker": "harness]",
        "attempt timeout": "default]",
        "invoke": "harness]",
    }
    unknown = EffectivePolicy(
        **{name: getattr(layered, name) for name in layered.to_mapping()}, origin={"retry": "x"}
    )
    assert describe(unknown).splitlines()[1] == "  total timeout: 60 s  [?]"
