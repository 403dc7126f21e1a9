"""The parts that need no server: lines, messages, effects, merging, configuration."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.catalogue import make_tools
from failsoft.adapters.mcp.config import spec_of
from failsoft.adapters.mcp.effects import ErrorRule, ServerOptions, effects_of
from failsoft.adapters.mcp.introduction import Introduction
from failsoft.adapters.mcp.lines import Lines, LineTooLong
from failsoft.adapters.mcp.merging import merged_discovery, merged_handshake
from failsoft.adapters.mcp.restarts import Restarts
from failsoft.adapters.mcp.running import label_of
from failsoft.core.annotations import Standing
from failsoft.core.errors import UsageError

ALL = {"readOnlyHint": True, "idempotentHint": False, "destructiveHint": True, "openWorldHint": False}


@given(
    st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=10), st.integers(1, 9)
)
def test_lines_come_whole_in_pieces_of_any_size(lines, size):
    """However a stream is cut, its lines come out as they were, without blank ones."""
    text, cutter = b"".join(line + b"\n" for line in lines) + b"rest", Lines()
    found = [line for at in range(0, len(text), size) for line in cutter.feed(text[at : at + size])]
    assert found == [line for line in lines if line and not line.isspace()]
    assert cutter.rest() == b"rest"


def test_a_line_without_an_end_is_not_kept_for_ever():
    """More bytes than the limit without a line's end are an error."""
    with pytest.raises(LineTooLong):
        list(Lines(10).feed(b"x" * 11))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_messages_survive_reading_and_writing(value):
    """What is written is one line, and is read again as it was."""
    line = wire.encode({"value": value})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert wire.parse(line) == {"value": value}


def test_lone_surrogates_pass():
    """A text that strict readers refuse is read and written all the same."""
    message = wire.parse(b'{"text": "\\ud800"}')
    assert wire.parse(wire.encode(message)) == message


@pytest.mark.parametrize(
    ("trust", "hints", "expected"),
    [
        ("all", ALL, {"read_only": True, "open_world": False}),
        (
            "all",
            {"readOnlyHint": False, "destructiveHint": False},
            {"read_only": False, "destructive": False},
        ),
        ("all", {"readOnlyHint": "yes", "idempotentHint": None}, {}),
        ("cautious", ALL, {"idempotent": False, "destructive": True}),
        ("cautious", {"readOnlyHint": True, "destructiveHint": False}, {}),
        ("none", ALL, {}),
    ],
)
def test_annotations_count_as_far_as_they_are_trusted(trust, hints, expected):
    """Hints become effects by trust, and only true and false are hints."""
    definition = {"name": "t", "annotations": hints}
    assert effects_of(definition, ServerOptions(trust=trust)) == expected


def test_the_user_has_the_last_word():
    """What the user says by name or pattern wins over the server, a later pattern over an earlier one."""
    options = ServerOptions(tools={"get_*": {"read_only": True}, "get_lost": {"read_only": False}})
    assert (
        effects_of({"name": "get_it", "annotations": {"readOnlyHint": False}}, options)["read_only"] is True
    )
    assert effects_of({"name": "get_lost"}, options)["read_only"] is False


async def _body(**values):
    return values


@pytest.mark.parametrize(
    "schema",
    [
        None,
        7,
        [],
        {"type": "array"},
        {"type": "object", "properties": 3},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "required": "a"},
        {"$schema": "http://example.com/unknown", "type": "object"},
    ],
)
def test_no_schema_takes_a_tool_away(schema):
    """Whatever a server calls a schema, its tool can be called."""
    (tool,) = make_tools([{"name": "t", "inputSchema": schema}], ServerOptions(), lambda name: _body)
    assert tool.name == "t"
    assert tool.standing is Standing.UNDECLARED


def test_names_that_cannot_be_are_left_out():
    """A tool without a name, and a second one of the same name, are left out; the others stay."""
    found = make_tools(
        [{"name": "a"}, {}, {"name": "a"}, {"name": 3}, {"name": "b"}], ServerOptions(), lambda _: _body
    )
    assert [tool.name for tool in found] == ["a", "b"]


@pytest.mark.parametrize(
    "rule",
    [
        {"match": "("},
        {"match": "x", "kind": "nothing"},
        {"match": "(", "kind": "timeout"},
        {"match": "x", "kind": "timeout", "effect": "maybe"},
        {"match": "x", "kind": "timeout", "retry_after_s": -1},
        {"match": "x", "kind": "timeout", "other": 1},
        "x",
    ],
)
def test_error_rules_that_cannot_work_are_refused(rule):
    """A rule with an unknown kind, effect or word, or a pattern that is none, is refused when it is read."""
    with pytest.raises(UsageError):
        ErrorRule.of(rule, "here")


def test_a_label_tells_no_secret():
    """The name that is made for a server has its program, and a mark in place of its arguments."""
    label = label_of(["/usr/bin/npx", "server", "--token", "s3cret"])
    assert label.startswith("npx-")
    assert "s3cret" not in label
    assert label != label_of(["/usr/bin/npx", "server", "--token", "other"])
    assert label_of(["https://example.com/mcp?key=s3cret"]).startswith("example.com-")


def test_several_servers_shake_hands_as_one():
    """Capabilities are joined, the oldest version holds, a server that refuses is left out, and none is an error."""
    one = {
        "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "instructions": "x",
        }
    }
    two = {"result": {"protocolVersion": "2025-03-26", "capabilities": {"tools": {"a": 1}, "prompts": {}}}}
    bad = {"error": {"code": -1, "message": "no"}}
    made = merged_handshake({"one": one, "two": two, "bad": bad})["result"]
    assert made["protocolVersion"] == "2025-03-26"
    assert made["capabilities"] == {"tools": {"listChanged": True, "a": 1}, "prompts": {}}
    assert made["instructions"] == "one: x"
    assert merged_handshake({"bad": bad}) == bad
    found = merged_discovery(
        {
            "a": {"result": {"supportedVersions": ["1", "2"]}},
            "b": {"result": {"supportedVersions": ["2", "3"]}},
        }
    )
    assert found["result"]["supportedVersions"] == ["2"]


def test_a_fresh_process_is_told_what_the_old_one_knew():
    """Log level and open subscriptions are told again, ended ones are not."""
    told = Introduction()
    for method, params in (
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "a"}),
        ("resources/subscribe", {"uri": "b"}),
        ("resources/unsubscribe", {"uri": "a"}),
    ):
        told.sent({"method": method, "params": params})
    assert told.again() == [("logging/setLevel", {"level": "debug"}), ("resources/subscribe", {"uri": "b"})]
    assert not told.is_answered


def test_a_server_of_a_file_is_read_whole():
    """Command, environment, effects, restarts and times of a server come from its entry."""
    entry = {
        "command": "x",
        "args": ["a", 1],
        "env": {"N": 1},
        "cwd": "/tmp",
        "failsoft": {
            "trust": "none",
            "restarts": 2,
            "hang_s": 5,
            "remember_s": 60,
            "tools": {"t": {"atomic": True}},
        },
    }
    spec = spec_of("s", json.loads(json.dumps(entry)), "file")
    assert (spec.argv, spec.env, spec.cwd) == (("x", "a", "1"), {"N": "1"}, "/tmp")
    assert spec.restarts == Restarts(most=2)
    assert (spec.hang_s, spec.remember_s, spec.options.trust) == (5.0, 60.0, "none")
    with pytest.raises(UsageError, match="restarts"):
        spec_of("s", {"command": "x", "failsoft": {"restarts": {"many": 1}}}, "file")
