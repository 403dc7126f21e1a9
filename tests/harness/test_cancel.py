"""Whose cancellation it was, and what is left of the call after it."""

import asyncio
import random

import pytest

from failsoft import Harness, Policy, ToolCall, interrupted_results, tool
from failsoft.testing.clock import run_virtual

PLAIN = Policy(retry=None, breaker=None)


def harness_of(*tools, clock=None, **options):
    """A harness with no retries and no breaker."""
    return Harness(tools, policy=PLAIN, clock=clock, store="memory", builtins=False, **options)


def test_the_callers_cancel_passes_and_the_body_cleans_up():
    """A cancel from outside comes out as a cancel, after the body's own cleanup, and the call has a result."""
    cleaned = []

    async def main(clock):
        @tool(read_only=False)
        async def slow() -> str:
            """Work."""
            try:
                await asyncio.sleep(30)
            finally:
                cleaned.append(clock.monotonic())
            return "done"

        async with harness_of(slow, clock=clock) as harness:
            task = asyncio.create_task(harness.call_all([ToolCall("c1", "slow", {})]))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return interrupted_results(caught.value), await harness.doubts()

    results, doubts = run_virtual(main)
    assert cleaned
    assert [result.call.id for result in results] == ["c1"]
    assert results[0].error.kind == "cancelled"
    assert results[0].error.effect == "possible"
    assert len(doubts) == 1


async def test_a_cancelled_error_of_the_tools_own_is_a_failure_of_the_tool():
    """A leaked CancelledError ends the call, not the caller."""

    @tool(read_only=True)
    async def leak() -> str:
        """Leak."""
        raise asyncio.CancelledError

    @tool(read_only=True)
    async def leak_later() -> str:
        """Leak after a suspension."""
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    async with harness_of(leak, leak_later) as harness:
        for name in ("leak", "leak_later"):
            result = await harness.call(name)
            assert result.error.reason == "leaked_cancellation"
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("wanted", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("sync", [True, False])
def test_interrupts_pass(wanted, sync):
    """Ctrl-C and exit are never turned into a result."""

    def stop() -> str:
        """Stop."""
        raise wanted

    async def stop_async() -> str:
        """Stop."""
        raise wanted

    async def main():
        harness = harness_of(tool(stop if sync else stop_async, name="stop", read_only=True))
        await harness.call("stop")

    with pytest.raises(wanted):
        asyncio.run(main())


def test_a_body_that_swallows_its_cancel_answers_late():
    """One cancel at the time-out; a body that goes on is late and named in an event, and its value counts."""
    events = []

    async def main(clock):
        @tool(read_only=True, timeout_s=1)
        async def stubborn() -> str:
            """Work."""
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                await asyncio.sleep(3)
            return "after all"

        async with harness_of(
            stubborn, clock=clock, sinks=[lambda event: events.append(event.name)]
        ) as harness:
            result = await harness.call("stubborn")
            return result, asyncio.current_task().cancelling()

    result, cancelling = run_virtual(main)
    assert result.value == "after all"
    assert result.late
    assert "cancel_swallowed" in events
    assert cancelling == 0


def test_an_error_in_cleanup_does_not_hide_the_time_out():
    """What the body's cleanup raises after our cancel is the cause, and the kind is the time-out."""

    async def main(clock):
        @tool(read_only=True, timeout_s=1)
        async def messy() -> str:
            """Work."""
            try:
                await asyncio.sleep(10)
            finally:
                raise ValueError("cleanup")

        async with harness_of(messy, clock=clock) as harness:
            return await harness.call("messy")

    result = run_virtual(main)
    assert result.error.kind == "timeout"
    assert isinstance(result.error.__cause__, ValueError)


def test_an_outer_timeout_of_the_callers_keeps_its_meaning():
    """`asyncio.timeout` around a call raises TimeoutError, and ours inside of it does not trigger it."""

    async def main(clock):
        @tool(read_only=True, timeout_s=5)
        async def slow() -> str:
            """Work."""
            await asyncio.sleep(10)
            return ""

        async with harness_of(slow, clock=clock) as harness:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await harness.call("slow")
            async with asyncio.timeout(20):
                inner = await harness.call("slow")
            return inner, asyncio.current_task().cancelling()

    inner, cancelling = run_virtual(main)
    assert inner.error.kind == "timeout"
    assert cancelling == 0


def test_a_batch_keeps_what_was_finished():
    """After a cancel the finished results are kept, running ones are settled, and the rest say "not started"."""

    async def main(clock):
        @tool(read_only=True)
        async def wait(seconds: float) -> str:
            """Wait."""
            await asyncio.sleep(seconds)
            return "waited"

        @tool(read_only=True, parallel=False)
        async def alone() -> str:
            """Wait alone."""
            return "alone"

        async with harness_of(wait, alone, clock=clock) as harness:
            calls = [
                ToolCall("a", "wait", {"seconds": 1}),
                ToolCall("b", "wait", {"seconds": 20}),
                ToolCall("c", "alone"),
            ]
            task = asyncio.create_task(harness.call_all(calls))
            await asyncio.sleep(5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return interrupted_results(caught.value)

    done, running, waiting = run_virtual(main)
    assert done.value == "waited"
    assert running.error.kind == "cancelled"
    assert waiting.error.reason == "not_started"


@pytest.mark.parametrize("seed", range(30))
def test_random_cancels_and_time_outs_never_lose_or_invent_a_cancel(seed):
    """Whatever the moment: a cancelled caller sees its cancel, one that was not gets a result."""

    async def main(clock):
        rng = random.Random(seed)

        @tool(read_only=True, timeout_s=1.0)
        async def work(seconds: float, swallow: bool) -> str:
            """Work."""
            try:
                async with asyncio.timeout(rng.choice([0.5, 1.0, 2.0, 50.0])):
                    await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                if not swallow:
                    raise
                await asyncio.sleep(rng.choice([0.0, 0.5]))
            return "ok"

        async with harness_of(work, clock=clock) as harness:
            for _ in range(40):
                swallow = rng.random() < 0.2
                arguments = {"seconds": rng.choice([0.0, 0.5, 1.0, 1.5]), "swallow": swallow}
                task = asyncio.create_task(harness.call("work", arguments))
                when = rng.choice([None, 0.0, 0.5, 1.0, 1.5])
                if when is not None:
                    await asyncio.sleep(when)
                cancelled = when is not None and task.cancel()
                outcome = (await asyncio.gather(task, return_exceptions=True))[0]
                if not cancelled:
                    assert not isinstance(outcome, BaseException), outcome
                elif not swallow:
                    assert isinstance(outcome, asyncio.CancelledError), outcome
                if not isinstance(outcome, BaseException):
                    assert outcome.ok or outcome.error.kind == "timeout"

    run_virtual(main)
