"""Clocks that jump while a call is at work, and harnesses that share one store."""

import asyncio
import time
from pathlib import Path

from failsoft import Harness, tool
from failsoft.core.clock import SystemClock
from failsoft.stores import open_store
from failsoft.stores.sqlite import SQLiteStore


class Jumping(SystemClock):
    """The machine's clock, whose time of day can be put forward."""

    ahead_s = 0.0

    def wall(self) -> float:
        return time.time() + self.ahead_s


async def test_a_call_that_runs_here_is_joined_whatever_the_clock_says() -> None:
    """A machine that slept does not make a doubt of it, and `verify` is not asked while it runs."""
    clock, go, ran = Jumping(), asyncio.Event(), []

    def was_paid(order: int):
        raise AssertionError("nobody asks while it runs")

    @tool(read_only=False, verify=was_paid)
    async def pay(order: int) -> str:
        ran.append(order)
        await go.wait()
        return "receipt"

    store = open_store("memory", wall=clock.wall)
    async with Harness([pay], store=store, clock=clock) as harness:
        first = asyncio.ensure_future(harness.call("pay", {"order": 1}, run="r"))
        while not ran:
            await asyncio.sleep(0)
        clock.ahead_s = 7200.0
        second = asyncio.ensure_future(harness.call("pay", {"order": 1}, run="r"))
        await asyncio.sleep(0.01)
        assert len(await harness.recover()) == 1
        go.set()
        results = await asyncio.gather(first, second)
        assert await harness.doubts() == []
    assert [result.value for result in results] == ["receipt", "receipt"]
    assert results[1].joined
    assert ran == [1]


async def test_the_last_harness_closes_a_store_that_several_share(tmp_path: Path) -> None:
    """The others go on with the connection that they have."""

    @tool(read_only=False)
    async def pay(order: int) -> str:
        return "receipt"

    store = SQLiteStore(tmp_path / "failsoft.db")
    first, second = Harness([pay], store=store, name="a"), Harness([pay], store=store, name="b")
    for harness in (first, second):
        assert (await harness.call("pay", {"order": 1}, run="r")).ok
    connection = store._writer._connection
    await first.aclose()
    assert (await second.call("pay", {"order": 2}, run="r")).ok
    assert store._writer._connection is connection
    await second.aclose()
    assert store._writer._connection is None
    assert [file.name for file in tmp_path.iterdir()] == ["failsoft.db"]
