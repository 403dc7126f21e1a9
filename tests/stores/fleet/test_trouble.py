"""A fleet whose store hangs, dies, forgets, or was never there."""

import asyncio
import gc
import signal
import threading
import time
import weakref
from typing import Any

import pytest

from failsoft.core.events import Event, EventName
from failsoft.policies import Breaker, Rate
from failsoft.stores.fleet.memory import MemoryFleet
from tests.stores.fleet.world import World, break_it, closed, members, state_of, until


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
