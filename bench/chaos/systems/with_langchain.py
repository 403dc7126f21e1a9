"""LangChain: a ToolNode with ToolRetryMiddleware, two retries, errors handed to the model.

Arguments go through LangChain's own parser; what it cannot read never reaches a tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from langchain_core.output_parsers.openai_tools import parse_tool_call
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime

from bench.chaos.systems.with_tenacity import is_worth_it

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "LangChain, ToolRetryMiddleware"


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """The node of one agent."""
    made = [
        StructuredTool(
            name=each.name, description=each.description, args_schema=each.schema, coroutine=each.fn
        )
        for each in tools
    ]
    retries = ToolRetryMiddleware(max_retries=2, retry_on=is_worth_it, on_failure="continue")
    # The node leaves exceptions alone, as in an agent: with errors handled in the node there is nothing to retry.
    node = ToolNode(made, awrap_tool_call=retries.awrap_tool_call)
    config: Any = {"configurable": {"__pregel_runtime": Runtime()}}

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        raw = {"id": "c1", "function": {"name": name, "arguments": arguments}}
        try:
            parsed = parse_tool_call(raw, return_id=True)
            message = AIMessage(content="", tool_calls=[parsed])
            answer = (await node.ainvoke({"messages": [message]}, config))["messages"][0]
        except OutputParserException as exc:
            return f"Error: could not parse the arguments: {exc}", True
        except Exception as exc:
            return f"Error: {exc!r}", True
        return str(answer.content), answer.status == "error"

    return call
