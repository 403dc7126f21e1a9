"""The systems under test, a file each, set up as the system's own documentation advises for production.

To add one: a module in this folder with

    TITLE = "what the tables call it"
    async def build(tools: list[WorldTool], clock: VirtualClock) -> Call

`build` is called once for each task. `Call` takes a tool's name and the arguments as the text that a model sent, and
returns what the model reads and whether that is an error. It must not raise. Time is virtual: wait with `asyncio.sleep`.
A module whose packages are not installed raises `ModuleNotFoundError` when it is imported, and is left out.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "WorldTool", "systems"]

Call = Callable[[str, str], Awaitable[tuple[str, bool]]]


@dataclass(frozen=True, kw_only=True)
class WorldTool:
    """One tool of the task.

    Args:
        name: Its name.
        description: For the model.
        schema: JSON Schema of its arguments.
        read_only: Whether it changes nothing.
        fn: Makes one request; takes the arguments as keywords, gives text, raises what an HTTP client raises.
    """

    name: str
    description: str
    schema: dict[str, Any]
    read_only: bool
    fn: Callable[..., Awaitable[str]]


def systems() -> dict[str, Any]:
    """The modules that can be imported here, by name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        try:
            found[info.name] = importlib.import_module(f"{__name__}.{info.name}")
        except ModuleNotFoundError:
            continue
    return found
