"""A cancel always passes, whatever the call is waiting for, and leaves nothing behind."""

import asyncio
import random

import pytest

from failsoft import (
    Bulkhead,
    CallContext,
    Fallback,
    Harness,
    Policy,
    Rate,
    Retry,
    ToolCall,
    interrupted_results,
    tool,
)
from failsoft.core.errors import make_error
from failsoft.testing.clock import run_virtual

PLAIN = Policy(retry=None, breaker=None)


def nothing_left(harness):
    """No permit, place, flight, zombie or task is left."""
    stats = harness.stats()
    assert stats.in_flight == 0
    assert stats.zombies == 0
    assert all(not one.running and not one.queued for one in stats.tools)
    assert all(breaker.probes_running == 0 for one in stats.tools for breaker in one.breakers)
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert others == []


async def cancelled_after(call, seconds):
    """Cancel a call and give what it left on the cancel."""
    task = asyncio.create_task(call)
    await asyncio.sleep(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    return interrupted_results(caught.value)


async def hang(*_args, **_values):
    """Never answer."""
    await asyncio.sleep(1000)


def options_for(waiting):
    """What makes a tool wait there."""
    options = {
        "retry": {
            "retry": Retry(max_attempts=3, base_s=20, cap_s=20, jitter="none"),
            "idempotent": True,
        },
        "queue": {"bulkhead": Bulkhead(limit=1, queue=5)},
        "rate": {"rate": Rate(limit=1, per_s=30)},
        "approval": {"approval": "always"},
        "verify": {"verify": hang},
        "fallback": {"fallback": Fallback(function=hang)},
    }
    return options.get(waiting, {})


WAITS = ["body", "retry", "queue", "rate", "approval", "verify", "join", "fallback"]


@pytest.mark.parametrize("waiting", WAITS)
def test_a_cancel_passes_wherever_the_call_waits(waiting):
    """Body, retry wait, queue, rate limit, approval, verify, join and fallback: the cancel comes out, nothing is left."""

    async def main(clock):
        options = options_for(waiting)

        @tool(read_only=False, **options)
        async def work(n: int) -> str:
            """Work.

            Args:
                n: Number.
            """
            if waiting in ("retry", "fallback"):
                raise make_error("unavailable", "no", effect="none")
            if waiting == "verify":
                raise make_error("internal", "no")
            if n == 0:
                return "quick"
            await asyncio.sleep(20)
            return "done"

        harness = Harness([work], policy=PLAIN, clock=clock, store="memory", approve=hang, builtins=False)
        async with harness.run() as run:
            beside = None
            if waiting == "rate":
                await run.call("work", {"n": 0})
            if waiting in ("queue", "join"):
                beside = asyncio.create_task(run.call("work", {"n": 1}))
                await asyncio.sleep(0.01)
            if waiting == "verify":
                await run.call("work", {"n": 1})
            number = 2 if waiting == "queue" else 1
            calls = [ToolCall("c", "work", {"n": number})]
            left = await cancelled_after(run.call_all(calls), 1.0)
            assert [result.error.kind for result in left] == ["cancelled"]
            if beside is not None:
                assert (await beside).value == "done"
        nothing_left(harness)
        await harness.aclose()

    run_virtual(main)


@pytest.mark.parametrize("made", [RuntimeError, ConnectionResetError, TimeoutError])
async def test_a_cancel_that_the_body_turns_into_an_error_still_passes(made):
    """A body that catches the cancel and raises something else is neither tried again nor allowed to hide it."""
    begun = []

    @tool(read_only=True, retry=Retry(max_attempts=3, base_s=0), breaker=None)
    async def rude() -> str:
        """Rude."""
        begun.append(1)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError as exc:
            raise made("cut off") from exc
        return ""

    async with Harness([rude], store="memory") as harness:
        left = await cancelled_after(harness.call_all([ToolCall("c", "rude", {})]), 0.02)
        assert len(begun) == 1
        assert left[0].error.kind == "cancelled"
        nothing_left(harness)


async def test_a_cancel_that_the_body_swallows_comes_at_the_callers_next_wait():
    """The value is not lost, and neither is the cancel."""

    @tool(read_only=True)
    async def rude() -> str:
        """Rude."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass
        return "anyway"

    values = []

    async def caller(harness):
        values.append((await harness.call("rude")).value)
        await asyncio.sleep(30)

    async with Harness([rude], policy=PLAIN, store="memory") as harness:
        await cancelled_after(caller(harness), 0.02)
        assert values == ["anyway"]


async def test_a_call_in_the_cleanup_of_a_cancelled_task_works():
    """A task that is being cancelled may still call tools to clean up; their failures stay failures."""

    @tool(read_only=True)
    async def tidy(fail: bool = False) -> str:
        """Tidy.

        Args:
            fail: Whether to fail.
        """
        await asyncio.sleep(0.01)
        if fail:
            raise ValueError("no")
        return "tidy"

    seen = []

    async def caller(harness):
        try:
            await asyncio.sleep(30)
        finally:
            seen.append((await harness.call("tidy")).value)
            seen.append(str((await harness.call("tidy", {"fail": True})).ok))

    async with Harness([tidy], policy=PLAIN, store="memory") as harness:
        await cancelled_after(caller(harness), 0.02)
    assert seen == ["tidy", "False"]


async def test_a_task_groups_sibling_failure_cancels_the_call_and_nothing_else():
    """A call inside of a task group ends with the group, and the group's own error comes out."""

    @tool(read_only=False)
    async def long() -> str:
        """Long."""
        await asyncio.sleep(30)
        return ""

    async def fail():
        await asyncio.sleep(0.01)
        raise ValueError("sibling")

    async with Harness([long], policy=PLAIN, store="memory") as harness:

        async def both():
            async with asyncio.TaskGroup() as group:
                group.create_task(harness.call("long"))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup) as caught:
            await both()
        assert caught.group_contains(ValueError)
        assert len(await harness.doubts()) == 1
        nothing_left(harness)


