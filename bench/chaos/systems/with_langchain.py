"""LangChain: a ToolNode with ToolRetryMiddleware, two retries, errors handed to the model.

As docs.langchain.com, "Built-in middleware", "Tool retry": the defaults (two retries, exponential, jitter,
`on_failure="continue"`), with `retry_on` given a function for what is transient, as the page advises.
A time-out inside the tool, because the middleware has none.
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

from bench.chaos.systems._common import is_worth_it
from bench.chaos.systems.with_tenacity import limited

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "LangChain, ToolRetryMiddleware"
PACKAGES = ("langchain", "langchain-core", "langgraph")


def prepare(tools: list[WorldTool]) -> ToolNode:
    """The node of an agent; it keeps nothing between calls."""
    made = [
        StructuredTool(
            name=each.name,
            description=each.description,
            args_schema=each.schema,
            coroutine=limited(each.fn),
        )
        for each in tools
    ]
    retries = ToolRetryMiddleware(max_retries=2, retry_on=is_worth_it, on_failure="continue")
    # The node leaves exceptions alone, as in an agent: with errors handled in the node there is nothing to retry.
    return ToolNode(made, awrap_tool_call=retries.awrap_tool_call)


async def build(node: ToolNode, clock: VirtualClock) -> Call:
    """Calls as an agent's graph makes them."""
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
