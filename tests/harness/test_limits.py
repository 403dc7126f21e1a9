"""Breaker, rate limit, bulkhead, roles and approval, as a call meets them."""

import asyncio

import pytest

from failsoft import Breaker, Bulkhead, Harness, Policy, Rate, tool
from failsoft.core.errors import InvalidArgument, Unavailable
from failsoft.testing.clock import run_virtual


def test_an_open_breaker_refuses_and_says_when_to_come_back():
    """After hard failures the tool is not called; the model is told for how long, and what else there is."""
    runs = []

    async def main(clock):
        @tool(
            read_only=True,
            retry=None,
            breaker=Breaker(hard_failures=3, open_s=30, jitter=0),
            category="search",
        )
        async def search(word: str) -> str:
            """Search."""
            runs.append(word)
            raise Unavailable("down")

        @tool(read_only=True, category="search")
        async def other(word: str) -> str:
            """Search elsewhere."""
            return word

        async with Harness([search, other], clock=clock) as harness:
            for _ in range(3):
                await harness.call("search", {"word": "x"})
            refused = await harness.call("search", {"word": "x"})
            clock.advance(31)
            await harness.call("search", {"word": "x"})
            again = await harness.call("search", {"word": "x"})
            return refused, again, harness.stats()

    refused, again, stats = run_virtual(main)
    assert len(runs) == 4
    assert refused.error.kind == "circuit_open"
    assert refused.error.retry_after_s == pytest.approx(30)
    assert "other" in refused.content
    assert again.error.kind == "circuit_open"
    assert stats.tools[0].breakers[0].state == "open"


def test_bad_arguments_and_cancels_do_not_open_a_breaker():
    """What says nothing about the tool counts for nothing."""

    async def main(clock):
        @tool(read_only=True, retry=None, breaker=Breaker(hard_failures=2, window=4, min_calls=2))
        async def look(what: str) -> str:
            """Look."""
            if what == "bad":
                raise InvalidArgument("no such thing")
            await asyncio.sleep(10)
            return "seen"

        async with Harness([look], clock=clock) as harness:
            for _ in range(5):
                await harness.call("look", {"what": "bad"})
                await harness.call("look", {"what": 5})
                task = asyncio.create_task(harness.call("look", {"what": "x"}))
                await asyncio.sleep(1)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return await harness.call("look", {"what": "x"})

    assert run_virtual(main).ok


def test_one_breaker_for_each_key():
    """With a key function one bad host does not close the others."""

    async def main(clock):
        @tool(
            read_only=True,
            retry=None,
            breaker=Breaker(hard_failures=1, key=lambda arguments: arguments["host"]),
        )
        async def ask(host: str) -> str:
            """Ask a host."""
            if host == "a":
                raise Unavailable("down")
            return "up"

        async with Harness([ask], clock=clock) as harness:
            await harness.call("ask", {"host": "a"})
            return await harness.call("ask", {"host": "a"}), await harness.call("ask", {"host": "b"})

    bad, good = run_virtual(main)
    assert bad.error.kind == "circuit_open"
    assert good.ok


def test_a_bulkhead_bounds_bodies_and_its_queue():
    """So many at once, so many waiting, and the rest are told that nothing was started."""
    running, most = 0, 0

    async def main(clock):
        @tool(read_only=True, bulkhead=Bulkhead(2, queue=2), retry=None)
        async def work(n: int) -> int:
            """Work."""
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1
            return n

        async with Harness([work], clock=clock) as harness:
            return await asyncio.gather(*(harness.call("work", {"n": n}) for n in range(6)))

    results = run_virtual(main)
    assert most == 2
    assert [result.ok for result in results] == [True, True, True, True, False, False]
    assert results[4].error.kind == "overloaded"
    assert results[4].error.effect == "none"


def test_a_cancelled_waiter_leaves_its_place_to_the_next():
    """Whoever gives up in the queue, before or after being let in, costs nobody a place."""

    async def main(clock):
        @tool(read_only=True, bulkhead=Bulkhead(1, queue=10), retry=None)
        async def work() -> str:
            """Work."""
            await asyncio.sleep(1)
            return ""

        async with Harness([work], clock=clock) as harness:
            tasks = [asyncio.create_task(harness.call("work")) for _ in range(6)]
            await asyncio.sleep(0.5)
            for task in tasks[1:4]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            stats = harness.stats().tools[0]
            last = await harness.call("work")
            return stats, last, clock.monotonic()

    stats, last, _ = run_virtual(main)
    assert (stats.running, stats.queued) == (0, 0)
    assert last.ok