@pytest.mark.parametrize("seed", range(30))
def test_random_cancels_leave_nothing_behind(seed):
    """Many calls of all sorts, cancelled at random moments: permits, places, flights and tasks all come back."""

    async def main(clock):
        rng = random.Random(seed)
        places = Bulkhead(limit=2, queue=4, max_wait_s=5)

        @tool(read_only=True, bulkhead=places)
        async def look(n: int, ctx: CallContext) -> int:
            """Look.

            Args:
                n: Number.
            """
            await asyncio.sleep(rng.random() * 3)
            if rng.random() < 0.4:
                raise ConnectionResetError("x")
            return n

        @tool(read_only=False, bulkhead=places)
        async def act(n: int) -> int:
            """Act.

            Args:
                n: Number.
            """
            await asyncio.sleep(rng.random() * 3)
            if rng.random() < 0.4:
                raise ConnectionResetError("x")
            return n

        @tool(read_only=False, isolation="task", bulkhead=places)
        async def apart(n: int) -> int:
            """Act apart.

            Args:
                n: Number.
            """
            await asyncio.sleep(rng.random() * 3)
            return n

        harness = Harness([look, act, apart], clock=clock, rng=rng, store="memory", builtins=False)
        async with harness.run() as run:
            tasks = []
            for number in range(40):
                name = rng.choice(["look", "act", "apart"])
                deadline_s = rng.choice([None, 1.0, 4.0])
                tasks.append(asyncio.create_task(run.call(name, {"n": number % 7}, deadline_s=deadline_s)))
                await asyncio.sleep(rng.random() * 0.5)
                if rng.random() < 0.4:
                    rng.choice(tasks).cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                assert task.cancelled() or task.result() is not None
        await asyncio.sleep(10)
        nothing_left(harness)
        await harness.aclose()

    run_virtual(main)
