"""No system: the call is made, and what is raised goes to the model as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.chaos.systems._common import plain_loop

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "bare calls"
PACKAGES: tuple[str, ...] = ()


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """A table of functions."""
    return plain_loop({each.name: each.fn for each in tools})
