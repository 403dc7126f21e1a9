"""The deadline bounds everything, hooks break and slow nothing, and nothing is left after many calls."""

import asyncio
import gc
import logging
import threading
import time

import pytest

from failsoft import (
    Bulkhead,
    Harness,
    NotDone,
    Policy,
    Progress,
    Timeout,
    ToolCall,
    current,
    tool,
)
from failsoft.core.errors import make_error
from failsoft.stores.memory import MemoryStore
from failsoft.telemetry import QueueSink
from failsoft.testing.clock import run_virtual

PLAIN = Policy(retry=None, breaker=None)
SECRET = "sk-proj-CANARY0123456789abcdefABCDEF0123456789"


def test_a_hanging_verify_does_not_outlast_the_deadline():
    """A check of an earlier doubt that never answers ends with the caller's time, and the doubt stays."""

    async def main(clock):
        async def verify(order: str):
            await asyncio.sleep(1000)

        @tool(read_only=False, verify=verify)
        async def charge(order: str) -> str:
            """Charge.

            Args:
                order: Order.
            """
            raise make_error("internal", "lost")

        async with Harness([charge], policy=PLAIN, clock=clock, store="memory") as harness:
            await harness.call("charge", {"order": "1"})
            began = clock.monotonic()
            result = await harness.call("charge", {"order": "1"}, deadline_s=2.0)
            return clock.monotonic() - began, result

    took_s, result = run_virtual(main)
    assert took_s <= 2.1
    assert result.error.kind == "in_doubt"


@pytest.mark.parametrize("verb", ["look", "begin"])
def test_a_hanging_store_does_not_outlast_the_deadline(verb):
    """A ledger that never answers ends the call in time, before anything has run."""

    class Hanging(MemoryStore):
        """A store one of whose verbs hangs."""

    async def hang(self, intent):
        await asyncio.sleep(1000)

    setattr(Hanging, verb, hang)
    ran = []

    async def main(clock):
        @tool(read_only=False)
        async def charge(order: str) -> str:
            """Charge.

            Args:
                order: Order.
            """
            ran.append(order)
            return "ok"

        harness = Harness([charge], policy=PLAIN, clock=clock, store=Hanging())
        began = clock.monotonic()
        result = await harness.call("charge", {"order": "1"}, deadline_s=2.0)
        return clock.monotonic() - began, result

    took_s, result = run_virtual(main)
    assert took_s <= 4.0
    assert result.error.effect == "none"
    assert ran == []


@pytest.mark.parametrize("seconds", [0, 1e-9, -1, float("-inf")])
async def test_a_deadline_that_is_over_runs_nothing_that_could_act(seconds):
    """No time left: an answer now, and a body that acts has not begun."""
    ran = []

    @tool(read_only=False)
    async def act() -> str:
        """Act."""
        ran.append(1)
        await asyncio.sleep(0.01)
        return "ok"

    async with Harness([act], policy=PLAIN, store="memory") as harness:
        result = await harness.call("act", deadline_s=seconds)
    assert not result.ok
    assert result.error.kind == "timeout"
    assert ran == []
    assert result.error.effect == "none"
    assert result.doubt is None


@pytest.mark.parametrize("odd", [RuntimeError, KeyError])
async def test_an_approval_hook_that_raises_has_not_approved(odd):
    """A broken approval is a refusal that names the hook's failure as nobody's answer, and nothing ran."""
    ran = []

    @tool(read_only=False, approval="always")
    async def act() -> str:
        """Act."""
        ran.append(1)
        return "ok"

    def approve(call, tool):
        raise odd("broken")

    async with Harness([act], policy=PLAIN, store="memory", approve=approve) as harness:
        result = await harness.call("act")
    assert ran == []
    assert result.error.kind == "permission_denied"
    assert result.error.effect == "none"


@pytest.mark.slow
async def test_sinks_that_raise_or_block_reach_no_call():
    """Two broken sinks and a slow one behind its queue: all calls answer, at once."""
    seen = []

    def broken(event):
        raise RuntimeError("sink")

    def slow(event):
        time.sleep(0.2)
        seen.append(event)

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "ok"

    async with Harness(
        [look], policy=PLAIN, store="memory", sinks=[broken, QueueSink(slow), broken]
    ) as harness:
        began = time.monotonic()
        results = [await harness.call("look") for _ in range(20)]
        took_s = time.monotonic() - began
    assert all(result.ok for result in results)
    assert took_s < 0.5


async def test_a_secret_of_an_exception_is_nowhere(caplog):
    """Error, history, doubt, events, logs and what the model reads are free of it."""
    caplog.set_level(logging.DEBUG)
    events = []

    @tool(read_only=False)
    async def act() -> str:
        """Act."""
        raise RuntimeError(f"refused key {SECRET}")

    async with Harness([act], policy=PLAIN, store="memory", sinks=[events.append]) as harness:
        result = await harness.call("act")
        again = await harness.call("act")
        doubts = await harness.doubts()
    for one in (result, again):
        assert SECRET not in str(one.error.fields())
        assert SECRET not in one.content
        assert SECRET not in repr(one)
        assert SECRET not in str([attempt.error.fields() for attempt in one.history if attempt.error])
    assert SECRET not in str(events)
    assert SECRET not in str(doubts)
    assert SECRET not in caplog.text


async def test_what_came_before_a_time_out_is_kept():
    """A generator that hangs after two items: both are in the error, and it is not tried again."""
    begun = []

    @tool(read_only=True, timeout_s=0.1)
    async def rows():
        """Give rows."""
        begun.append(1)
        yield "first"
        yield "second"
        await asyncio.sleep(30)

    async with Harness([rows], store="memory") as harness:
        result = await harness.call("rows")
    assert result.error.kind == "timeout"
    assert result.error.context["partial"] == ["first", "second"]
    assert begun == [1]


