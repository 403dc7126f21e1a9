"""tenacity and a time-out by hand, where somebody has thought of retrying only the tools that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.chaos.systems import with_tenacity

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "tenacity + timeout, reads only"


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """As `with_tenacity`, without the decorator on tools that write."""
    return await with_tenacity.build(tools, clock, only_reads=True)
