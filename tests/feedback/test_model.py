"""The model's view: keys, order, bounds, and what it says about repeating."""

import json
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failsoft.core.calls import ToolCall
from failsoft.core.errors import UsageError, make_error
from failsoft.core.kinds import ErrorKind
from failsoft.feedback import Feedback, Redactor
from failsoft.feedback.languages.en import ENGLISH
from failsoft.feedback.languages.zh import CHINESE


@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("style", ["json", "text"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_kind_has_a_view_that_is_never_empty(kind, style, language):
    """Every kind gives a view in every style and language, also when the error has no text."""
    told = Feedback(style=style, language=language).render(make_error(kind))
    assert told.strip()
    assert len(told) <= 1000
    if style == "json":
        view = json.loads(told)
        assert view["error"] == kind
        assert view["message"]
        assert view["suggestion"]


def test_a_possible_effect_is_told_and_repeating_is_not_offered():
    """A charge that may have happened says so, and `retry` is no."""
    call = ToolCall("c1", "charge", {"amount": 5})
    view = json.loads(Feedback().render(make_error("timeout", "No answer in 30 s."), call=call))
    assert view["retry"] == "no"
    assert view["effect"] == "possible"
    assert "may have happened" in view["suggestion"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=90), inner, max_size=40),
    max_leaves=60,
)
CONTEXT = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        (
            "problems",
            "did_you_mean",
            "available_tools",
            "options",
            "doubt",
            "other_tools",
            "partial",
            "known",
            "junk",
        ),
        JSON,
    ),
)


@given(
    kind=st.sampled_from([*ErrorKind, "my_own_kind" * 30]),
    message=st.text(max_size=3000),
    context=CONTEXT,
    arguments=st.none() | st.text(max_size=200) | st.dictionaries(st.text(max_size=30), JSON, max_size=30),
    max_chars=st.integers(200, 3000),
    style=st.sampled_from(["json", "text"]),
    language=st.sampled_from(["en", "zh"]),
)
@settings(max_examples=60)
def test_any_view_is_bounded_and_valid(kind, message, context, arguments, max_chars, style, language):
    """Whatever an error holds, the view is within its bound, can be encoded, and is valid JSON in JSON style."""
    error = make_error(kind, message, suggestion=message or None, context=context, retry_after_s=1.25)
    told = Feedback(style, language, max_chars).render(
        error, call=ToolCall("c", message, arguments), attempts=10**9
    )
    assert 0 < len(told) <= max_chars
    told.encode()
    if style == "json":
        view = json.loads(told, parse_constant=pytest.fail)
        assert list(view) == [key for key in KEYS if key in view]


KEYS = [
    "v",
    "ok",
    "error",
    "tool",
    "reason",
    "message",
    "arguments",
    "problems",
    "suggestion",
    "did_you_mean",
    "available_tools",
    "retry",
    "retry_after_s",
    "attempts",
    "effect",
    "doubt",
    "options",
]


def test_the_keys_come_in_the_promised_order():
    """A view with everything in it has exactly the promised keys, in their order."""
    context = {
        "problems": [
            {
                "field": "day",
                "problem": "not a date",
                "got": "x",
                "expected": "ISO date",
                "example": "2026-03-02",
            }
        ],
        "did_you_mean": ["pay"],
        "available_tools": ["pay", "refund"],
        "options": ["ask"],
        "doubt": "doubt_1",
        "other_tools": ["refund"],
        "partial": ["a"],
    }
    error = make_error("timeout", "No answer.", retry_after_s=12, context=context)
    told = Feedback(max_chars=3000).render(error, call=ToolCall("c", "pay", {"day": "x"}), attempts=3)
    assert list(json.loads(told)) == KEYS


def test_what_is_left_out_is_counted():
    """A view that cannot list everything says how many it left out."""
    context = {
        "available_tools": [f"tool_{n}" for n in range(500)],
        "problems": [{"field": f"f{n}"} for n in range(99)],
    }
    view = json.loads(Feedback().render(make_error("invalid_argument", "Bad.", context=context)))
    tools, problems = len(view.get("available_tools", ())), len(view["problems"])
    assert problems >= 1
    assert f"{500 - tools} more tools" in view["message"]
    assert f"{99 - problems} more problems" in view["message"]


@pytest.mark.parametrize(
    ("fields", "tool", "retry"),
    [
        ({"kind": "timeout"}, None, "no"),
        ({"kind": "timeout", "effect": "none"}, None, "later"),
        ({"kind": "timeout"}, "read_only", "later"),
        ({"kind": "timeout"}, "idempotent", "later"),
        ({"kind": "invalid_output"}, None, "no"),
        ({"kind": "invalid_output"}, "idempotent", "no"),
        ({"kind": "invalid_output", "effect": "none"}, None, "after_fix"),
        ({"kind": "invalid_argument"}, None, "after_fix"),
        ({"kind": "conflict", "reason": "already_running"}, None, "later"),
        ({"kind": "conflict", "effect": "possible"}, None, "no"),
        ({"kind": "circuit_open", "retry_after_s": 7}, None, "later"),
        ({"kind": "permission_denied"}, None, "no"),
        ({"kind": "quota_exhausted", "retry_after_s": 3600}, None, "later"),
        ({"kind": "in_doubt", "retryable": True}, "idempotent", "no"),
        ({"kind": "cancelled", "effect": "none"}, None, "no"),
        ({"kind": "my_kind", "effect": "none", "retryable": True}, None, "later"),
    ],
)
def test_retry_follows_its_table(fields, tool, retry):
    """Each row of the table in `suggest.py` holds."""
    declared = SimpleNamespace(name="t", annotations=SimpleNamespace(**({tool: True} if tool else {})))
    view = json.loads(Feedback().render(make_error(fields.pop("kind"), "x", **fields), tool=declared))
    assert view["retry"] == retry


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("style", ["json", "text"])
def test_a_failure_that_may_have_had_an_effect_never_offers_a_repetition(style, language):
    """For every kind with a possible effect the check comes before any repetition, also beside a tool's own advice."""
    words = {"en": "Check before repeating", "zh": "重复之前请先核实"}[language]
    for kind in ErrorKind:
        if kind in ("in_doubt", "conflict", "not_found"):
            continue
        error = make_error(kind, "x", effect="possible", suggestion="Ask the bank.")
        told = Feedback(style, language).render(error)
        assert words in told
        assert "Call again" not in told
        assert "later" not in told


