"""The quick lane's memory of one turn of one event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.stores.jobs import Job

__all__ = ["Lane"]

# A loop that serves others too may be kept from them for so long by one task, beyond the commit that it waits for.
_AT_ONCE_S = 0.001


class Lane:
    """What the tasks of one loop have asked for during one turn of it."""

    __slots__ = ("alone", "is_crowded", "jobs", "left_s", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.jobs: list[Job] = []
        self.alone: asyncio.Task[Any] | None = None
        self.left_s = 0.0
        self.is_crowded = False

    def is_alone(self) -> bool:
        """Whether the task may go at once; each turn allows it a millisecond, so that it cannot keep the loop to itself.

        Whoever goes takes what it took off `left_s`.
        """
        task = asyncio.current_task(self.loop)
        if self.alone is None and not self.jobs and not self.is_crowded:
            self.alone, self.left_s = task, _AT_ONCE_S
            self.loop.call_soon(self._end_turn)
        return self.alone is task and self.left_s > 0.0 and not self.jobs

    def _end_turn(self) -> None:
        self.alone = None
