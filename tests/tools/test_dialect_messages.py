"""Calls out of messages and results into messages, as the providers' SDKs write and read them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from anthropic.types import Message, MessageParam, ToolResultBlockParam
from mcp.types import CallToolResult
from openai.types.chat import ChatCompletion, ChatCompletionToolMessageParam
from openai.types.responses import Response
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

from failsoft.core.calls import ToolCall
from failsoft.core.errors import NotFound, UsageError
from failsoft.core.results import Content, DetailedResult, ToolResult
from failsoft.tools.dialects import DIALECTS, calls_from, to_message, to_messages


def anthropic_message(*blocks: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def use(id: Any, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def chat(*calls: dict[str, Any], finish: str = "tool_calls") -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls), "refusal": None}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": message}],
    }


def function(id: Any, arguments: str = "{}", name: str = "look") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def response(*output: dict[str, Any], cut: bool = False) -> dict[str, Any]:
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
    }


def item(call_id: Any, arguments: str = "{}", status: str = "completed") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": call_id,
        "name": "look",
        "arguments": arguments,
        "status": status,
    }


def gemini(*calls: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    parts = [{"text": "So."}, *({"functionCall": call} for call in calls)]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]}


TEXT = {"type": "text", "text": "Let me see."}
MESSAGES: dict[str, tuple[Any, Any]] = {
    "anthropic": (anthropic_message(TEXT, use("a", q=1), use("b", q=2)), Message),
    "openai": (chat(function("a", '{"q": 1}'), function("b", '{"q": 2}')), ChatCompletion),
    "openai-responses": (response(item("a", '{"q": 1}'), item("b", '{"q": 2}')), Response),
    "gemini": (
        gemini({"id": "a", "name": "look", "args": {"q": 1}}, {"id": "b", "name": "look", "args": {"q": 2}}),
        None,
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("sdk", [False, True])
def test_calls_are_found_in_dicts_and_sdk_objects(name: str, sdk: bool) -> None:
    """The raw response and the SDK's object give the same calls, in order."""
    raw, model = MESSAGES[name]
    if sdk and model is None:
        pytest.skip("the SDK is not installed")
    message = model.model_validate(raw) if sdk else raw
    calls = calls_from(name, message)
    assert [(call.id, call.name, call.truncated) for call in calls] == [
        ("a", "look", False),
        ("b", "look", False),
    ]
    first = calls[0].arguments
    assert (json.loads(first) if isinstance(first, str) else first) == {"q": 1}


def test_the_parts_of_a_response_are_taken_too() -> None:
    """A choice, a message, a list of blocks, items or calls: whatever a loop has in hand."""
    raw = chat(function("a"))
    for message in (raw["choices"][0], raw["choices"][0]["message"], [function("a")]):
        assert [call.id for call in calls_from("openai", message)] == ["a"]
    old = {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}}
    assert [call.name for call in calls_from("openai", old)] == ["look"]
    assert [call.id for call in calls_from("anthropic", [use("a")])] == ["a"]
    assert [call.id for call in calls_from("anthropic", {"role": "assistant", "content": [use("a")]})] == [
        "a"
    ]
    assert [call.id for call in calls_from("openai-responses", [item("a")])] == ["a"]
    content = gemini({"id": "a", "name": "look"})["candidates"][0]["content"]
    assert [call.id for call in calls_from("gemini", content)] == ["a"]
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    assert calls_from("mcp", request) == [ToolCall("7", "look", {})]
    assert request["id"] == 7
    assert calls_from("mcp", {"name": "look"})[0].name == "look"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "message", [{}, {"content": "text"}, {"content": None}, [], {"choices": []}, None, "text"]
)
def test_messages_without_calls(name: str, message: Any) -> None:
    """Text, emptiness and other shapes have no calls, and that is no failure."""
    assert calls_from(name, message) == []


CUT = {
    "anthropic": anthropic_message(use("a"), use("b"), stop="max_tokens"),
    "openai": chat(function("a"), function("b", '{"q": '), finish="length"),
    "openai-responses": response(item("a"), item("b", '{"q": ', "incomplete"), cut=True),
    "gemini": gemini({"id": "a", "name": "look"}, {"id": "b", "name": "look"}, finish="MAX_TOKENS"),
}


@pytest.mark.parametrize("name", CUT)
def test_the_last_call_is_marked_where_the_output_limit_came(name: str) -> None:
    """Only the call that was being written may be cut off; the ones before it are whole."""
    assert [call.truncated for call in calls_from(name, CUT[name])] == [False, True]


def test_a_call_with_something_after_it_is_whole() -> None:
    """When the limit came in a later text, the call itself was complete."""
    message = anthropic_message(use("a"), TEXT, stop="max_tokens")
    assert [call.truncated for call in calls_from("anthropic", message)] == [False]
    later = response(item("a"), {"type": "message", "content": []}, cut=True)
    assert [call.truncated for call in calls_from("openai-responses", later)] == [False]


