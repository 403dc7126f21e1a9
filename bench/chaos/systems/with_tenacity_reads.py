"""tenacity and a time-out by hand, where somebody has thought of retrying only what can be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.chaos.systems._common import plain_loop
from bench.chaos.systems.with_tenacity import limited, retried

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "tenacity + timeout, reads only"
PACKAGES = ("tenacity",)


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """As `with_tenacity`, without the decorator on tools that may not be repeated."""
    table = {each.name: limited(each.fn) for each in tools}
    return plain_loop(table | {each.name: retried(table[each.name]) for each in tools if each.idempotent})
