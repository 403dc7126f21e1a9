"""The operation `idempotency` understands the forms that cases have, and is not satisfied by anything."""

import pytest

from tests.cases.repeat_words import NotUnderstood, annotations_of, script_of
from tests.cases.runner import run_case

pytestmark = [pytest.mark.slow, pytest.mark.process]

MAIL = {"name": "send_mail", "idempotent": False}
TO_A = {"to": "a@example.test", "text": "hello"}
SAME = [{"id": "call_1", "arguments": TO_A}, {"id": "call_3", "arguments": dict(reversed(TO_A.items()))}]

HOLDS = {
    "a new call id is no new call": (
        {"tool": MAIL, "calls": SAME},
        {
            "side_effects": 1,
            "executions": 1,
            "results": 2,
            "replayed": [False, True],
            "same_result": True,
            "same_key": True,
            "kind": "ok",
            "second": {"status": "replayed", "executed": False, "must_contain_any": ["already"]},
            "values_in_order": ["done", "done"],
            "call_3": "replayed",
        },
    ),
    "a lost answer is not repeated": (
        {
            "tool": {**MAIL, "script": [{"append": "sent"}, {"raise": {"class": "ConnectionResetError"}}]},
            "calls": SAME,
        },
        {
            "side_effects_max": 1,
            "kinds": ["outcome_unknown", "outcome_unknown"],
            "last_call": {"kind": "outcome_unknown", "executed": False, "retry": False},
            "doubts": 1,
        },
    ),
    "a definite failure may be tried again": (
        {
            "tool": MAIL,
            "calls": [{**SAME[0], "result": "refused"}, {**SAME[1], "result": "ok"}],
            "policy": {"max_attempts": 1},
        },
        {"executions": 2, "side_effects": 0 + 1, "statuses": ["error", "executed"], "kind": "ok"},
    ),
    "a death is met after a restart": (
        {"tool": MAIL, "events": ["call:crash", "restart", "call"]},
        {"side_effects": 1, "outcomes": ["crashed", "in_doubt"], "in_doubt": True, "kind": "outcome_unknown"},
    ),
    "a death before the effect, and somebody who knows": (
        {"tool": MAIL, "events": ["call:crash_before_effect", "restart", "resolve:did_not_happen", "call"]},
        {"side_effects": 1, "executions": 2, "last": {"kind": "ok", "replayed": False}, "doubts": 0},
    ),
    "a success is known after a restart": (
        {"tool": MAIL, "calls": SAME, "restart": True},
        {"side_effects": 1, "last": "replayed"},
    ),
    "at once in one process": (
        {"tool": MAIL, "calls": SAME, "parallel": True},
        {"side_effects": 1, "kinds": ["ok", "ok"], "same_value": True},
    ),
    "at once in several": (
        {"tool": MAIL, "calls": [SAME[0]], "workers": 3},
        {"side_effects": 1, "executions_max": 1, "results": 3},
    ),
    "a lease that is over, and no second owner": (
        {
            "tool": MAIL,
            "events": [
                {"begin": "A", "arguments": TO_A},
                {"advance_s": 3600},
                {"id": "B", "worker": "w2", "arguments": TO_A},
                {"finish": "A", "result": "fail"},
                {"id": "C", "worker": "w3", "arguments": TO_A},
            ],
        },
        {
            "executions": 2,
            "side_effects": 1,
            "B": "in_doubt",
            "C": {"kind": "ok", "replayed": False},
            "A": "error",
        },
    ),
    "somebody is at work": (
        {"tool": MAIL, "events": ["begin:A", {"id": "B", "worker": "w2"}, "finish:A:ok", {"id": "C"}]},
        {"executions": 1, "B": {"kind": "conflict", "status": "running"}, "C": "replayed"},
    ),
    "other runs are other calls": (
        {"tool": MAIL, "runs": [[SAME[0]], [SAME[1]]]},
        {"executions": 2, "same_key": False, "distinct_keys": 2},
    ),
    "a key that tells": (
        {"tool": MAIL, "calls": [{"key": "k", "arguments": {"a": 1}}, {"key": "k", "arguments": {"a": 2}}]},
        {"executions": 1, "last": "mismatch", "kinds": ["ok", "conflict"]},
    ),
    "a key for the outside world": (
        {
            "tool": {**MAIL, "idempotency_key": "key", "script_per_attempt": ["lost", "lost", "ok"]},
            "call": {"arguments": TO_A},
            "times": 1,
        },
        {
            "executions": 3,
            "side_effects": 1,
            "keys_passed": ["a", "a", "a"],
            "keys_stable": True,
            "kind": "ok",
        },
    ),
    "a tool that may be repeated": (
        {"tool": {"name": "put", "idempotent": True, "outcomes": ["lost", "ok"]}, "calls": [SAME[0]]},
        {"executions": 2, "kind": "ok", "attempts": 2},
    ),
    "asking the world": (
        {"tool": {**MAIL, "verify": "done", "outcomes": ["timeout", "ok"]}, "calls": SAME},
        {"executions": 1, "kinds": ["outcome_unknown", "replayed"], "doubts": 0},
    ),
    "an empty result is a result": (
        {"tool": {**MAIL, "script": [{"append": 1}, {"return": None}]}, "calls": SAME},
        {"side_effects": 1, "replayed": True, "value": None},
    ),
    "the fields that count": (
        {"tool": {**MAIL, "ignore": ["at"]}, "a": {"to": "x", "at": 1}, "b": {"to": "x", "at": 2}},
        {"same_key": True},
    ),
    "rows of two": (
        {
            "tool": MAIL,
            "rows": [
                {"a": {"n": 1, "m": "x"}, "b": {"m": "x", "n": 1.0}},
                {"a": {"n": 1}, "b": {"n": "1"}},
                {"a": {"n": True}, "b": {"n": 1}},
                {"a": {"t": "e\u0301"}, "b": {"t": "\u00e9"}},
                {"a": {"l": [1, 2]}, "b": {"l": [2, 1]}},
                {"pair": [{"n": None}, {"n": 0}]},
            ],
        },
        {"rows": [{"same_key": word} for word in (True, False, False, True, False, False)]},
    ),
    "several tools": (
        {
            "calls": [
                {"name": "mail", "arguments": TO_A},
                {"name": "pay", "arguments": TO_A},
                {"name": "mail", "arguments": TO_A},
            ]
        },
        {"executions": {"mail": 1, "pay": 1}, "side_effects": 2, "last": "replayed"},
    ),
    "what was appended": (
        {"tool": {**MAIL, "script": [{"append": "sent"}]}, "call": SAME[0], "times": 2},
        {"side_effects": ["sent"], "results": 2},
    ),
    "runs of their own": (
        {"tool": MAIL, "calls": SAME, "same_run": False},
        {"executions": 2, "distinct_keys": 2},
    ),
    "a death where the case says": (
        {"tool": MAIL, "calls": [{**SAME[0], "crash_after": "intent"}, SAME[1]]},
        {"side_effects": 0, "executed": [True, False], "last": "in_doubt"},
    ),
    "attempts of one call": (
        {"tool": MAIL, "call": SAME[0], "attempts": ["refused", "ok"], "policy": {"max_attempts": 3}},
        {"attempts": 2, "side_effects": 1, "kind": "ok"},
    ),
    "a lease that is given": (
        {
            "tool": MAIL,
            "lease_s": 30,
            "events": ["begin:A", "advance:31", {"id": "B", "worker": "w"}, "finish:A:ok"],
        },
        {"executions": 1, "B": "in_doubt", "A": "executed", "doubts": 0},
    ),
    "turns": (
        {"tool": MAIL, "turns": [[SAME[0]], [SAME[1]]]},
        {"executions": 1, "results": ["executed", {"executed": False}]},
    ),
    "keys by themselves": (
        {
            "tool": {"name": "get", "read_only": True},
            "calls": [{"arguments": {"a": 1}}, {"arguments": {"a": 1.0}}, {"arguments": {"a": 2}}],
        },
        {"executions": 3, "keys": ["x", "x", "y"], "distinct_keys": 2, "replayed": False},
    ),
    "what was forgotten may run again": (
        {"tool": MAIL, "ttl_s": 60, "events": [SAME[0], "advance:59", SAME[1], "advance:2", SAME[0]]},
        {"executions": 2, "statuses": ["executed", "replayed", "executed"]},
    ),
    "the fields of the key, beside the tool": (
        {
            "key_fields": ["order"],
            "name": "pay",
            "calls": [{"arguments": {"order": 1, "at": 1}}, {"arguments": {"order": 1, "at": 2}}],
        },
        {"executions": 1, "same_key": True, "last": "replayed"},
    ),
    "what is expected beside a call": (
        {
            "tool": MAIL,
            "calls": [{**SAME[0], "expect": "executed"}, {**SAME[1], "expect": {"status": "replayed"}}],
        },
        {"executions": 1},
    ),
}