def test_a_rate_limit_spaces_calls_and_refuses_what_cannot_wait():
    """Calls wait for their turn; one whose turn lies beyond its deadline is refused at once."""

    async def main(clock):
        @tool(read_only=True, rate=Rate("2/minute", burst=1), retry=None)
        async def ask() -> str:
            """Ask."""
            return ""

        async with Harness([ask], clock=clock) as harness:
            start = clock.monotonic()
            await harness.call("ask")
            await harness.call("ask")
            second_at = clock.monotonic() - start
            refused = await harness.call("ask", deadline_s=5)
            return second_at, refused, clock.monotonic() - start

    second_at, refused, end = run_virtual(main)
    assert second_at == pytest.approx(30)
    assert refused.error.kind == "rate_limited"
    assert refused.error.retry_after_s == pytest.approx(30)
    assert end == second_at


async def test_roles_are_checked():
    """A tool with roles runs only for a caller that has one of them."""

    @tool(read_only=True, roles=["admin"])
    async def secret() -> str:
        """Tell."""
        return "s"

    async with Harness([secret]) as harness:
        refused = await harness.call("secret")
        allowed = await harness.call("secret", roles=["admin", "user"])
    assert refused.error.kind == "permission_denied"
    assert refused.error.reason == "role_missing"
    assert allowed.ok


async def test_approval_tells_refused_unanswered_and_unaskable_apart():
    """A person's no, a person's silence and nobody to ask are three answers."""

    @tool(read_only=False, approval="always")
    async def act() -> str:
        """Act."""
        return "acted"

    async def reason_of(approve):
        async with Harness([act], store="memory", approve=approve) as harness:
            result = await harness.call("act")
            return result.error.reason if result.error else result.value

    async def silence(call, tool):
        return None

    assert await reason_of(None) == "approval_required"
    assert await reason_of(lambda call, tool: False) == "refused"
    assert await reason_of(silence) == "approval_unanswered"
    assert await reason_of(lambda call, tool: True) == "acted"
    async with Harness([act], store="memory") as harness:
        assert (await harness.call("act", approved=True)).ok


async def test_an_approval_predicate_sees_the_arguments():
    """Only what the predicate names needs a person; a predicate that fails asks one."""

    def large(arguments):
        return arguments["amount"] > 100

    @tool(read_only=False, approval=large)
    async def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    async with Harness([pay], store="memory") as harness:
        assert (await harness.call("pay", {"amount": 5})).ok
        assert (await harness.call("pay", {"amount": 500})).error.reason == "approval_required"


async def test_a_closing_harness_takes_no_calls():
    """After `aclose` a call is refused with nothing done."""

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    harness = Harness([look], policy=Policy(retry=None))
    await harness.aclose()
    result = await harness.call("look")
    assert result.error.reason == "shutting_down"


def test_what_the_model_sees_of_an_open_breaker():
    """By default the list stays as it is; where it was asked for, the tool is described as paused, or left out."""

    async def main(clock):
        async def search() -> str:
            """Search."""
            raise Unavailable("down")

        @tool(read_only=True, category="search")
        async def other() -> str:
            """Search elsewhere."""
            return ""

        seen = {}
        for when_open in ("offer", "describe", "withhold"):
            broken = tool(
                search,
                read_only=True,
                category="search",
                when_open=when_open,
                retry=None,
                breaker=Breaker(hard_failures=1),
            )
            async with Harness([broken, other], clock=clock) as harness:
                before = harness.schemas("anthropic")
                await harness.call("search")
                seen[when_open] = (before, harness.schemas("anthropic"))
        return seen

    seen = run_virtual(main)
    assert seen["offer"][0] == seen["offer"][1]
    described = seen["describe"][1][0]["description"]
    assert described.startswith("Search.")
    assert "Paused for about" in described
    assert "other" in described
    assert [entry["name"] for entry in seen["withhold"][1]] == ["other"]
    assert all(len(before) == 2 for before, _ in seen.values())
