"""Tool names, call ids and schemas that models or providers did not take, retold with data of our own."""

import re

import pytest

from failsoft import Harness, ToolCall, calls_from, to_message, tool
from failsoft.tools import Tool

EMPTY = {"type": "object", "properties": {}}


def named(*names):
    """Lookups of these names; each tells which it was."""
    return [Tool.from_schema(name, EMPTY, lambda name=name: name, read_only=True) for name in names]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("tools:open", "open"),
        ("functions.list_rows", "list_rows"),
        ("Open", "open"),
        ("list_rows<|end|>", "list_rows"),
        ("list-rows", "list_rows"),
    ],
)
async def test_a_decorated_name_is_undone_or_suggested(asked, meant):
    """A prefix, another case or a leaked token ends no run: the one tool that fits is run or named (mastra-ai/mastra#12895)."""
    async with Harness(named("open", "list_rows"), store="memory") as harness:
        result = await harness.call(asked, {})
    assert result.value == meant if result.ok else meant in result.error.context["did_you_mean"]


async def test_a_made_up_name_is_answered_with_what_there_is():
    """An invented tool gets an answer that lists the tools, and nothing is run (livekit/agents#6085)."""
    async with Harness(named("open", "list_rows"), store="memory") as harness:
        result = await harness.call("order_taxi", {})
    assert result.error.kind == "unknown_tool"
    assert "open" in result.content
    assert "list_rows" in result.content


async def test_one_id_for_two_calls_loses_neither():
    """Both run, both are answered in order, and message and results agree on new ids (HKUDS/nanobot#4473)."""

    @tool(read_only=True)
    async def find(word: str) -> str:
        """Find.

        Args:
            word: A word.
        """
        return word

    blocks = [{"type": "tool_use", "id": "x", "name": "find", "input": {"word": word}} for word in "ab"]
    message = {"role": "assistant", "content": blocks}
    async with Harness([find], store="memory") as harness:
        results = await harness.call_all(calls_from("anthropic", message))
    assert [result.value for result in results] == ["a", "b"]
    answered = [block["tool_use_id"] for block in to_message("anthropic", results)["content"]]
    assert answered == [block["id"] for block in message["content"]]
    assert len(set(answered)) == 2


async def test_a_failing_sibling_takes_no_answer_away():
    """An exception without a text, an empty success and an unknown name each have an answer of their own (HKUDS/OpenHarness#137)."""

    @tool(read_only=True)
    async def crash() -> str:
        """Crash."""
        raise LookupError

    @tool(read_only=True)
    async def quiet() -> str:
        """Say nothing."""
        return ""

    calls = [ToolCall("1", "quiet", {}), ToolCall("2", "crash", {}), ToolCall("3", "nowhere", {})]
    async with Harness([crash, quiet], store="memory") as harness:
        results = await harness.call_all(calls)
    assert [(result.call.id, result.ok) for result in results] == [("1", True), ("2", False), ("3", False)]
    assert all(result.content.strip() for result in results)


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": None}])
def test_a_tool_without_parameters_has_a_whole_schema(schema):
    """A bare or empty schema is completed, because one such tool makes a provider refuse all (openai/openai-agents-python#449)."""
    harness = Harness([Tool.from_schema("now", schema, lambda: 1, read_only=True)], store="memory")
    told = harness.schemas("openai")[0]["function"]["parameters"]
    assert told["type"] == "object"
    assert told["properties"] == {}


def test_strict_mode_requires_all_and_lets_the_optional_be_null():
    """Optional fields become nullable where every field must be listed (bytedance/trae-agent#175)."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    harness = Harness([Tool.from_schema("f", schema, lambda **_: 1, read_only=True)], store="memory")
    told = harness.schemas("openai-strict")[0]["function"]["parameters"]
    assert sorted(told["required"]) == ["a", "b"]
    assert told["additionalProperties"] is False
    assert "null" in str(told["properties"]["b"])


async def test_a_union_at_the_top_is_not_sent_but_still_holds():
    """A rule that providers refuse stays a rule for the call (marianfoo/mcp-sap-docs#51)."""
    ran = []
    schema = {
        "type": "object",
        "properties": {"isbn": {"type": "string"}, "author": {"type": "string"}, "year": {"type": "integer"}},
        "anyOf": [{"required": ["isbn"]}, {"required": ["author", "year"]}],
    }
    tool = Tool.from_schema("book", schema, lambda **given: ran.append(given), read_only=True)
    async with Harness([tool], store="memory") as harness:
        told = harness.schemas("anthropic")[0]["input_schema"]
        assert not {"anyOf", "oneOf", "allOf"} & set(told)
        assert set(told["properties"]) == {"isbn", "author", "year"}
        assert (await harness.call("book", {"year": 1815})).error.kind == "invalid_argument"
        assert (await harness.call("book", {"isbn": "1"})).ok
    assert ran == [{"isbn": "1"}]


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-strict", "openai-responses", "gemini"])
async def test_names_that_a_provider_refuses_get_aliases_that_lead_back(dialect):
    """Dots and long names become safe names that differ, and calls by them find their tool (github/copilot-cli#2581)."""
    long = "inventory__" + "very_" * 12
    names = ["store.find", "store_find", f"{long}books", f"{long}boots"]
    async with Harness(named(*names), store="memory") as harness:
        told = re.findall(r"'name': '([^']+)'", str(harness.schemas(dialect)))
        assert len(set(told)) == 4
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in told)
        assert [(await harness.call(name, {})).value for name in told] == names
