"""Tools that change while a harness lives."""

import asyncio
import logging

from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Timeout
from failsoft.tools import tool


class Source(list):
    """A list of tools that somebody changes."""

    changed = False

    async def refresh(self):
        changed, self.changed = self.changed, False
        return changed

    def become(self, *tools):
        self[:], self.changed = tools, True


@tool(read_only=True)
async def one() -> str:
    """The first."""
    return "one"


@tool(read_only=True)
async def two() -> str:
    """The second."""
    return "two"


def names(harness):
    return [each["name"] for each in harness.schemas("anthropic")]


async def test_what_changed_is_taken_over_when_it_is_asked_for():
    """Not before, and a second time only after another change; a plain list never changes."""
    source = Source([one])
    async with Harness(source, store="memory") as harness:
        source.become(one, two)
        assert names(harness) == ["one"]
        assert await harness.refresh_tools()
        assert names(harness) == ["one", "two"]
        assert (await harness.call("two")).value == "two"
        assert (await harness.refresh_tools(), harness.renewals) == (False, 1)
        source.become(two)
        assert await harness.refresh_tools()
        gone = await harness.call("one")
        assert (gone.failure.kind, gone.failure.context["available_tools"]) == ("unknown_tool", ["two"])
    async with Harness([one], store="memory") as harness:
        assert not await harness.refresh_tools()


async def test_a_list_whose_refresh_is_something_else_is_a_plain_list():
    """It is not called."""

    class Screen(list):
        def refresh(self):
            raise AssertionError

    async with Harness(Screen([one]), store="memory") as harness:
        assert not await harness.refresh_tools()


async def test_what_did_not_change_keeps_its_state():
    """An open breaker stays open, and what was said of a tool by name still holds when it is gone."""

    @tool(read_only=True, retry=None)
    async def broken() -> str:
        """Fail."""
        raise ConnectionResetError

    source = Source([broken, one])
    policies = {"broken": Policy(breaker=Breaker(hard_failures=1)), "one": Policy(retry=None)}
    async with Harness(source, store="memory", policies=policies) as harness:
        await harness.call("broken")
        source.become(broken, two)
        assert await harness.refresh_tools()
        assert (await harness.call("broken")).failure.kind == "circuit_open"


async def test_tools_that_cannot_work_together_leave_the_old_ones(caplog):
    """Two of one name: logged, and nothing has changed."""
    source = Source([one])
    async with Harness(source, store="memory") as harness:
        source.become(one, two.replace(name="one"))
        with caplog.at_level(logging.ERROR, "failsoft"):
            assert not await harness.refresh_tools()
        assert "two tools are called 'one'" in caplog.text
        assert (await harness.call("one")).value == "one"


async def test_a_call_under_way_keeps_its_tool_and_is_ended_with_the_harness():
    """Its tool is gone from the list; the end of the harness still finds and stops it."""

    @tool(read_only=True)
    async def slow() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "slow"

    source = Source([slow])
    harness = Harness(source, store="memory", policy=Policy(timeout=Timeout(grace_s=0.05)))
    call = asyncio.ensure_future(harness.call("slow"))
    await asyncio.sleep(0.01)
    source.become(two)
    assert await harness.refresh_tools()
    assert not call.done()
    await harness.aclose()
    assert (await call).failure.reason == "shutting_down"


async def test_built_in_tools_come_with_the_first_tool_that_needs_them():
    """A list that gets a tool which can come into doubt gets what resolves doubts too, and keeps it."""

    @tool(read_only=False)
    async def act() -> str:
        """Act."""
        return "acted"

    source = Source([one])
    async with Harness(source, store="memory") as harness:
        source.become(one, act)
        assert await harness.refresh_tools()
        assert names(harness) == ["one", "act", "resolve_doubt", "repeat_call", "read_more"]
        kept = harness.tools[-1]
        source.become(act, two)
        assert await harness.refresh_tools()
        assert harness.tools[-1] is kept
        async with harness.run() as run:
            await run.call("act")
            again = await run.call("act")
            assert (again.replayed, "repeat_call" in again.content) == (True, True)


async def test_new_tools_are_members_of_the_fleet():
    """A breaker that opens at one member is open at the others too, also for a tool that came later."""

    @tool(read_only=True, retry=None, breaker=Breaker(hard_failures=1))
    async def shaky(fail: bool) -> str:
        """Fail where it is told to."""
        if fail:
            raise ConnectionResetError
        return "well"

    source, url = Source([one]), "memory://renewing"
    async with (
        Harness(source, store="memory", fleet=url) as late,
        Harness([one, shaky], store="memory", fleet=url) as other,
    ):
        source.become(one, shaky)
        assert await late.refresh_tools()
        assert (await late.call("shaky", {"fail": False})).ok
        await other.call("shaky", {"fail": True})
        async with asyncio.timeout(10):
            while (result := await late.call("shaky", {"fail": False})).ok:
                await asyncio.sleep(0.02)
        assert (result.failure.kind, result.attempts) == ("circuit_open", 0)
