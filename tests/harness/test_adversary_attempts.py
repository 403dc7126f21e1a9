"""Attempts do not leak into each other: arguments, permits, probes, turns, items."""

import asyncio

import pytest

from failsoft import (
    Breaker,
    CallContext,
    Fallback,
    Harness,
    Policy,
    Progress,
    Rate,
    Retry,
    Timeout,
    current,
    tool,
)
from failsoft.core.errors import make_error
from failsoft.testing.clock import run_virtual
from failsoft.tools import Tool

PLAIN = Policy(retry=None, breaker=None)
TWICE = Policy(retry=Retry(max_attempts=2, base_s=0), breaker=None)
ITEMS = {"type": "object", "properties": {"items": {"type": "array"}}}


@pytest.mark.parametrize("raw", ['{"items": [1, 2]}', {"items": [1, 2]}])
@pytest.mark.parametrize("source", ["function", "schema"])
async def test_an_attempt_that_spoils_its_arguments_spoils_no_other(raw, source):
    """A body that empties its list and fails is tried again with the list, and so is what stands in for it."""
    seen = []

    async def take(items: list[int]) -> int:
        """Take.

        Args:
            items: Items.
        """
        seen.append(list(items))
        items.clear()
        raise ConnectionRefusedError(111, "refused")

    def count(items):
        return len(items)

    options = {"read_only": True, "fallback": Fallback(function=count)}
    made = (
        tool(**options)(take)
        if source == "function"
        else Tool.from_schema("take", ITEMS, take, description="Take.", **options)
    )
    async with Harness([made], policy=TWICE, store="memory") as harness:
        result = await harness.call("take", raw)
    assert seen == [[1, 2], [1, 2]]
    assert (result.value, result.degraded) == (2, True)
    assert raw in ('{"items": [1, 2]}', {"items": [1, 2]})


async def test_the_last_good_value_is_found_although_the_body_spoiled_its_arguments():
    """What is remembered is remembered under the arguments that were sent."""
    good = [True]

    @tool(read_only=True, fallback=Fallback(last_good_max_age_s=60))
    async def total(items: list[int]) -> int:
        """Total.

        Args:
            items: Items.
        """
        if not good.pop():
            raise ConnectionRefusedError(111, "refused")
        result = sum(items)
        items.clear()
        return result

    async with Harness([total], policy=PLAIN, store="memory") as harness:
        assert (await harness.call("total", '{"items": [1, 2]}')).value == 3
        good.append(False)
        again = await harness.call("total", '{"items": [1, 2]}')
    assert (again.value, again.degraded) == (3, True)


async def test_returned_awaitables_and_iterators_are_taken_to_their_end():
    """A function that gives back a coroutine, a generator or an async generator gives its values."""

    async def later() -> str:
        await asyncio.sleep(0)
        return "later"

    async def stream():
        yield 1
        await asyncio.sleep(0)
        yield Progress(1)
        yield 2

    @tool(read_only=True)
    def gives_coroutine() -> str:
        """Give."""
        return later()

    @tool(read_only=True)
    def gives_generator():
        """Give."""
        return (number for number in (1, Progress(1), 2))

    @tool(read_only=True)
    async def gives_stream():
        """Give."""
        return stream()

    @tool(read_only=True)
    async def gives_coroutine_too():
        """Give."""
        return later()

    steps = []
    tools = [gives_coroutine, gives_generator, gives_stream, gives_coroutine_too]
    async with Harness(tools, policy=PLAIN, store="memory") as harness:
        values = [(await harness.call(one.name, on_progress=steps.append)).value for one in tools]
    assert values == ["later", [1, 2], [1, 2], "later"]


async def test_a_generator_that_fails_after_an_item_is_not_tried_again():
    """An item went out, so there is no second attempt, in a thread neither."""
    begun = []

    @tool(read_only=True)
    def rows():
        """Rows."""
        begun.append(1)
        yield "a"
        raise ConnectionRefusedError(111, "refused")

    async with Harness([rows], policy=TWICE, store="memory") as harness:
        result = await harness.call("rows")
    assert begun == [1]
    assert result.error.context["partial"] == ["a"]


