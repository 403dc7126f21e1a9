"""failsoft: the default policy; each body makes one request, so it is declared atomic (docs/reference/tools.md)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from failsoft import Harness, Tool

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "failsoft"
PACKAGES = ("failsoft",)


def prepare(tools: list[WorldTool]) -> list[Tool[..., Any]]:
    """The tools, with what they do to the world."""
    return [
        Tool.from_schema(
            each.name,
            each.schema,
            each.fn,
            description=each.description,
            read_only=each.read_only,
            idempotent=each.idempotent,
            atomic=True,
        )
        for each in tools
    ]


async def build(made: list[Tool[..., Any]], clock: VirtualClock) -> Call:
    """One harness and one run."""
    harness = Harness(made, store="memory", clock=clock, config=None, rng=random.Random(random.random()))
    run = harness.run()

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        result = await run.call(name, arguments)
        return str(result.content), not result.ok

    return call
