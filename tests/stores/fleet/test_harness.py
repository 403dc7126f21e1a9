"""A harness in a fleet: what one finds out, all know."""

import asyncio
import time
from typing import Any

import pytest

from failsoft.core.errors import RateLimited, UsageError
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Rate
from failsoft.stores.fleet.link import member_of
from failsoft.stores.fleet.memory import MemoryFleet
from failsoft.tools import tool
from tests.stores.fleet.world import World, break_it, closed, has_heard, members, served, state_of, until


async def test_one_opens_all_open_and_close() -> None:
    """A breaker that opens in one member opens in all; one probe closes it for all."""
    world = World()
    a, b = members(world, MemoryFleet())
    world.up = False
    await break_it(a)
    assert await until(lambda: state_of(b) == "open") < 1
    refused = await b.call("ask", {})
    assert refused.error is not None
    assert refused.error.kind == "circuit_open"
    assert 0 < (refused.error.retry_after_s or 0) <= 0.3
    assert world.calls == 3
    world.up = True
    await asyncio.sleep(0.3)
    assert (await b.call("ask", {})).ok
    await until(lambda: state_of(a) == "closed")
    assert (await a.call("ask", {})).ok
    await closed(a, b)


async def test_b19_one_probe_for_all() -> None:
    """While one member probes the others are refused, and learn how it went."""
    world = World()
    harnesses = members(world, MemoryFleet(), 8)
    world.up = False
    await break_it(harnesses[0])
    await until(lambda: all(state_of(each) == "open" for each in harnesses))
    await asyncio.sleep(0.3)
    world.most, world.calls, world.hold, world.up = 0, 0, asyncio.Event(), True
    asked = [asyncio.ensure_future(each.call("ask", {})) for each in harnesses for _ in range(3)]
    await until(lambda: sum(each.done() for each in asked) == len(asked) - 1)
    world.hold.set()
    results = await asyncio.gather(*asked)
    assert (world.calls, world.most) == (1, 1)
    assert sum(result.ok for result in results) == 1
    await until(lambda: all(state_of(each) == "closed" for each in harnesses))
    await closed(*harnesses)


async def test_failed_probe_opens_longer_for_all() -> None:
    """A probe that fails opens again, longer, in every member."""
    world = World()
    a, b = members(world, MemoryFleet())
    world.up = False
    await break_it(a)
    await until(lambda: state_of(b) == "open")
    await asyncio.sleep(0.3)
    await b.call("ask", {})
    await until(lambda: a.stats().tools[0].breakers[0].opened == 2)
    refused = await a.call("ask", {})
    assert refused.error is not None
    assert 0.4 < (refused.error.retry_after_s or 0) <= 0.6
    assert world.calls == 4
    await closed(a, b)


async def test_cancelled_probe_is_given_back() -> None:
    """A probe whose caller went away is the next one's, whoever that is."""
    world = World()
    a, b = members(world, MemoryFleet())
    world.up = False
    await break_it(a)
    await until(lambda: state_of(b) == "open")
    await asyncio.sleep(0.3)
    world.hold, world.up = asyncio.Event(), True
    probe = asyncio.ensure_future(a.call("ask", {}))
    await until(lambda: world.running == 1)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    world.hold = None
    assert (await served(b)).value == "up"
    await closed(a, b)


async def test_cancelled_while_asking_is_given_back() -> None:
    """A caller that goes away while the fleet is asked leaves no lease behind."""
    world = World()

    class Slow(MemoryFleet):
        async def lease(self, wish: Any) -> Any:
            await asyncio.sleep(0.1)
            return await super().lease(wish)

    a, b = members(world, Slow())
    world.up = False
    await break_it(a)
    await until(lambda: state_of(b) == "open")
    await asyncio.sleep(0.3)
    world.up = True
    probe = asyncio.ensure_future(a.call("ask", {}))
    await asyncio.sleep(0.05)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert (await served(b)).value == "up"
    assert world.calls == 4
    await closed(a, b)


