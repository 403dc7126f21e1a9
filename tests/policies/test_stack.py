"""The stack: the order of nesting, and what is refused before any call is made."""

from typing import Any

import pytest

from failsoft.core.annotations import Annotations, Standing
from failsoft.core.errors import UsageError
from failsoft.policies import (
    Breaker,
    Bulkhead,
    Fallback,
    Rate,
    Retry,
    Timeout,
    presets,
    resolve,
)
from failsoft.policies.stack import check, check_all, describe, nesting
from tests.policies.stacks import PAYS, PLAIN, PUTS, READS, policy, tool


def test_the_nesting_is_the_designs() -> None:
    """From the deadline to the body, in the one order; what is off is left out."""
    everything = policy(fallback="other", rate="1/s", bulkhead=1)
    assert nesting(everything) == (
        "deadline", "fallback", "total_timeout", "retry", "breaker", "rate", "bulkhead", "attempt_timeout", "invoke",
    )  # fmt: skip
    assert nesting(policy(retry=1, breaker=None)) == (
        "deadline",
        "total_timeout",
        "attempt_timeout",
        "invoke",
    )


def test_the_description_is_for_people() -> None:
    """One line for each layer with its values and where they come from."""
    lines = describe(
        policy(
            fallback=Fallback(tool="other", value=0),
            retry=Retry(backoff=lambda n: 1.0),
            rate="3/min",
            bulkhead=Bulkhead(2, queue=5),
            timeout=Timeout(attempt_s=[5, 2], idle_s=3),
            breaker=Breaker(window_s=60, hard_failures=None),
        )
    ).splitlines()
    assert lines == [
        "deadline",
        "  fallback: other, then value  [tool]",
        "    total timeout: 60 s  [tool]",
        "      retry: 3 attempts, own function from 0.5 s up to 10 s, full jitter  [tool]",
        "        breaker: 50 % of 60 s failed; open 30 s up to 300 s  [tool]",
        "          rate: 3 per 60 s  [tool]",
        "            bulkhead: 2 at once, 5 waiting  [tool]",
        "              attempt timeout: 5, 2 s, silence 3 s, grace 1 s  [tool]",
        "                invoke: auto  [default]",
    ]
    assert "5 hard failures in a row" in describe(policy())


@pytest.mark.parametrize(
    ("here", "there", "refused"),
    [
        (PAYS, PAYS, True),
        (PAYS, PLAIN, True),
        (PAYS, PUTS, True),
        (PAYS, READS, False),
        (READS, READS, False),
        (READS, PLAIN, False),
        (READS, PAYS, True),
        (PUTS, PUTS, False),
        (PUTS, PAYS, True),
        (PUTS, READS, False),
        (PLAIN, PLAIN, False),
        (PLAIN, READS, False),
    ],
)
def test_falling_back_must_do_no_harm(here: Annotations, there: Annotations, refused: bool) -> None:
    """From a payment to another tool that acts, or from a read to one that must not be repeated, is refused."""
    others = {"a": tool("a", here), "b": tool("b", there)}
    if refused:
        with pytest.raises(UsageError, match="from 'a' to 'b'"):
            check(policy(here, fallback="b"), others["a"], others)
    else:
        check(policy(here, fallback="b"), others["a"], others)
    check(policy(here, fallback="b"), others["a"])


def test_fallbacks_must_exist_and_end() -> None:
    """An unknown name is refused with the near ones; so are the tool itself and circles."""
    others = {"search": tool("search"), "other": tool("other")}
    with pytest.raises(UsageError, match="did you mean 'search'"):
        check(policy(fallback="serch"), others["other"], others)
    with pytest.raises(UsageError, match="what retry is for"):
        check(policy(fallback="t"), tool())
    tools = {
        name: (policy(fallback=after), tool(name)) for name, after in {"a": "b", "b": "c", "c": "a"}.items()
    }
    with pytest.raises(UsageError, match="a → b → c → a"):
        check_all(tools)
    tools["c"] = (policy(), tool("c"))
    assert check_all(tools) == {"a": (), "b": (), "c": ()}


def test_times_must_fit_into_each_other() -> None:
    """A wait longer than the total, and a probe given up while it runs, are refused with the reason, all at once."""
    wrong = policy(
        bulkhead=Bulkhead(1, queue=1, max_wait_s=90),
        rate=Rate(1, 1, max_wait_s=61),
        breaker=Breaker(probe_lease_s=5),
    )
    with pytest.raises(UsageError) as caught:
        check(wrong, tool("slow"))
    text = str(caught.value)
    assert "tool 'slow'" in text
    for word in ("bulkhead: max_wait_s (90 s)", "rate: max_wait_s (61 s)", "probe_lease_s (5 s)"):
        assert word in text


@pytest.mark.parametrize(
    ("parts", "facts", "word"),
    [
        ({"retry": 3}, {"streams": True}, "generator"),
        ({"retry": 3}, {"annotations": PAYS}, "only failures that prove"),
        ({"retry": Retry(base_s=60, cap_s=60, jitter="none")}, {}, "never a second attempt"),
        ({"retry": None, "retry_budget": 0.5}, {}, "no retries to limit"),
        ({"breaker": None, "when_open": "describe"}, {}, "nothing without a breaker"),
        ({"breaker": Breaker(slow_s=30)}, {}, "no call can be slow"),
        ({"bulkhead": Bulkhead(1, max_wait_s=1)}, {}, "without a queue"),
        ({"fallback": Fallback(value=1)}, {"annotations": PLAIN}, "never covered by a value"),
    ],
)
def test_hints_name_what_is_perhaps_not_meant(
    parts: dict[str, Any], facts: dict[str, Any], word: str
) -> None:
    """What works but does less than it seems to is said, not refused."""
    annotations = facts.get("annotations", READS)
    hints = check(policy(annotations, **parts), tool(**facts))
    assert len(hints) == 1
    assert word in hints[0]


def test_the_defaults_give_no_hints() -> None:
    """Whoever says nothing is told nothing, whatever the tool."""
    for annotations in (READS, PAYS, PUTS, PLAIN):
        for streams in (True, False):
            assert check(policy(annotations), tool("t", annotations, streams)) == ()


@pytest.mark.parametrize(
    ("preset", "annotations"),
    [(presets.lookup, READS), (presets.payment, PAYS), (presets.slow_report, READS), (presets.llm, PLAIN)],
)
def test_presets_work_as_they_are(preset: Any, annotations: Annotations) -> None:
    """Every preset stands its own check without a hint, and takes other parts."""
    effective = resolve(tool=preset(), standing=annotations.standing)
    assert check(effective, tool("t", annotations)) == ()
    assert preset(bulkhead=7).bulkhead == Bulkhead(7)
    assert effective.origin["timeout"] == f"preset {preset.__name__}"


def test_the_payment_preset_never_ends_early() -> None:
    """A payment gets a whole attempt and no fallback."""
    effective = resolve(tool=presets.payment(), standing=Standing.PROTECTED)
    assert effective.timeout.attempt_s == 60
    assert effective.fallback is None