def test_an_earlier_attempt_is_named_only_where_there_was_one():
    """A first attempt that ends in "not found" after it may have acted is told as any other possible effect."""
    error = make_error("not_found", "no such row", effect="possible")
    first = json.loads(Feedback().render(error, attempts=1))["suggestion"]
    second = json.loads(Feedback().render(error, attempts=2))["suggestion"]
    assert first.startswith("It may have happened.")
    assert second.startswith("An earlier attempt may have caused this.")


def test_a_refusal_that_may_have_come_too_late_says_both():
    """A refusal out of a body that may have acted says that it may have happened, and that a person is needed."""
    view = json.loads(Feedback().render(make_error("permission_denied", "401", effect="possible")))
    assert "may have happened" in view["suggestion"]
    assert "tell the user" in view["suggestion"]


def test_an_open_breaker_says_when_and_what_else():
    """The model reads that the tool is away for a while, when it can work again, and which tools are of its kind."""
    error = make_error("circuit_open", "", retry_after_s=11.2, context={"other_tools": ["find_b", "find_c"]})
    view = json.loads(Feedback().render(error))
    assert "temporarily unavailable" in view["suggestion"]
    assert "in 12 seconds" in view["suggestion"]
    assert "find_b, find_c" in view["suggestion"]
    assert view["retry_after_s"] == 12


def test_cut_off_arguments_are_called_cut_off():
    """The model reads that its output limit cut the call, that nothing was run, and to send less."""
    view = json.loads(Feedback().render(make_error("invalid_argument", "", reason="truncated")))
    assert "cut off" in view["suggestion"]
    assert "nothing was run" in view["suggestion"]


def test_a_doubt_comes_with_its_options():
    """A call in doubt names the doubt and what can be done about it."""
    context = {"doubt": "doubt_7", "options": ["resolve_doubt(...)"], "known": "It was begun at 10:30."}
    view = json.loads(Feedback().render(make_error("in_doubt", "", context=context)))
    assert view["doubt"] == "doubt_7"
    assert view["options"] == ["resolve_doubt(...)"]
    assert "begun at 10:30" in view["suggestion"]
    asked = json.loads(Feedback().render(make_error("in_doubt", "", owner="human")))
    assert "A person must say" in asked["suggestion"]


def test_the_value_of_a_secret_field_is_not_said_again():
    """A problem with a password tells of the field and not of the value, wherever the value stands."""
    call = ToolCall("c", "login", '{"password": "abc-short", "user": "bob"}')
    problems = [
        {"field": "login.password", "problem": "too short", "got": "abc-short", "expected": "8 characters"}
    ]
    told = Feedback().render(
        make_error("invalid_argument", "got 'abc-short'", context={"problems": problems}), call=call
    )
    assert "abc-short" not in told
    assert "bob" in told


def test_a_redactor_of_the_harness_is_used():
    """What the harness hides from the model is hidden in the view, and what the model sent stays."""
    error = make_error("not_found", "no mailbox bob@example.com, see amy@example.com")
    call = ToolCall("c", "mail", '{"to": "bob@example.com"}')
    told = Feedback().render(error, call=call, redactor=Redactor(emails=True))
    assert "no mailbox bob@example.com, see [email]" in told


def test_arguments_can_be_left_out():
    """`echo_arguments=False` shows none."""
    call = ToolCall("c", "pay", {"amount": 5})
    assert "arguments" not in json.loads(
        Feedback(echo_arguments=False).render(make_error("unknown"), call=call)
    )


def test_a_wrong_option_is_refused_with_what_was_wanted():
    """Style, language and bound are checked when the feedback is made."""
    for wrong in ({"style": "xml"}, {"language": "fr"}, {"max_chars": 10}):
        with pytest.raises(UsageError, match="must be"):
            Feedback(**wrong)


def test_both_languages_have_the_same_sentences():
    """A sentence that is in one language is in the other, with the same gaps to fill."""
    gaps = re.compile(r"\{\w+\}")
    for table in ("titles", "advice", "effects", "phrases"):
        english, chinese = getattr(ENGLISH, table), getattr(CHINESE, table)
        assert list(english) == list(chinese)
        for key, sentence in english.items():
            assert {*gaps.findall(str(sentence))} == {*gaps.findall(str(chinese[key]))}
    assert set(ENGLISH.titles) == set(ErrorKind) == {key for key in ENGLISH.advice if "/" not in key}


def test_counting_sentences_have_a_form_for_one():
    """One second is one second."""
    assert ENGLISH.say("again_after", 1) == "It can work again in 1 second."
    assert ENGLISH.say("again_after", 2) == "It can work again in 2 seconds."
    assert CHINESE.say("again_after", 1) == "1 秒后可能恢复。"
