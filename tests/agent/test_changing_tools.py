"""Tools that change in the middle of a run."""

import asyncio

from failsoft.agent import Agent
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool


class Source(list):
    """A list of tools that somebody changes."""

    changed = False

    async def refresh(self):
        changed, self.changed = self.changed, False
        return changed


@tool(read_only=True)
async def fresh() -> str:
    """Comes later."""
    return "fresh"


def grower(source):
    @tool(read_only=True)
    async def grow() -> str:
        """Make another tool."""
        source[:], source.changed = [source[0], fresh], True
        return "grown"

    return grow


def offered(client):
    return [[each["name"] for each in request.tools] for request in client.requests]


async def test_all_runs_of_a_harness_see_the_change_at_their_next_turn():
    """The one that meets the change first does not take it away from the other, and what was offered stays within a turn."""
    source = Source()
    source.append(grower(source))
    waits = asyncio.Event()

    async def later(_):
        await waits.wait()
        return [("grow", {})]

    first = ScriptedClient([[("grow", {})], [("fresh", {})], "done"])
    second = ScriptedClient([later, "done"])
    async with Harness(source, store="memory") as harness:
        running = asyncio.ensure_future(Agent(second, harness).run("Wait."))
        await asyncio.sleep(0)
        one = await Agent(first, harness).run("Go.")
        waits.set()
        other = await running
    assert [result.ok for result in (*one.calls, *other.calls)] == [True] * 3
    assert offered(first) == [["grow"], ["grow", "fresh"], ["grow", "fresh"]]
    assert offered(second) == [["grow"], ["grow", "fresh"]]


async def test_a_model_that_makes_names_up_is_told_of_the_tools_that_there_are_now():
    """The last hint lists the tools as they are, not as they were."""
    source = Source()
    source.append(grower(source))
    client = ScriptedClient([[("grow", {})], *([[("nothing", {})]] * 3)])
    async with Harness(source, store="memory") as harness:
        outcome = await Agent(client, harness).run("Go.")
    assert str(outcome.stop_reason) == "unknown_tool"
    assert "grow, fresh" in outcome.detail
