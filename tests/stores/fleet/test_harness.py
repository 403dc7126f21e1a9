"""A harness in a fleet: what one finds out, all know."""

import asyncio
import gc
import signal
import threading
import time
import weakref
from typing import Any

import pytest

from failsoft.core.errors import RateLimited, Unavailable, UsageError
from failsoft.core.events import Event, EventName
from failsoft.core.results import ToolResult
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Rate, Retry
from failsoft.stores.fleet.memory import MemoryFleet
from failsoft.tools import tool


class World:
    """A service that is up or down, and knows who called it."""

    def __init__(self) -> None:
        self.up = True
        self.calls = 0
        self.running = self.most = 0
        self.hold: asyncio.Event | None = None

    async def serve(self) -> str:
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.hold is not None:
                await self.hold.wait()
            if not self.up:
                raise Unavailable("down")
            return "up"
        finally:
            self.running -= 1


def members(
    world: World, fleet: Any, number: int = 2, events: list[Event] | None = None, **policy: Any
) -> list[Harness]:
    """Harnesses of one fleet over one service."""

    @tool(read_only=True)
    async def ask(key: str = "") -> str:
        """Ask the service."""
        return await world.serve()

    options = {
        "breaker": Breaker(hard_failures=3, open_s=0.3, jitter=0),
        "retry": Retry(max_attempts=1),
        **policy,
    }
    sinks = () if events is None else (events.append,)
    return [
        Harness([ask], policy=Policy(**options), store="memory", fleet=fleet, sinks=sinks, config=None)
        for _ in range(number)
    ]


async def until(condition: Any, within_s: float = 3.0) -> float:
    """Seconds until something is so."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within_s, "it never came"
        await asyncio.sleep(0.005)
    return time.monotonic() - began


def state_of(harness: Harness) -> str:
    return harness._shared.plans["ask"].breaker.state  # type: ignore[union-attr]


async def break_it(harness: Harness) -> ToolResult:
    for _ in range(3):
        result = await harness.call("ask", {})
    return result


async def closed(*harnesses: Harness) -> None:
    for harness in harnesses:
        await harness.aclose()


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
    await asyncio.sleep(0.05)
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
    await asyncio.sleep(0.1)
    assert (await b.call("ask", {})).ok
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
    await asyncio.sleep(0.15)
    assert (await b.call("ask", {})).ok
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
    await asyncio.sleep(0.1)
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


@pytest.mark.server
async def test_trouble_is_told_once_and_local_state_goes_on(server: Any) -> None:
    """A store that goes away stops nobody; it is told once, and once more when it is back."""
    events: list[Event] = []
    world = World()
    a, b = members(world, server.url, 2, events, rate=Rate("1000/s"))
    assert (await a.call("ask", {})).ok
    await asyncio.sleep(0.2)
    server.kill()
    world.up = False
    began = time.monotonic()
    await break_it(a)
    assert state_of(a) == "open"
    assert (await b.call("ask", {})).error.kind == "unavailable"  # type: ignore[union-attr]
    assert time.monotonic() - began < 0.5
    world.up = True
    await asyncio.sleep(0.35)
    assert (await a.call("ask", {})).ok
    told = [event for event in events if event.name is EventName.STORE_TROUBLE]
    assert len(told) == 2
    assert "127.0.0.1" not in str(told[0].data.get("password", ""))
    server.start()
    await until(lambda: sum(event.name is EventName.STORE_RECOVERED for event in events) == 2)
    assert len([event for event in events if event.name is EventName.STORE_TROUBLE]) == 2
    world.up = False
    await break_it(a)
    await until(lambda: state_of(b) == "open")
    await closed(a, b)


@pytest.mark.server
async def test_what_is_open_is_said_again_to_a_store_that_forgot(server: Any) -> None:
    """A store that lost everything learns from the members, so that a new one is open too."""
    world = World()
    (a,) = members(world, server.url, 1, breaker=Breaker(hard_failures=3, open_s=30))
    world.up = False
    await break_it(a)
    await asyncio.sleep(0.1)
    server.kill()
    server.start()
    await asyncio.sleep(0.8)
    (b,) = members(world, server.url, 1, breaker=Breaker(hard_failures=3, open_s=30))
    await until(lambda: state_of(b) == "open")
    await closed(a, b)


async def test_no_store_from_the_start() -> None:
    """A store that was never there is told, and the harness works alone."""
    events: list[Event] = []
    world = World()
    (a,) = members(world, "redis://127.0.0.1:1/0", 1, events, rate=Rate("1000/s"))
    assert (await a.call("ask", {})).ok
    world.up = False
    await break_it(a)
    world.up = True
    await asyncio.sleep(0.35)
    assert (await a.call("ask", {})).ok
    assert [event.name for event in events].count(EventName.STORE_TROUBLE) == 1
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


async def test_a_forgotten_harness_ends_its_thread() -> None:
    """A harness that nobody closed leaves no thread behind when it is collected."""

    def threads() -> int:
        return sum(thread.name == "failsoft-fleet" for thread in threading.enumerate())

    before = threads()
    harnesses = members(World(), MemoryFleet(), 1)
    assert threads() == before + 1
    gone = weakref.ref(harnesses[0]._shared)
    harnesses.clear()
    gc.collect()
    assert gone() is None
    await until(lambda: threads() == before)


async def test_a_client_that_swallows_a_cancel_is_ended() -> None:
    """Ending does not hang where a store's client takes a cancel for its own time-out."""

    class Stubborn(MemoryFleet):
        async def changes(self, since: int) -> Any:
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                pass
            return await super().changes(since)

    (a,) = members(World(), Stubborn(), 1)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(3):
        await a.aclose()


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
    await asyncio.sleep(0.05)
    assert asked == ["open"]
    await a.aclose()


@pytest.mark.server
@pytest.mark.slow
async def test_a_store_that_hangs_holds_nobody(server: Any) -> None:
    """A server that takes connections and does not answer costs one probe half a second, and then nothing."""
    events: list[Event] = []
    world = World()
    (a,) = members(world, server.url, 1, events)
    assert (await a.call("ask", {})).ok
    await asyncio.sleep(0.2)
    server.process.send_signal(signal.SIGSTOP)
    try:
        world.up = False
        await break_it(a)
        world.up = True
        await asyncio.sleep(0.31)
        began = time.monotonic()
        while not (await a.call("ask", {})).ok:
            assert time.monotonic() - began < 2
            await asyncio.sleep(0.01)
        assert time.monotonic() - began < 1
        await until(lambda: any(event.name is EventName.STORE_TROUBLE for event in events))
    finally:
        server.process.send_signal(signal.SIGCONT)
    await until(lambda: any(event.name is EventName.STORE_RECOVERED for event in events), 5)
    assert [event.name for event in events].count(EventName.STORE_TROUBLE) == 1
    await a.aclose()
