"""openai-agents: function tools with a time-out, errors told by the SDK's own default function.

As openai.github.io/openai-agents-python, "Tools": "Custom function tools" (a `FunctionTool` with a schema of its own),
"Handling errors in function tools" (a tool made by hand answers with an error text itself; the default's text is used,
which shows nothing of the exception), and "Function tool timeouts" (the time-out is told to the model). The SDK has no retries
for tools; the page names none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents import FunctionTool
from agents.tool import default_tool_error_function, invoke_function_tool
from agents.tool_context import ToolContext

from bench.chaos.systems._common import TIMEOUT_S

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "openai-agents, function tools"
PACKAGES = ("openai-agents",)
_SAID = default_tool_error_function(None, Exception())  # type: ignore[arg-type]
_TIMED_OUT = "timed out after"


def _tool(each: WorldTool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            return await each.fn(**json.loads(arguments))
        except Exception as exc:
            return default_tool_error_function(context, exc)

    return FunctionTool(
        name=each.name,
        description=each.description,
        params_json_schema=each.schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
        timeout_seconds=TIMEOUT_S,
    )


def prepare(tools: list[WorldTool]) -> dict[str, FunctionTool]:
    """The tools of an agent."""
    return {each.name: _tool(each) for each in tools}


async def build(made: dict[str, FunctionTool], clock: VirtualClock) -> Call:
    """Calls as the SDK's runner makes them."""

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        if name not in made:
            return f"Error: Tool {name} not found in agent", True
        context = ToolContext(context=None, tool_name=name, tool_call_id="c1", tool_arguments=arguments)
        answer = str(
            await invoke_function_tool(function_tool=made[name], context=context, arguments=arguments)
        )
        return answer, answer == _SAID or answer.startswith(f"Tool '{name}' {_TIMED_OUT}")

    return call