@pytest.mark.parametrize("sdk", [False, True])
def test_repeated_and_missing_ids_are_replaced_in_the_message_too(sdk: bool) -> None:
    """The same id does not mean the same call; message and results still fit when both are sent back."""
    raw = anthropic_message(use("x", q=1), use("x", q=2), use("", q=3), use("x_2", q=4))
    message: Any = Message.model_validate(raw) if sdk else raw
    calls = calls_from("anthropic", message)
    ids = [call.id for call in calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 4
    assert ids[3] == "x_2"
    sent = message.content if sdk else message["content"]
    assert [block.id if sdk else block["id"] for block in sent] == ids
    assert [call.arguments["q"] for call in calls] == [1, 2, 3, 4]  # type: ignore[index, call-overload]


def test_gemini_without_ids_is_answered_by_order() -> None:
    """Ids of our own making are not sent to an endpoint that gave none."""
    message = gemini({"name": "look", "args": {}}, {"name": "look", "args": {}})
    calls = calls_from("gemini", message)
    assert len({call.id for call in calls}) == 2
    assert "id" not in message["candidates"][0]["content"]["parts"][1]["functionCall"]
    answer = to_message("gemini", [result("one", call) for call in calls])
    assert answer["parts"][0] == {"functionResponse": {"name": "look", "response": {"result": "one"}}}


@dataclass
class Source:
    """Where a result comes from."""

    call: ToolCall
    text: Content

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def name(self) -> str:
        return self.call.name

    arguments = None
    truncated = False

    def render(self, result: ToolResult) -> tuple[Content, int]:
        return self.text, 0


def result(text: Content, call: ToolCall | None = None, *, ok: bool = True) -> ToolResult:
    source: Any = Source(call or ToolCall("a", "look", {}), text)
    return ToolResult(text, source) if ok else DetailedResult(None, source, error=NotFound("no"))


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}
BLOCKS: Content = [{"type": "text", "text": "see"}, IMAGE, PDF]
RESULT_TYPES: dict[str, Any] = {
    "openai": ChatCompletionToolMessageParam,
    "openai-strict": ChatCompletionToolMessageParam,
    "lenient": ChatCompletionToolMessageParam,
    "openai-responses": FunctionCallOutput,
    "anthropic": MessageParam,
}


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("content", ["fine", "", BLOCKS], ids=["text", "empty", "blocks"])
@pytest.mark.parametrize("ok", [True, False])
def test_results_are_what_the_sdk_declares(name: str, content: Content, ok: bool) -> None:
    """Every result becomes a message that the provider's own type accepts, never an empty one."""
    made = to_message(name, [result(content, ok=ok)])
    if name in RESULT_TYPES:
        TypeAdapter(RESULT_TYPES[name]).validate_python(made)
    if name == "anthropic":
        [block] = made["content"]
        TypeAdapter(ToolResultBlockParam).validate_python(block)
        assert block.get("is_error", False) is not ok
    if name == "mcp":
        CallToolResult.model_validate(made)
        assert made["isError"] is not ok
    assert "(empty result)" in json.dumps(made) or content != ""


def test_images_go_where_they_are_taken_and_are_named_elsewhere() -> None:
    """Binary content is whole in one dialect and described in another, never dropped without a word."""
    one = [result(BLOCKS)]
    assert to_message("anthropic", one)["content"][0]["content"] == BLOCKS
    chat_text = to_message("openai", one)["content"]
    assert chat_text.startswith("see\n[image left out: image/png, 3 bytes")
    parts = to_message("openai-responses", one)["output"]
    assert parts[1]["image_url"] == "data:image/png;base64,aGk="
    assert parts[2]["file_data"] == "data:application/pdf;base64,aGk="
    answer = to_message("gemini", one)["parts"][0]["functionResponse"]
    assert answer["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    assert [block["type"] for block in to_message("mcp", one)["content"]] == ["text", "image", "resource"]
    failed = to_message("anthropic", [result(BLOCKS, ok=False)])["content"][0]
    assert {block["type"] for block in failed["content"]} == {"text"}, "an error may hold only text there"


def test_several_results() -> None:
    """One message where the provider wants one, several where it wants several; order is kept."""
    results = [result("one", ToolCall("a", "look")), result("two", ToolCall("b", "look"))]
    assert [block["tool_use_id"] for block in to_message("anthropic", results)["content"]] == ["a", "b"]
    assert len(to_message("gemini", results)["parts"]) == 2
    assert [message["tool_call_id"] for message in to_messages("openai", results)] == ["a", "b"]
    assert [message["call_id"] for message in to_messages("openai-responses", results)] == ["a", "b"]
    with pytest.raises(UsageError, match="to_messages"):
        to_message("openai", results)
    assert to_messages("anthropic", []) == []
    with pytest.raises(UsageError):
        to_message("anthropic", [])


def test_a_failure_says_so_where_there_is_no_flag() -> None:
    """OpenAI has no error flag: the text that was rendered for the model is all there is."""
    made = to_message("openai", [result('{"ok": false}', ok=False)])
    assert made == {"role": "tool", "tool_call_id": "a", "content": '{"ok": false}'}
    assert to_message("gemini", [result("no", ok=False)])["parts"][0]["functionResponse"]["response"] == {
        "error": "no"
    }