def probing(**options):
    """A tool behind a breaker that opens at the first failure, and the list of what it does next."""
    script = []

    @tool(read_only=True, retry=None, breaker=Breaker(hard_failures=1, open_s=10, jitter=0), **options)
    async def ask() -> str:
        """Ask."""
        step = script.pop(0)
        if isinstance(step, BaseException):
            raise step
        await asyncio.sleep(step)
        return "ok"

    return ask, script


@pytest.mark.parametrize("spoiled", ["cancelled", "deadline", "rate"])
def test_a_probe_that_comes_to_nothing_gives_its_permit_back(spoiled):
    """A half-open breaker whose probe was cancelled, too late, or never got a place lets the next one probe."""

    async def main(clock):
        options = {}
        if spoiled == "rate":
            options["rate"] = Rate(limit=2, per_s=15)
        ask, script = probing(**options)
        harness = Harness([ask], clock=clock, store="memory")
        script.append(ConnectionResetError(104, "reset"))
        await harness.call("ask")
        if spoiled == "rate":
            await harness.call("ask")
        await asyncio.sleep(11)
        if spoiled == "cancelled":
            script.append(100)
            probe = asyncio.create_task(harness.call("ask"))
            await asyncio.sleep(0.1)
            assert (await harness.call("ask")).error.kind == "circuit_open"
            probe.cancel()
            await asyncio.wait([probe])
        elif spoiled == "deadline":
            assert not (await harness.call("ask", deadline_s=0)).ok
        else:
            await harness.call("ask", deadline_s=0.5)
            await asyncio.sleep(30)
        script[:] = [0.1]
        result = await harness.call("ask")
        assert result.ok, result.error
        await harness.aclose()

    run_virtual(main)


async def test_a_joiner_that_is_cancelled_takes_nobody_with_it():
    """The leader and the other joiners get their value under their own ids."""

    @tool(read_only=False)
    async def charge() -> str:
        """Charge."""
        await asyncio.sleep(0.05)
        return "charged"

    async with Harness([charge], policy=PLAIN, store="memory") as harness, harness.run() as run:
        tasks = [asyncio.create_task(run.call("charge", id=f"id{n}")) for n in range(4)]
        await asyncio.sleep(0.01)
        tasks[1].cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(ended[1], asyncio.CancelledError)
    assert [(one.value, one.call.id) for one in ended if not isinstance(one, BaseException)] == [
        ("charged", "id0"),
        ("charged", "id2"),
        ("charged", "id3"),
    ]


async def test_a_second_attempt_has_a_clean_slate_but_no_memory_loss():
    """`acted()` and its effect last over attempts: what may have happened once is never called certain later."""

    @tool(read_only=False, idempotent=True, retry=Retry(max_attempts=2, base_s=0))
    async def push(ctx: CallContext) -> str:
        """Push."""
        if ctx.attempt == 1:
            ctx.acted()
            raise ConnectionResetError(104, "reset")
        assert not current().has_acted
        raise make_error("not_found", "nothing there")

    async with Harness([push], policy=PLAIN, store="memory") as harness:
        result = await harness.call("push")
    assert result.attempts == 2
    assert result.error.kind == "not_found"
    assert result.error.effect == "possible"


def test_a_time_out_of_one_attempt_does_not_cut_the_next():
    """Each attempt has its own alarm, and the wait between them has none."""

    async def main(clock):
        lengths = [5.0, 0.9]

        @tool(read_only=True)
        async def ask() -> str:
            """Ask."""
            await asyncio.sleep(lengths.pop(0))
            return "ok"

        policy = Policy(
            retry=Retry(max_attempts=2, base_s=3, jitter="none"),
            timeout=Timeout(attempt_s=1, total_s=30),
            breaker=None,
        )
        async with Harness([ask], policy=policy, clock=clock, store="memory") as harness:
            result = await harness.call("ask")
            assert asyncio.current_task().cancelling() == 0
            return result

    result = run_virtual(main)
    assert (result.value, result.attempts, result.late) == ("ok", 2, False)


@pytest.mark.parametrize("bad", [float("nan"), "3"])
async def test_a_deadline_that_is_no_time_is_misuse(bad):
    """What cannot be a number of seconds is refused before anything runs."""
    ran = []

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        ran.append(1)
        return "ok"

    async with Harness([look], store="memory") as harness:
        with pytest.raises(Exception, match="deadline_s"):
            await harness.call("look", deadline_s=bad)
    assert ran == []
