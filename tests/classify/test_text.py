"""What is told to a reader: one bounded line, free of what nobody can act on."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failsoft.classify import classify
from failsoft.classify.text import MAX_CHARS, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("ValueError: bad state", "bad state"),
        ("litellm.RateLimitError: RateLimitError: OpenAIException - slow down", "slow down"),
        ("[Errno 2] No such file or directory: 'a.txt'", "No such file or directory: 'a.txt'"),
        ("(sqlite3.OperationalError) no such table: orders\n[SQL: select 1]", "no such table: orders"),
        ('relation "x" does not exist\nLINE 1: select * from x\n              ^', 'relation "x" does not exist'),
        ("x\n(Background on this error at: https://sqlalche.me/e/20/e3q8)", "x"),
        ("not found. For more information check: https://developer.mozilla.org/x", "not found."),
        ("see https://example.test/report/5", "see https://example.test/report/5"),
        ("<object at 0x7f0012> failed", "failed"),
        ("RetryError[<Future at 0x7f state=finished raised X>]", "RetryError[]"),
        ("HTTPSConnectionPool(host='a', port=443): Read timed out.", "Read timed out."),
        ("Page.goto: net::ERR_FAILED", "net::ERR_FAILED"),
        ("unhandled errors in a TaskGroup (1 sub-exception)", ""),
        ("<!DOCTYPE html><html><body>x</body></html>", ""),
        ("blocked, Ray ID: 8f00aa11bb22cc33", "blocked"),
        ("a\n\n  b\tc", "a b c"),
        ('Traceback (most recent call last):\n  File "/x.py", line 88, in run\n    raise X\nacme.X: bad state', "acme.X: bad state"),
        ("", ""),
    ],
)  # fmt: skip
def test_cleaning(text: str, shown: str) -> None:
    """What helps stays, what does not help goes."""
    assert one_line(text) == shown


@settings(deadline=None)
@given(st.text(max_size=600))
def test_always_one_bounded_line(text: str) -> None:
    """Whatever the text is, one line of bounded length comes out."""
    shown = one_line(text)
    assert len(shown) <= MAX_CHARS
    assert "\n" not in shown


@settings(deadline=None)
@given(st.text(alphabet="ab:.( )[]<>0xAE'\n-/", max_size=300))
def test_cleaning_twice_changes_nothing_much(text: str) -> None:
    """Cleaning a cleaned text never makes it longer."""
    once = one_line(text)
    assert len(one_line(once)) <= len(once)


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "see ",
        "((((",
        "a.b.c.",
        "[SQL",
        "0x7f<",
        "https://docs.",
        "request id ",
        "try again in ",
        "1s",
        "A" * 50 + ":",
    ],
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    """A megabyte of hostile text is classified at once."""
    began = time.perf_counter()
    classify(RuntimeError(piece * (1_000_000 // len(piece))))
    assert time.perf_counter() - began < 0.5


def test_a_tools_own_validation_is_not_the_models() -> None:
    """A pydantic error raised inside a body is the tool's fault, and quotes no link."""
    from pydantic import BaseModel

    class Upstream(BaseModel):
        total: int

    with pytest.raises(ValueError, match="total") as caught:
        Upstream.model_validate({"total": "x"})
    error = classify(caught.value)
    assert (error.kind, error.reason, error.effect) == ("internal", "tool_validation_error", "possible")
    assert "total" in error.message
    assert "http" not in error.message
