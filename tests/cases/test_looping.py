"""The operation `loop` reads its forms, and sees what came of them."""

import pytest

from tests.cases.runner import run_case

FAIL, SAME = {"error": "name is required"}, {"value": "same"}


def judged(given, expect):
    """The verdict of one case."""
    return run_case({"id": "X", "input": {"op": "loop", **given}, "expect": expect})


@pytest.mark.parametrize(
    ("given", "expect"),
    [
        # the order of fields, and what may be left out
        (
            {"repeat": 9, "calls": [{"result": FAIL, "name": "a"}], "limit": 2},
            {"executed_max": 2, "then_kind": "loop"},
        ),
        ({"calls": [{"name": "a"}], "repeat": 20}, {"executed_max": 6, "run_stop_signal": True}),
        ({"calls": [{"name": "a"}]}, {"executions": 1, "run_stop_signal": False, "then_kind": "ok"}),
        (
            {"calls": [{"name": "a", "raw_arguments": '{"x": 1}', "result": FAIL}], "repeat": 9},
            {"then_kind": "loop"},
        ),
        ({"calls": [{"name": "a", "result": "text"}], "repeat": 2}, {"executions": 2, "stopped": False}),
        # alternating calls, several in a turn, a longer cycle
        (
            {
                "calls": [{"name": "a", "result": FAIL}, {"name": "b", "result": FAIL}],
                "repeat": 9,
                "limit": 2,
            },
            {"executed_max": 4, "then_kind": "loop", "run_stop_signal": True},
        ),
        (
            {"turns": [[{"name": "a", "result": FAIL}, {"name": "b", "result": SAME}]], "repeat": 9},
            {"then_kind": "loop"},
        ),
        (
            {"calls": [{"name": n, "result": SAME} for n in "abc"], "repeat": 9, "limit": 3},
            {"executed_max": 20, "then_kind": "loop"},
        ),
        # what is no loop: news, a tool that polls, a failure that passes
        (
            {
                "calls": [{"name": "job", "results": [{"value": f"{n} %"} for n in range(9)]}],
                "repeat": 9,
                "limit": 2,
            },
            {"executions": 9, "run_stop_signal": False},
        ),
        (
            {
                "tools": [{"name": "job", "poll": True}],
                "calls": [{"name": "job", "result": SAME}],
                "repeat": 20,
            },
            {"executed_min": 20, "run_stop_signal": False},
        ),
        (
            {"calls": [{"name": "a", "results": [FAIL, {"value": "ok"}]}], "repeat": 2, "limit": 2},
            {"executions": 2, "run_stop_signal": False},
        ),
        # failures of other kinds
        (
            {
                "calls": [{"name": "a", "result": {"raise": {"class": "KeyError", "args": ["x"]}}}],
                "repeat": 9,
            },
            {"then_kind": "loop", "run_stop_signal": True},
        ),
        (
            {"calls": [{"name": "a", "result": {"status": 404, "body": "no"}}], "repeat": 9, "limit": 3},
            {"executed_max": 3, "then_kind": "loop", "must_contain": ["not run"]},
        ),
        (
            {"calls": [{"name": "a", "result": {"error": "no", "kind": "not_found"}}], "repeat": 9},
            {"stop_reason": "same_call", "executed_max": 2},
        ),
        # made-up names beside tools that are there
        (
            {
                "tools": ["search"],
                "calls": [{"name": "sarch2", "result": {"unknown_tool": True}}],
                "repeat": 9,
            },
            {"answered_max": 4, "then_kind": "loop", "must_contain": ["search"], "executions": 0},
        ),
        # limits by name
        (
            {"calls": [{"name": "a", "result": FAIL}], "repeat": 9, "limits": {"max_errors": 1}},
            {"run_stop_signal": True},
        ),
        (
            {"calls": [{"name": "a"}], "repeat": 9, "max_turns": 2},
            {"answered_max": 2, "stop_reason": "max_turns"},
        ),
    ],
)
def test_a_form_is_read_as_meant(given, expect):
    """Each holds, with nothing to say."""
    assert judged(given, expect) == (True, "")


@pytest.mark.parametrize(
    "expect",
    [
        {"executed_max": 1},
        {"run_stop_signal": False},
        {"then_kind": "ok"},
        {"executed_min": 9},
        {"stop_reason": "x"},
    ],
)
def test_what_does_not_hold_is_seen(expect):
    """A wrong expectation fails, so that one that holds means something."""
    ok, detail = judged({"calls": [{"name": "a", "result": FAIL}], "repeat": 9, "limit": 3}, expect)
    assert (ok, bool(detail)) == (False, True)
