"""The operator's view: everything, as data and as lines."""

import json

from failsoft.core.calls import Attempt, ToolCall
from failsoft.core.errors import make_error
from failsoft.feedback import operator_lines, operator_view


def _raised():
    try:
        try:
            raise KeyError("amount")
        except KeyError as exc:
            raise RuntimeError("charge failed with password=hunter2") from exc
    except RuntimeError as exc:
        exc.add_note("while charging")
        error = make_error("internal", str(exc), context={"order": 17}, retry_after_s=None)
        error.__cause__ = exc
        return error


def test_the_whole_chain_is_told_with_its_frames():
    """Each cause has its type, clean message, frames and notes; no local variables."""
    view = operator_view(_raised())
    assert [cause["type"] for cause in view["causes"]] == [
        "failsoft.core.errors.InternalError",
        "builtins.RuntimeError",
        "builtins.KeyError",
    ]
    assert view["causes"][1]["message"] == "charge failed with password=[secret]"
    assert view["causes"][1]["notes"] == ["while charging"]
    frame = view["causes"][2]["frames"][0]
    assert frame["file"].endswith("test_operator.py")
    assert frame["function"] == "_raised"
    json.dumps(view)


def test_attempts_and_ids_are_told():
    """The attempts with their times, the call with its arguments, and the run."""
    failed = make_error("unavailable", "503 from db7.corp.internal")
    history = [
        Attempt(number=1, tool="pay", duration_s=0.5, error=failed, wait_s=1.0),
        Attempt(number=2, tool="pay"),
    ]
    call = ToolCall("c1", "pay", {"amount": 5, "api_key": "abc"})
    view = operator_view(_raised(), call=call, history=history, run_id="r1")
    assert view["run_id"] == "r1"
    assert view["call"] == {"id": "c1", "name": "pay", "arguments": {"amount": 5, "api_key": "[secret]"}}
    assert "db7.corp.internal" in view["attempts"][0]["error"]
    text = "\n".join(operator_lines(view))
    assert "attempt 1 pay: unavailable" in text
    assert "then waited 1.000 s" in text
    assert "attempt 2 pay: ok" in text
    assert "caused by builtins.RuntimeError" in text


def test_a_chain_that_bites_its_tail_ends():
    """Causes that go round in a circle are told once each."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    error = make_error("internal", "x")
    error.__cause__ = one
    assert len(operator_view(error)["causes"]) == 3


def test_the_members_of_a_group_are_told():
    """An exception group shows what is inside it."""
    error = make_error("internal", "x")
    error.__cause__ = ExceptionGroup("two", [ValueError("a"), OSError("b")])
    assert [cause["how"] for cause in operator_view(error)["causes"]][2:] == ["in the group", "in the group"]


def test_an_exception_whose_text_cannot_be_read_is_told():
    """A `__str__` that raises does not hide the failure."""

    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no")

    error = make_error("internal", "x")
    error.__cause__ = Broken()
    assert "cannot be read" in operator_view(error)["causes"][1]["message"]


def test_a_suppressed_context_is_not_told():
    """Where the author of an exception hid its context, it stays hidden; empty parts are left out."""
    error = make_error("not_found", "x")
    inner = ValueError("y")
    inner.__context__ = KeyError("z")
    inner.__suppress_context__ = True
    error.__cause__ = inner
    view = operator_view(error)
    assert len(view["causes"]) == 2
    assert "attempts" not in view
    assert operator_lines(view)[0] == "not_found: x"
