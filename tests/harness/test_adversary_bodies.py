"""Bodies that end in ways that a body should not."""

import asyncio

import pytest

from failsoft import Harness, Policy, ToolCall, interrupted_results, tool

PLAIN = Policy(retry=None, breaker=None)


class OddBase(BaseException):
    """What some libraries raise to get past `except Exception`."""


def group():
    """What a task group raises where a sibling was cancelled."""
    return BaseExceptionGroup("tasks", [asyncio.CancelledError(), ConnectionRefusedError(111, "refused")])


def stop():
    """Ctrl-C inside of a task group."""
    return BaseExceptionGroup("tasks", [ValueError("x"), KeyboardInterrupt()])


def tools_that_raise(make):
    """An inline, an abandonable and a threaded body that raise the same."""

    @tool(read_only=False)
    async def inline() -> str:
        """Fail."""
        raise make()

    @tool(read_only=False, isolation="task")
    async def apart() -> str:
        """Fail."""
        raise make()

    @tool(read_only=False)
    def threaded() -> str:
        """Fail."""
        raise make()

    return inline, apart, threaded


@pytest.mark.parametrize("make", [OddBase, group])
async def test_an_odd_base_exception_is_a_failure_of_the_tool(make):
    """A body's own kind of BaseException becomes a result, with a possible effect and an open doubt."""
    tools = tools_that_raise(make)
    async with Harness(tools, policy=PLAIN, store="memory") as harness:
        for one in tools:
            result = await harness.call(one.name, {})
            assert not result.ok
            assert result.error.effect == "possible"
            assert result.doubt is not None
        assert harness.stats().in_flight == 0


async def test_an_odd_base_exception_named_in_passthrough_passes():
    """A host's control flow may be a BaseException."""
    tools = tools_that_raise(OddBase)
    async with Harness(tools, policy=PLAIN, store="memory", passthrough=[OddBase]) as harness:
        for one in tools:
            with pytest.raises(OddBase):
                await harness.call(one.name, {})


async def test_an_interrupt_inside_of_a_group_passes():
    """Ctrl-C is never made into a result, wherever it is packed in, and what may have happened is in doubt."""
    tools = tools_that_raise(stop)
    async with Harness(tools, policy=PLAIN, store="memory") as harness:
        for one in tools:
            with pytest.raises(BaseExceptionGroup):
                await harness.call(one.name, {})
        assert len(await harness.doubts()) == 3


def test_an_exit_out_of_a_thread_leaves_a_doubt():
    """A threaded body that ends the program after its effect is remembered as possible."""

    @tool(read_only=False)
    def charge() -> str:
        """Charge, then end."""
        raise SystemExit(3)

    async def main():
        harness = Harness([charge], policy=PLAIN, store="memory")
        with pytest.raises(SystemExit) as caught:
            await harness.call_all([ToolCall("c1", "charge", {})])
        (result,) = interrupted_results(caught.value)
        assert result.error.effect == "possible"
        assert result.doubt is not None

    asyncio.run(main())
