"""A service that is up or down, and harnesses that share it."""

import asyncio
import time
from typing import Any

from failsoft.core.errors import Unavailable
from failsoft.core.events import Event
from failsoft.core.results import ToolResult
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Retry
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


def has_heard(harness: Harness, member: str) -> bool:
    """Whether the news of a breaker have come, also where the harness has no such breaker yet."""
    return member in harness._fleet._known  # type: ignore[union-attr]


async def served(harness: Harness, within_s: float = 1.0) -> ToolResult:
    """What the service answers in the end: a lease that was given back takes a moment to be free."""
    async with asyncio.timeout(within_s):
        while not (result := await harness.call("ask", {})).ok:
            await asyncio.sleep(0.01)
    return result


async def break_it(harness: Harness) -> ToolResult:
    for _ in range(3):
        result = await harness.call("ask", {})
    return result


async def closed(*harnesses: Harness) -> None:
    for harness in harnesses:
        await harness.aclose()