async def test_b17_new_member_joins_an_open_circuit() -> None:
    """A member that starts during an outage is open from its first message on, and resets nothing."""
    world, fleet = World(), MemoryFleet()
    (a,) = members(world, fleet, 1, breaker=Breaker(hard_failures=3, open_s=30))
    world.up = False
    await break_it(a)
    await asyncio.sleep(0.1)
    (b,) = members(world, fleet, 1, breaker=Breaker(hard_failures=3, open_s=30))
    await until(lambda: state_of(b) == "open")
    refused = await b.call("ask", {})
    assert refused.error is not None
    assert refused.error.kind == "circuit_open"
    assert state_of(a) == "open"
    assert world.calls == 3
    await closed(a, b)


async def test_keys_that_are_made_later_know() -> None:
    """A breaker by key that a member makes only now is open where the fleet has it open; other keys are not."""
    world, fleet = World(), MemoryFleet()
    breaker = Breaker(hard_failures=3, open_s=30, key=lambda arguments: arguments["key"])
    a, b = members(world, fleet, 2, breaker=breaker)
    world.up = False
    for _ in range(3):
        await a.call("ask", {"key": "one"})
    await until(lambda: has_heard(b, member_of("ask", "one")))
    world.up = True
    assert not (await b.call("ask", {"key": "one"})).ok
    assert (await b.call("ask", {"key": "two"})).ok
    await closed(a, b)


async def test_names_are_fleets_of_their_own() -> None:
    """Harnesses of different names in one store do not know each other."""
    world = World()
    url = "memory://apart"
    (a,) = members(world, url, 1)

    @tool(read_only=True)
    async def ask() -> str:
        """Ask."""
        return await world.serve()

    b = Harness([ask], store="memory", fleet=url, name="other", config=None)
    world.up = False
    await break_it(a)
    await asyncio.sleep(0.2)
    assert state_of(b) == "closed"
    await closed(a, b)


async def test_a_rate_is_shared() -> None:
    """Two members together get the turns of one."""
    world = World()
    a, b = members(world, MemoryFleet(), rate=Rate("10/hour", max_wait_s=0))
    results = [await each.call("ask", {}) for _ in range(8) for each in (a, b)]
    assert sum(result.ok for result in results) == 10
    error = results[-1].error
    assert error is not None
    assert error.kind == RateLimited("").kind
    assert error.reason == "local_rate_limit"
    assert 300 < (error.retry_after_s or 0) <= 360
    await closed(a, b)


async def test_a_busy_rate_asks_seldom() -> None:
    """A process that calls often takes its turns in blocks."""
    asked = 0

    class Counting(MemoryFleet):
        async def take(self, member: str, **options: Any) -> Any:
            nonlocal asked
            asked += 1
            return await super().take(member, **options)

    (a,) = members(World(), Counting(), 1, rate=Rate("10000/s"))
    for _ in range(1_000):
        assert (await a.call("ask", {})).ok
    assert asked < 20
    await a.aclose()


@pytest.mark.parametrize("url", ["http://x", "redis", "redis://h:port/0", 7])
def test_urls_that_cannot_be(url: Any) -> None:
    """A fleet that cannot be is refused when the harness is built."""
    with pytest.raises(UsageError):
        Harness([], store="memory", fleet=url, config=None)


def test_from_synchronous_code() -> None:
    """The synchronous door works in a fleet, and so does ending without a loop."""
    world, fleet = World(), MemoryFleet()
    a, b = members(world, fleet)
    world.up = False
    for _ in range(3):
        a.call_sync("ask", {})
    time.sleep(0.1)
    assert state_of(b) == "open"
    time.sleep(0.3)
    world.up = True
    assert b.call_sync("ask", {}).ok
    a.close_sync()
    b.close_sync()


async def test_no_round_trip_while_closed_or_open() -> None:
    """Calls through a closed breaker ask the store nothing, and neither do those that an open one refuses."""
    asked: list[str] = []

    class Watched(MemoryFleet):
        def __getattribute__(self, name: str) -> Any:
            if name in ("open", "lease", "close", "give_back", "take"):
                asked.append(name)
            return super().__getattribute__(name)

    world = World()
    (a,) = members(world, Watched(), 1, breaker=Breaker(hard_failures=3, open_s=30))
    await asyncio.sleep(0.05)
    asked.clear()  # what was read when the harness was built
    for _ in range(300):
        assert (await a.call("ask", {})).ok
    assert asked == []
    world.up = False
    await break_it(a)
    for _ in range(300):
        assert not (await a.call("ask", {})).ok
    await until(lambda: asked)
    assert asked == ["open"]
    await a.aclose()
