"""An agent as a tool of another one."""

from __future__ import annotations

from failsoft.agent import Agent, Limits
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def outer(inner_turns, *, then=None, limits=Limits(), inner_limits=Limits(), **options):
    """Run an outer agent whose only tool is an inner agent."""
    async with Harness([add], store="memory") as inside:
        inner = Agent(ScriptedClient(inner_turns, then=then), inside, limits=inner_limits)
        helper = inner.as_tool("adder", "Adds numbers.", read_only=True, **options)
        async with Harness([helper], store="memory") as outside:
            client = ScriptedClient([[("adder", {"task": "add 1 and 2"})], "done"])
            return await Agent(client, outside, limits=limits).run("go")


async def test_the_inner_answer_is_the_outer_result():
    """The outer model reads the answer; what the inner one used counts in the outer run."""
    outcome = await outer([[("add", {"a": 1, "b": 2})], "It is 3."])
    assert (outcome.text, outcome.calls[0].value) == ("done", "It is 3.")
    assert outcome.usage.requests == 4


async def test_an_inner_failure_is_one_error_outside():
    """Whatever went wrong inside, the outer model reads one error that says so, and its run goes on."""
    outcome = await outer([], then=[("nope", {})])
    assert outcome.stop_reason == "finished"
    assert [error.reason for error in outcome.errors] == ["agent_unknown_tool"]
    assert outcome.errors[0].effect == "none"


async def test_the_outer_time_bounds_the_inner_run():
    """An inner run has no more time than the call that it is."""

    async def forever(messages):
        import asyncio

        await asyncio.sleep(30)

    outcome = await outer([forever], timeout_s=0.2)
    assert not outcome.calls[0].ok
    assert outcome.calls[0].duration_s < 2


async def test_the_outer_tokens_bound_the_inner_run():
    """An inner run may use what the outer one has left."""
    outcome = await outer([], then=[("add", {"a": 1, "b": 2})], limits=Limits(tokens=6))
    assert outcome.calls[0].error.reason == "agent_budget"
    assert outcome.stop_reason == "budget"


async def test_the_tool_is_described_for_the_outer_model():
    """The schema has one parameter, the task; an agent whose tools only look is a tool that only looks."""
    async with Harness([add], store="memory") as inside:
        helper = Agent(ScriptedClient([]), inside).as_tool("adder", "Adds numbers.")
        async with Harness([helper], store="memory") as outside:
            (schema,) = [one for one in outside.schemas("anthropic") if one["name"] == "adder"]
    assert schema["description"].startswith("Adds numbers.")
    assert helper.annotations.read_only
    assert list(schema["input_schema"]["properties"]) == ["task"]
