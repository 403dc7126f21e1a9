"""What a server's answer to a call becomes for a model: made of the shapes that servers really send."""

import json
import re

import pytest

from failsoft.adapters.mcp.effects import ErrorRule
from failsoft.adapters.mcp.outcome import ServerSaidError, described, value_of
from failsoft.core.errors import AgentError
from failsoft.tools.render import render_value


def text(*parts):
    return [{"type": "text", "text": part} for part in parts]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"content": text("one", "two")}, "one\ntwo"),
        ({"content": text("tea"), "structuredContent": {"content": "tea"}}, "tea"),
        ({"content": text("hello"), "structuredContent": {"result": "hello"}}, "hello"),
        ({"content": text("1", "2"), "structuredContent": {"result": [1, 2]}}, "1\n2"),
        ({"content": text('{"a": "\\n"}'), "structuredContent": {"a": "\n"}}, '{"a": "\\n"}'),
        (
            {"content": text("2 found"), "structuredContent": {"names": ["a.txt"]}},
            '2 found\n{"names": ["a.txt"]}',
        ),
        ({"content": [], "structuredContent": {"n": 1}}, '{"n": 1}'),
        ({"structuredContent": {"n": 1}}, '{"n": 1}'),
        ({"content": []}, "(empty result)"),
        ({}, "(empty result)"),
        ({"content": text("a"), "x-own": [1], "_meta": {"b": 2}}, "a"),
        ({"content": [{"type": "resource_link", "uri": "note://1", "name": "One"}]}, "[One: note://1]"),
        ({"content": [{"type": "resource", "resource": {"uri": "note://1", "text": "words"}}]}, "words"),
        ({"content": [{"type": "hologram", "data": 3}]}, '{"type": "hologram", "data": 3}'),
        ({"content": "not a list"}, "(empty result)"),
        (None, "(done; nothing was returned)"),
    ],
)
def test_all_of_it_can_be_read_once(result, told):
    """What the text says is not said again, and nothing is lost because its shape is not known."""
    assert render_value(value_of(result, ())).content == told


def test_pictures_stay_beside_text():
    """Blocks that a model can see are blocks."""
    picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    content = render_value(value_of({"content": [*text("see"), picture]}, ())).content
    assert [block["type"] for block in content] == ["text", "image"]


def test_much_structured_data_is_compared_as_a_whole_only():
    """A long list is not looked for value by value in a long text."""
    data = {"rows": list(range(10_000))}
    assert value_of({"content": text(json.dumps(data)), "structuredContent": data}, ())["content"] == text(
        json.dumps(data)
    )


def test_an_error_is_what_a_rule_says_or_its_words():
    """The first rule that fits; without one, an exception of all the words."""
    result = {"content": text("quota", "used up"), "isError": True}
    rule = ErrorRule.of({"match": "quota", "kind": "quota_exhausted"}, "test")
    with pytest.raises(AgentError) as known:
        value_of(result, [rule])
    assert (known.value.kind, known.value.message) == ("quota_exhausted", "quota\nused up")
    with pytest.raises(ServerSaidError, match="quota\nused up"):
        value_of(result, ())
    with pytest.raises(ServerSaidError, match=re.escape('{"code": 3}')):
        value_of({"content": [], "structuredContent": {"code": 3}, "isError": True}, ())


@pytest.mark.parametrize(
    "meta",
    [
        None,
        3,
        {},
        {"failsoft": "no"},
        {"failsoft": {"error": 4}},
        {"failsoft": {"error": "x", "effect": "?"}},
    ],
)
def test_what_describes_no_error_is_none(meta):
    """Damaged descriptions are left to the words."""
    assert described({"content": text("a"), "isError": True, "_meta": meta}) is None