def test_progress_puts_the_idle_end_off_and_silence_does_not():
    """The idle limit counts from the last report."""

    async def main(clock):
        @tool(read_only=True, retry=None, timeout=Timeout(attempt_s=30, total_s=30, idle_s=2))
        async def steps(n: int) -> str:
            """Work in steps.

            Args:
                n: How many.
            """
            for step in range(n):
                await asyncio.sleep(1.5)
                current().report(Progress(step, n))
            await asyncio.sleep(5)
            return "done"

        async with Harness([steps], clock=clock, store="memory") as harness:
            began = clock.monotonic()
            result = await harness.call("steps", {"n": 4})
            return clock.monotonic() - began, result

    took_s, result = run_virtual(main)
    assert result.error.kind == "timeout"
    assert took_s == pytest.approx(8.0, abs=0.1)


@pytest.mark.slow
async def test_ten_thousand_calls_leave_nothing():
    """Objects, tasks and threads are as many as before, whether calls succeed, fail or are refused."""

    @tool(read_only=True)
    async def look(n: int) -> int:
        """Look.

        Args:
            n: Number.
        """
        if n % 3 == 0:
            raise ValueError("no")
        return n

    async with Harness([look], policy=PLAIN, store="memory") as harness:

        async def many(count):
            for number in range(count):
                await harness.call("look", {"n": number} if number % 5 else {"n": "x"})

        logging.getLogger("failsoft").setLevel(logging.CRITICAL)
        try:
            await many(500)
            gc.collect()
            before = len(gc.get_objects())
            await many(10_000)
            gc.collect()
            after = len(gc.get_objects())
        finally:
            logging.getLogger("failsoft").setLevel(logging.NOTSET)
        assert after - before < 200
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_protected_tools_calls_leave_no_flights():
    """A thousand charges, with and without failures: no flights, zombies or open tasks."""

    @tool(read_only=False, bulkhead=Bulkhead(limit=3, queue=2000))
    async def charge(n: int) -> int:
        """Charge.

        Args:
            n: Number.
        """
        await asyncio.sleep(0)
        if n % 3 == 0:
            raise make_error("unavailable", "no", effect="none")
        return n

    logging.getLogger("failsoft").setLevel(logging.CRITICAL)
    try:
        async with Harness([charge], policy=PLAIN, store="memory") as harness:
            calls = [ToolCall(str(n), "charge", {"n": n}) for n in range(1000)]
            results = await harness.call_all(calls)
            stats = harness.stats()
    finally:
        logging.getLogger("failsoft").setLevel(logging.NOTSET)
    assert [result.call.id for result in results] == [str(n) for n in range(1000)]
    assert stats.in_flight == stats.zombies == 0
    assert stats.tools[0].running == 0


@pytest.mark.slow
def test_a_waiter_whose_loop_is_gone_keeps_no_place():
    """A loop that was closed with a call in the queue does not take the place that falls to it."""
    entered = threading.Event()
    free = threading.Event()

    @tool(read_only=True, bulkhead=Bulkhead(limit=1, queue=5))
    async def work() -> str:
        """Work."""
        entered.set()
        while not free.is_set():
            await asyncio.sleep(0.01)
        return "done"

    harness = Harness([work], policy=PLAIN, store="memory")
    holder = threading.Thread(target=lambda: harness.call_sync("work"))
    holder.start()
    entered.wait(5)
    lost = asyncio.new_event_loop()
    waiting = lost.create_task(harness.call("work"))
    lost.run_until_complete(asyncio.sleep(0.05))
    assert harness.stats().tools[0].queued == 1
    lost.close()
    free.set()
    holder.join(5)
    assert harness.call_sync("work", deadline_s=2).ok
    waiting._log_destroy_pending = False
    waiting.get_coro().close()


@pytest.mark.slow
async def test_a_sync_hook_that_blocks_ends_with_the_deadline_and_holds_up_no_exit():
    """A blocking approval, asked many times at once, neither starves other calls nor keeps the loop from closing."""
    never = threading.Event()

    @tool(read_only=False, approval="always")
    async def act(n: int) -> str:
        """Act.

        Args:
            n: Number.
        """
        return "ok"

    @tool(read_only=False, verify=lambda n: NotDone)
    async def check(n: int) -> str:
        """Check.

        Args:
            n: Number.
        """
        raise make_error("internal", "lost")

    def approve(call, tool):
        never.wait(15)

    async with Harness([act, check], policy=PLAIN, store="memory", approve=approve) as harness:
        asking = [asyncio.create_task(harness.call("act", {"n": n}, deadline_s=1.0)) for n in range(40)]
        await asyncio.sleep(0.1)
        await harness.call("check", {"n": 1})
        began = time.monotonic()
        again = await harness.call("check", {"n": 1}, deadline_s=0.8)
        assert time.monotonic() - began < 0.7
        assert again.error.reason != "unresolved_doubt"
        results = await asyncio.gather(*asking)
    assert {result.error.reason for result in results} == {"approval_unanswered"}
    began = time.monotonic()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert time.monotonic() - began < 1
    never.set()


async def test_a_call_that_is_collected_leaves_its_doubt():
    """A coroutine that is closed instead of awaited cannot wait for anything, and is settled all the same."""

    @tool(read_only=False)
    async def act() -> str:
        """Act."""
        await asyncio.sleep(30)
        return "ok"

    async with Harness([act], policy=PLAIN, store="memory") as harness:
        lost = harness.call("act")
        lost.send(None)
        lost.close()
        assert harness.stats().in_flight == 0
        assert len(await harness.doubts()) == 1