def judged(given: dict, expect: dict) -> tuple:
    """The verdict of one case."""
    return run_case({"id": "X", "input": {"op": "idempotency", **given}, "expect": expect})


@pytest.mark.parametrize("name", HOLDS)
def test_a_form_is_understood(name: str) -> None:
    """It is run through real harnesses, and what came of it is as expected."""
    given, expect = HOLDS[name]
    assert judged(given, expect) == (True, "")


@pytest.mark.parametrize(
    "expect",
    [
        {"side_effects": 2},
        {"executions_max": 0},
        {"replayed": [True, True]},
        {"replayed": False},
        {"results": 3},
        {"results": ["replayed", "replayed"]},
        {"kinds": ["ok", "conflict"]},
        {"second": {"executed": True}},
        {"same_key": False},
        {"distinct_keys": 2},
        {"keys_stable": True},
        {"doubts": 1},
        {"same_result": False},
        {"nobody_knows": 1},
        {"last": "in_doubt"},
    ],
)
def test_a_wrong_expectation_fails(expect: dict) -> None:
    """Each check can fail."""
    ok, detail = judged({"tool": MAIL, "calls": SAME}, expect)
    assert ok is False
    assert detail


def test_what_is_not_understood_is_not_judged() -> None:
    """A form without a call, or with a word that nobody knows, is neither right nor wrong."""
    assert judged({"weather": "fine"}, {})[0] is None
    assert judged({"tool": MAIL, "events": ["dance"]}, {})[0] is None
    with pytest.raises(NotUnderstood):
        script_of({"sings": 1})


def test_words_of_others_are_read() -> None:
    """Annotations in MCP's words, and a tool that says nothing."""
    assert annotations_of({"annotations": {"readOnlyHint": True}}) == {"read_only": True}
    assert annotations_of({"idempotentHint": False}) == {"idempotent": False}
    assert annotations_of({}) == {"read_only": False}
    assert annotations_of({"side_effects": False}) == {"read_only": True}
