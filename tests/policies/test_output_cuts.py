"""Where a text is cut: as late as allowed, but not within what a reader sees as one character."""

import pytest

from failsoft.policies import Output
from failsoft.policies.output import Page, decide

BELONG = {
    "an accent": "\u0301",
    "a stroke laid over the letter": "\u0338",
    "the first variation selector": "\ufe00",
    "the last variation selector": "\ufe0f",
    "a joiner": "\u200d",
    "the first emoji modifier": "\U0001f3fb",
    "the last emoji modifier": "\U0001f3ff",
}
STAND_ALONE = {
    "before the variation selectors": "\ufdff",
    "after the variation selectors": "\ufe10",
    "before the emoji modifiers": "\U0001f3fa",
    "after the emoji modifiers": "\U0001f400",
    "a letter": "é",
    "before the surrogates": "\ud7ff",
    "a low surrogate by itself": "\udc00",
}


@pytest.mark.parametrize("mark", BELONG.values(), ids=BELONG)
def test_a_mark_stays_with_the_letter_before_it(mark: str) -> None:
    """The cut comes before the letter that the mark belongs to."""
    assert decide(Output(max_chars=2), f"ab{mark}c") == Page(start=0, end=1, cut_chars=3)


@pytest.mark.parametrize("letter", STAND_ALONE.values(), ids=STAND_ALONE)
def test_a_letter_of_its_own_may_begin_a_page(letter: str) -> None:
    """The whole limit is used where nothing would be parted."""
    assert decide(Output(max_chars=2), f"ab{letter}c") == Page(start=0, end=2, cut_chars=2)


def test_what_a_joiner_joins_stays_together() -> None:
    """Neither before the joiner nor after it: woman, joiner and laptop are one picture."""
    text = "a\U0001f469\u200d\U0001f4bbb"
    assert [decide(Output(max_chars=size), text).end for size in (1, 2, 3, 4)] == [1, 1, 1, 4]


@pytest.mark.parametrize(
    ("high", "low", "together"),
    [
        (0xD800, 0xDC00, True),
        (0xD800, 0xDFFF, True),
        (0xDBFF, 0xDC00, True),
        (0xDBFF, 0xDFFF, True),
        (0xD800, 0xDBFF, False),
        (0xDC00, 0xDC00, False),
        (0xD7FF, 0xDC00, False),
        (0xD800, 0xE000, False),
    ],
)
def test_halves_of_a_surrogate_pair_stay_together(high: int, low: int, together: bool) -> None:
    """A high half and a low one are one character; any other two are not."""
    assert decide(Output(max_chars=2), f"a{chr(high)}{chr(low)}bc").end == (1 if together else 2)


def test_a_place_to_cut_is_looked_for_among_the_last_sixteen() -> None:
    """Fourteen marks before the limit are kept with their letter; a longer row is cut at the limit."""
    for marks, end in ((14, 85), (15, 100)):
        text = "x" * (99 - marks) + "e" + "\u0301" * 40
        assert decide(Output(max_chars=100), text).end == end, marks


def test_a_page_is_never_empty() -> None:
    """Where the whole page is one character with its marks, it is cut at the limit."""
    text = "e" + "\u0301" * 9
    assert decide(Output(max_chars=3), text) == Page(start=0, end=3, cut_chars=7)
    assert decide(Output(max_chars=3), text, start=3) == Page(start=3, end=6, cut_chars=4)
    assert decide(Output(max_chars=1), "ab\u0301c", start=1) == Page(start=1, end=2, cut_chars=2)
    assert decide(Output(max_chars=2), "abc\u0301d", start=1) == Page(start=1, end=2, cut_chars=3)


def test_a_text_as_long_as_the_limit_is_shown_whole() -> None:
    """One character more is cut, counted from where the page begins."""
    assert decide(Output(max_chars=3), "abc") == Page(start=0, end=3, cut_chars=0)
    assert decide(Output(max_chars=3), "abcd") == Page(start=0, end=3, cut_chars=1)
    assert decide(Output(max_chars=3), "abcdef", start=3) == Page(start=3, end=6, cut_chars=0)
    assert decide(Output(max_chars=3), "abcdefg", start=3) == Page(start=3, end=6, cut_chars=1)


def test_a_start_outside_of_the_text_is_its_nearest_end() -> None:
    """Before the beginning is the beginning, beyond the end shows nothing; without a limit all the rest is shown."""
    assert decide(Output(max_chars=2), "abc", start=-5) == Page(start=0, end=2, cut_chars=1)
    assert decide(Output(max_chars=2), "abc", start=9) == Page(start=3, end=3, cut_chars=0)
    assert decide(None, "abc", start=1) == Page(start=1, end=3, cut_chars=0)
