"""Conversations in every dialect: whatever was said, called and answered, each provider takes it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.agent.transcript import Answered, Reply, Said, Transcript, Turned
from failsoft.agent.validity import problems
from failsoft.agent.wire import CONVERSATIONS
from failsoft.core.calls import ToolCall
from failsoft.core.turns import ModelTurn
from failsoft.harness.batch import with_unique_ids

arguments = st.one_of(
    st.none(),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    st.text(max_size=20),
    st.sampled_from(["", "{", "[1]", '{"a": 1}', "null"]),
)
calls = st.lists(
    st.builds(ToolCall, st.sampled_from(["", "a", "b:1", "é"]), st.text(max_size=80), arguments), max_size=4
)
contents = st.text(max_size=400) | st.just([{"type": "text", "text": "x"}])


@st.composite
def transcripts(draw):
    """A task and some turns, each call answered."""
    made = Transcript([Said("go")])
    for _ in range(draw(st.integers(0, 4))):
        asked = tuple(with_unique_ids(draw(calls)))
        made.add(
            Turned(ModelTurn(text=draw(st.text(min_size=0 if asked else 1, max_size=5)) or "x", calls=asked))
        )
        if asked:
            replies = tuple(
                Reply(call=call, content=draw(contents), ok=draw(st.booleans()), gist="k/r") for call in asked
            )
            made.add(Answered(replies, draw(st.sampled_from(["", "note"]))))
        else:
            made.add(Said("and?"))
    return made


@pytest.mark.parametrize("dialect", CONVERSATIONS)
@given(transcript=transcripts(), most=st.integers(0, 1000))
def test_every_conversation_is_valid_in_every_dialect(dialect, transcript, most):
    """Pairs, order and ids hold, before and after errors were shortened, and it is JSON."""
    before = transcript.wire(dialect)
    assert problems(dialect, before) == []
    transcript.compact(most)
    after = transcript.wire(dialect)
    assert problems(dialect, after) == []
    assert len(before) == len(after)
    json.dumps(after)


@pytest.mark.parametrize("dialect", CONVERSATIONS)
def test_a_turn_costs_what_is_new_in_it(dialect):
    """Messages that were written once stay the same objects, however long the conversation gets."""
    transcript = Transcript([Said("go")])
    before = transcript.wire(dialect)
    for number in range(50):
        call = ToolCall(f"c{number}", "add", {"a": number})
        transcript.add(Turned(ModelTurn(calls=(call,))))
        transcript.add(Answered((Reply(call=call, content="1"),)))
        after = transcript.wire(dialect)
        assert all(old is new for old, new in zip(before, after, strict=False))
        assert len(after) == len(before) + 2
        before = after


@pytest.mark.parametrize(
    ("dialect", "messages", "problem"),
    [
        ("anthropic", [{"role": "assistant", "content": "x"}], "first message"),
        ("anthropic", [{"role": "user", "content": ""}], "is empty"),
        ("anthropic", [{"role": "tool", "content": "x"}], "role 'tool'"),
        ("openai", [{"role": "tool", "tool_call_id": "a", "content": "x"}], "answers 'a'"),
        ("openai", [{"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "a"}]}], "twice"),
        (
            "openai",
            [{"role": "assistant", "tool_calls": [{"id": "a"}]}, {"role": "user", "content": "x"}],
            "before",
        ),
        ("openai-responses", [{"type": "function_call", "call_id": "a"}], "nothing answers"),
        (
            "openai-responses",
            [{"type": "function_call_output", "call_id": "a", "output": "x"}],
            "not waiting",
        ),
    ],
)
def test_what_a_provider_would_refuse_is_named(dialect, messages, problem):
    """Each rule of a provider has its sentence."""
    assert any(problem in one for one in problems(dialect, messages))
