"""A run, watched while it goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from failsoft.agent.outcome import Outcome
    from failsoft.core.events import Event

__all__ = ["AgentStream"]


class AgentStream:
    """The events of one run, in order; iterate it once. `outcome` is there when the events are over.

    The run begins with the iteration, in a task of its own. Whoever stops early closes it (`async with`, or
    `aclose()`): that cancels the run, and its calls settle as after any cancel.

    Args:
        start: Begins the run and hands its events to a listener.
    """

    def __init__(self, start: Callable[[Callable[[Event], object]], Coroutine[Any, Any, Outcome]]) -> None:
        self._start = start
        self._task: asyncio.Task[Outcome] | None = None
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    @property
    def outcome(self) -> Outcome:
        """How the run ended.

        Raises:
            UsageError: It has not ended yet.
        """
        if self._task is None or not self._task.done():
            raise UsageError(
                "the run has not ended yet\n\nhint: read all events first, or await stream.wait()"
            )
        return self._task.result()

    async def wait(self) -> Outcome:
        """Read on to the end, and give the outcome.

        Raises:
            BaseException: What `agent.run` raises.
        """
        async for _ in self:
            pass
        return self.outcome

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        event = None if self._task.done() and self._queue.empty() else await self._queue.get()
        if event is None:
            await self._task
            raise StopAsyncIteration
        return event

    async def _run(self) -> Outcome:
        try:
            return await self._start(self._queue.put_nowait)
        finally:
            self._queue.put_nowait(None)

    async def aclose(self) -> None:
        """Cancel the run where it still goes on, and wait until its calls have settled."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        state = "new" if self._task is None else "ended" if self._task.done() else "running"
        return f"AgentStream({state})"
