"""The runner is honest: it sees what is wrong, and says so when it cannot judge."""

import json

import pytest

from tests.cases.__main__ import main
from tests.cases.build import MissingLibrary, exception, value
from tests.cases.runner import run_case
from tests.cases.words import KINDS, UnknownWord, is_kind

NOTE = {
    "name": "note",
    "schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
GOOD = {"op": "call", "tool": NOTE, "raw_arguments": '{"text": "a"}'}
BAD = {"op": "call", "tool": NOTE, "raw_arguments": '{"text": '}


def judged(given, expect):
    """The verdict of one case."""
    return run_case({"id": "X", "input": given, "expect": expect})


def test_a_case_that_holds_is_ok():
    """All expectations met is true, with nothing to say."""
    assert judged(GOOD, {"kind": "ok", "run": True, "recovered_arguments": {"text": "a"}}) == (True, "")


@pytest.mark.parametrize(
    ("given", "expect"),
    [
        (GOOD, {"kind": "invalid_arguments"}),
        (GOOD, {"run": False}),
        (GOOD, {"recovered_arguments": {"text": "b"}}),
        (GOOD, {"must_contain": ["nothing like this"]}),
        (GOOD, {"must_not_contain": ["done"]}),
        (GOOD, {"max_chars": 3}),
        (GOOD, {"never_run_with_regex": "a"}),
        (GOOD, {"raises": "ValueError"}),
        (BAD, {"kind": "ok"}),
        (BAD, {"run": True}),
        (BAD, {"retry": True}),
        (BAD, {"any_of": [{"kind": "ok"}, {"kind": "timeout"}]}),
        (BAD, {"kind_any": ["ok", "timeout"]}),
        ({**GOOD, "rows": [{}, {}]}, {"rows": [{"kind": "ok"}, {"kind": "timeout"}]}),
        ({**GOOD, "rows": [{}, {}]}, {"rows": [{}, {}], "kind": "timeout"}),
        ({"op": "classify_response", "response": {"status": 429}}, {"retry_after_s": 5}),
        ({"op": "classify_response", "response": {"status": 500}}, {"needs_reconnect": True}),
        ({"op": "classify_response", "response": {"status": 200, "body": "hello"}}, {"kind": "timeout"}),
        (
            {"op": "render_result", "limit_chars": 100, "value": "x" * 500},
            {"states_full_size_chars": 501},
        ),
        (
            {"op": "breaker", "threshold": 2, "recovery_s": 9, "events": ["503", "503", "expect:closed"]},
            {},
        ),
    ],
)
def test_a_wrong_expectation_fails_the_case(given, expect):
    """Each check can fail."""
    ok, detail = judged(given, expect)
    assert ok is False
    assert detail


def test_an_unknown_expectation_fails_the_case():
    """A word without a check is never passed over."""
    ok, detail = judged(GOOD, {"kind": "ok", "shines": True})
    assert ok is False
    assert "unknown expectation: shines" in detail


def test_an_expectation_that_is_not_measured_fails_the_case():
    """A word of another operation is never passed over."""
    ok, detail = judged(GOOD, {"min_heartbeats": 3})
    assert ok is False
    assert "does not measure" in detail


def test_an_unknown_kind_fails_the_case():
    """A neutral word that the table does not have is said."""
    ok, detail = judged(BAD, {"kind": "moonstruck"})
    assert ok is False
    assert "moonstruck" in detail
    with pytest.raises(UnknownWord):
        is_kind(None, "moonstruck")


def test_what_cannot_be_judged_is_null():
    """An operation that is not built, and a library that is not installed, are neither true nor false."""
    assert judged({"op": "levitate"}, {})[0] is None
    missing = {"op": "classify_exception", "exception": {"class": "no_such_library_here.Error", "args": []}}
    assert judged(missing, {"kind": "timeout"})[0] is None
    assert (
        judged({**missing, "rows": [{}, {"exception": {"class": "ValueError"}}]}, {"kind": "timeout"})[0]
        is False
    )


def test_the_first_alternative_that_can_be_built_is_taken():
    """A list of specs means whichever version is installed."""
    made = exception([{"class": "no_such_library_here.Error"}, {"class": "OSError", "args": [2, "gone"]}])
    assert isinstance(made, FileNotFoundError)
    with pytest.raises(MissingLibrary):
        exception([{"class": "no_such_library_here.Error"}])
    with pytest.raises(ValueError, match="no such special value"):
        value({"$unheard": 1})


def test_a_model_in_short_form_takes_injected_values():
    """`call_pydantic` reads types, defaults and hidden arguments, and hides what it injects."""
    given = {
        "op": "call_pydantic",
        "tool": {"name": "t", "model": {"n": "int", "tags": "list[str] = []", "tenant": "injected:acme"}},
        "raw_arguments": '{"n": "3"}',
    }
    ok, detail = judged(given, {"kind": "ok", "recovered_arguments": {"n": 3, "tags": [], "tenant": "acme"}})
    assert ok, detail


def test_every_kind_of_the_table_is_reached_by_no_other_word():
    """`ok` is no kind, and a success is none of the table's words."""
    assert "ok" not in KINDS
    assert not any(is_kind(None, word) for word in KINDS)


def test_the_command_prints_a_line_a_case(tmp_path, capsys):
    """One JSON line a case on stdout, the rest on stderr, and the exit code says whether all held."""
    file = tmp_path / "cases.jsonl"
    lines = [
        {"id": "A", "title": "good", "input": GOOD, "expect": {"kind": "ok"}},
        {"id": "B", "title": "bad", "input": GOOD, "expect": {"kind": "timeout"}},
        {"id": "C", "title": "later", "input": {"op": "levitate"}, "expect": {}},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert main([str(file)]) == 1
    out, err = capsys.readouterr()
    assert [(row["id"], row["ok"]) for row in map(json.loads, out.splitlines())] == [
        ("A", True),
        ("B", False),
        ("C", None),
    ]
    assert "1 ok, 1 failed, 1 not judged" in err
    file.write_text(json.dumps(lines[0]), "utf-8")
    assert main([str(file)]) == 0
    assert main([]) == 2
    assert main([str(tmp_path / "none")]) == 2
