"""Runs that went in circles in other people's agents."""

from __future__ import annotations

import pytest

from failsoft.agent import Agent, Limits
from failsoft.core.errors import InvalidArgument
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool

ran: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


@tool(read_only=True)
async def lookup(a: int, b: int) -> str:
    """Look up."""
    ran.append((a, b))
    raise InvalidArgument("name is required")


@tool(read_only=True)
async def list_docs(limit: int) -> str:
    """List documents."""
    ran.append(limit)
    return ""


THREE = Limits(same_call_failures=3, unknown_tool_calls=3, stall_repeats=3, max_turns=100, max_errors=100)


async def run(turns):
    """Run a model that says the same for ever."""
    said = iter(turns * 100)
    client = ScriptedClient([], then=lambda _: next(said))
    async with Harness([lookup, list_docs], store="memory") as harness:
        outcome = await Agent(client, harness, limits=THREE).run("go")
    return outcome, client


async def test_a_byte_identical_failing_call_85_times():
    """A call that failed is not run any more after a few tries, then the run ends (NousResearch/hermes-agent#67829)."""
    outcome, _ = await run([[("lookup", {"a": 1, "b": 2})], [("lookup", '{"b": 2, "a": 1}')]])
    assert (outcome.stop_reason, len(ran)) == ("same_call", 3)


async def test_a_made_up_tool_name_for_26_dollars():
    """After a few calls of a tool that does not exist the run ends (langchain-ai/langchain#37961, livekit/agents#6085)."""
    outcome, client = await run([[("search_web2", {"q": "x"})]])
    assert outcome.stop_reason == "unknown_tool"
    assert len(client.requests) <= 4


async def test_an_empty_success_172_times():
    """The same empty result again and again is no progress, and the run ends (HKUDS/nanobot#2298)."""
    outcome, _ = await run([[("list_docs", {"limit": 3})]])
    assert outcome.stop_reason == "stalled"
    assert len(ran) <= 6
