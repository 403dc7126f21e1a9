"""Time-outs and the limit of the output."""

import unicodedata
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from failsoft.core.errors import UsageError
from failsoft.policies import Output, Timeout
from failsoft.policies.output import decide


def test_defaults() -> None:
    """Thirty seconds an attempt, sixty in all, no limit of silence, one second of grace."""
    limits = Timeout()
    assert (limits.attempt_s, limits.total_s, limits.idle_s, limits.grace_s) == (30, 60, None, 1)


def test_what_is_not_given_follows_what_is() -> None:
    """A long attempt gets a total with room for two; a short total shortens the attempt."""
    assert Timeout(attempt_s=90).total_s == 180
    assert Timeout(attempt_s=3).total_s == 60
    assert Timeout(total_s=10).attempt_s == 10
    assert Timeout(attempt_s=(50, 20)).total_s == 100
    limits = Timeout(attempt_s=10, total_s=10, idle_s=10)
    assert (limits.attempt_s, limits.total_s, limits.idle_s) == (10, 10, 10)


def test_attempts_get_their_own_limits_within_what_is_left() -> None:
    """A sequence gives the first attempts their limits and the last one holds on; never more than remains."""
    limits = Timeout(attempt_s=[10, 5, 2])
    assert [limits.attempt(n, 60) for n in (0, 1, 2, 3, 4, 99)] == [10, 10, 5, 2, 2, 2]
    assert limits.attempt(1, 3) == 3
    assert limits.attempt(1, -1) == 0
    assert limits.longest_attempt_s == 10
    assert Timeout(attempt_s=7).attempt(5, 100) == 7


def test_what_cannot_be_repeated_gets_the_whole_time() -> None:
    """The attempt of a tool that is not repeatable lasts as long as the total, unless it was given."""
    limits = Timeout(total_s=40, idle_s=8, grace_s=2).for_standing(False)
    assert (limits.attempt_s, limits.total_s, limits.idle_s, limits.grace_s) == (40, 40, 8, 2)
    assert Timeout(attempt_s=5).for_standing(False).attempt_s == 5
    assert Timeout().for_standing(True).attempt_s == 30
    assert replace(Timeout(), grace_s=3).grace_s == 3


@pytest.mark.parametrize(
    "values",
    [
        {"attempt_s": 0},
        {"attempt_s": -1},
        {"attempt_s": float("inf")},
        {"attempt_s": float("nan")},
        {"attempt_s": True},
        {"attempt_s": "5"},
        {"attempt_s": []},
        {"attempt_s": [1, 0]},
        {"attempt_s": 20, "total_s": 10},
        {"attempt_s": [1, 20], "total_s": 10},
        {"total_s": 0},
        {"total_s": None},
        {"idle_s": 0},
        {"idle_s": 90},
        {"grace_s": -1},
        {"attempt_s": 10**400},
    ],
)
def test_limits_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """A limit that is no positive finite number, or longer than the total, is refused."""
    with pytest.raises(UsageError, match="Timeout"):
        Timeout(**values)


@given(text=st.text(max_size=60), size=st.integers(1, 30))
def test_pages_make_up_the_text(text: str, size: int) -> None:
    """Page after page gives the text back whole; each is within the limit and says how much follows."""
    start, parts = 0, []
    while True:
        page = decide(Output(max_chars=size), text, start=start)
        assert page.start == start
        assert page.end - page.start <= size
        assert page.cut_chars == len(text) - page.end
        parts.append(text[page.start : page.end])
        start = page.end
        if not page.cut_chars:
            break
        assert page.end > page.start
    assert "".join(parts) == text


@given(
    word=st.text(alphabet="ae\u0301\u0308\u200d\ufe0f\U0001f469\U0001f4bb\U0001f3fd", min_size=1, max_size=15)
)
def test_a_letter_is_not_parted_from_its_accents(word: str) -> None:
    """No page begins with an accent, a joiner or a modifier, where there is a better place nearby."""
    text = "x" * 20 + "a" + word + "b" * 20
    for size in range(1, len(text)):
        page = decide(Output(max_chars=size), text)
        if page.cut_chars and size <= 20:
            first = text[page.end]
            assert not unicodedata.combining(first)
            assert first not in "\u200d\ufe0f\U0001f3fd"


def test_output_edges() -> None:
    """No limit shows all; a start beyond the text shows nothing; accents without end are cut somewhere."""
    assert decide(None, "abc").cut_chars == 0
    assert decide(Output(max_chars=2), "abc", start=9).end == 3
    assert decide(Output(max_chars=2), "abc", start=-5).start == 0
    assert decide(Output(max_chars=100), "a" + "\u0301" * 500).end == 100
    assert decide(Output(max_chars=4), "abc\ud83d\ude00").end == 3
    assert Output().max_chars == 10_000
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(UsageError):
            Output(max_chars=wrong)  # type: ignore[arg-type]
