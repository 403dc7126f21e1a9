"""failsoft: the default policy; each body makes one request, so it is declared atomic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft import Harness, Tool

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "failsoft"


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """One harness and one run."""
    made = [
        Tool.from_schema(
            each.name,
            each.schema,
            each.fn,
            description=each.description,
            read_only=each.read_only,
            idempotent=each.read_only,
            atomic=True,
        )
        for each in tools
    ]
    harness = Harness(made, store="memory", clock=clock, config=None)
    run = harness.run()

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        result = await run.call(name, arguments)
        return str(result.content), not result.ok

    return call
