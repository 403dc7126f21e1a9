"""The quick lane's memory of one turn of one event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.stores.jobs import Job

__all__ = ["Lane"]

_AT_ONCE = 2


class Lane:
    """What the tasks of one loop have asked for during one turn of it."""

    __slots__ = ("alone", "is_crowded", "jobs", "left", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.jobs: list[Job] = []
        self.alone: asyncio.Task[Any] | None = None
        self.left = 0
        self.is_crowded = False

    def is_alone(self) -> bool:
        """Whether the task may go at once; each turn allows it twice, so that it cannot keep the loop to itself."""
        task = asyncio.current_task()
        if self.alone is None and not self.jobs and not self.is_crowded:
            self.alone, self.left = task, _AT_ONCE
            self.loop.call_soon(self._end_turn)
        if self.alone is not task or not self.left or self.jobs:
            return False
        self.left -= 1
        return True

    def _end_turn(self) -> None:
        self.alone = None
