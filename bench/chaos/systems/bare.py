"""No system: the call is made, and what is raised goes to the model as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "bare calls"


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """A table of functions."""
    table = {each.name: each.fn for each in tools}

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        try:
            if name not in table:
                return f"Error: {name} is not a valid tool, try one of {', '.join(table)}.", True
            return await table[name](**json.loads(arguments)), False
        except Exception as exc:
            return f"Error: {exc!r}", True

    return call
