"""Operation `batch`: several calls of one assistant message."""

from __future__ import annotations

import json
from typing import Any

from failsoft.core.calls import ToolCall
from failsoft.harness.harness import Harness
from failsoft.tools import Tool
from failsoft.tools.dialects import calls_from, to_messages
from tests.cases import build
from tests.cases.seen import Seen, text_of

__all__ = ["run_batch"]


def _tool(spec: dict[str, Any], ran: list[str]) -> Tool[..., Any]:
    behaviour = spec.get("behaviour", "return:")

    def body(**arguments: Any) -> Any:
        ran.append(spec["name"])
        if isinstance(behaviour, dict):
            if "raise" in behaviour:
                raise build.exception(behaviour["raise"])
            return build.value(behaviour["return"])
        verb, _, rest = behaviour.partition(":")
        if verb == "echo":
            return arguments[rest]
        if verb == "return":
            return rest
        raise AssertionError(f"no such behaviour: {behaviour!r}")

    return Tool.from_schema(spec["name"], spec["schema"], body, description="A tool.", read_only=True)


def _message_anthropic(calls: list[dict[str, Any]]) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["arguments"]} for c in calls]
    return {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}


def _message_openai(calls: list[dict[str, Any]]) -> dict[str, Any]:
    made = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


async def _pairs_match(specs: list[dict[str, Any]], calls: list[dict[str, Any]]) -> bool:
    """Whether the stored message and its results have the same distinct ids in the same order, at each provider."""
    anthropic, openai = _message_anthropic(calls), _message_openai(calls)
    async with Harness([_tool(spec, []) for spec in specs], store="memory") as harness:
        told = await harness.call_all(calls_from("anthropic", anthropic))
        answers = [block["tool_use_id"] for block in to_messages("anthropic", told)[0]["content"]]
        asked = [block["id"] for block in anthropic["content"]]
        others = to_messages("openai", await harness.call_all(calls_from("openai", openai)))
    asked_too = [call["id"] for call in openai["tool_calls"]]
    answers_too = [message["tool_call_id"] for message in others]
    ids = asked == answers and asked_too == answers_too
    return ids and len(set(asked)) == len(asked) == len(calls) and len(set(asked_too)) == len(calls)


async def run_batch(row: dict[str, Any]) -> Seen:
    """All calls at once."""
    ran: list[str] = []
    calls = [ToolCall(call.get("id", ""), call["name"], call["arguments"]) for call in row["calls"]]
    async with Harness([_tool(spec, ran) for spec in row["tools"]], store="memory") as harness:
        results = await harness.call_all(calls)
    ids = [result.call.id for result in results]
    content = [text_of(result.content) for result in results]
    facts = {
        "results": len(results),
        "executions": len(ran),
        "values_in_order": [result.value for result in results],
        "values": {result.call.id: result.value for result in results},
        "result_ids": ids,
        "result_ids_unique": len(set(ids)) == len(ids),
        "history_pairs_match": await _pairs_match(row["tools"], row["calls"]),
        "is_error": [not result.ok for result in results],
        "all_content_nonempty": all(text.strip() for text in content),
        "raises": False,
    }
    return Seen(texts=tuple(content), facts=facts)
