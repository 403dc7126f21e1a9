"""The systems under test, a file each, set up as the system's own documentation advises for production.

To add one: a module in this folder with

    TITLE = "what the tables call it"
    PACKAGES = ("what", "it", "needs")
    async def build(tools: list[WorldTool], clock: VirtualClock) -> Call

`build` is called once for each task. `Call` takes a tool's name and the arguments as the text that a model sent, and
returns what the model reads and whether that is an error. It must not raise. Time is virtual: wait with `asyncio.sleep`.
A module may have `prepare(tools)`, called once for each domain and process; `build` gets what it gave in place of the tools.
A module whose packages are not installed raises `ModuleNotFoundError` when it is imported, and is left out.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from typing import Any

from bench.chaos.world import WorldTool

__all__ = ["Call", "WorldTool", "systems"]

Call = Callable[[str, str], Awaitable[tuple[str, bool]]]


def systems() -> dict[str, Any]:
    """The modules that can be imported here, by name; those that begin with an underscore are shared parts."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        try:
            found[info.name] = importlib.import_module(f"{__name__}.{info.name}")
        except ModuleNotFoundError:
            continue
    return found
