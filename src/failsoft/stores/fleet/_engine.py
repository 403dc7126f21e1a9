"""The line to a fleet's store: a thread with a loop of its own, so that no call waits for it but one that would probe.

Messages bring changes at once; a heartbeat brings those that a broken line has lost, and finds out when the store is
back. Trouble is told once, until it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.stores.fleet.port import FleetError

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Awaitable, Callable, Coroutine

    from failsoft.stores.fleet.port import FleetStore, SharedBreaker

__all__ = ["HEARTBEAT_S", "Engine"]

T = TypeVar("T")

log = logging.getLogger("failsoft.stores")
HEARTBEAT_S = 0.5
"""Longest time for which a process may not know of a change, while the store answers."""
_BACK_S = 0.2
_STEADY_S = 1.0
_INSIST_S = 0.2
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine:
    """Keeps the line.

    Args:
        opener: Makes the store, on the engine's loop.
        hear: Takes each change of others.
        sync: Brings both sides together; called at each heartbeat, after `ring()`, and with True after the line broke.
        tell: Told of trouble (False, and what) and of its end (True).
        forked: Called in a forked child before it begins anew.
    """

    def __init__(
        self,
        opener: Callable[[], FleetStore],
        *,
        hear: Callable[[SharedBreaker], object],
        sync: Callable[[FleetStore, bool], Awaitable[None]],
        tell: Callable[[bool, str], object],
        forked: Callable[[], object],
    ) -> None:
        self._opener, self._hear, self._sync, self._tell, self._forked = opener, hear, sync, tell, forked
        self.up = True
        self._told = self._missed = False
        self._up_since = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._main: asyncio.Task[None] | None = None
        self._rung: asyncio.Event
        self._store: FleetStore
        _engines.add(self)

    def start(self) -> None:
        """Begin, in the background.

        Raises:
            UsageError: There can be no such store.
        """
        self._store = self._opener()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="failsoft-fleet", daemon=True)
        self._thread.start()
        ready.wait()

    def ring(self) -> None:
        """There is something to send; from any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it was stopped at this moment
                loop.call_soon_threadsafe(self._rung.set)

    def later(self, delay_s: float, work: Callable[[], object]) -> None:
        """Do something in the background after a while; from any thread. Not at all when the engine stops before."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.call_later, delay_s, work)

    def submit(self, work: Callable[[FleetStore], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Ask the store something, on the engine's loop; from any thread.

        Raises:
            FleetError: The engine is stopped. The future raises it for trouble.
        """
        loop = self._loop
        if loop is None:
            raise FleetError("the fleet's line is closed")
        coroutine = self._asked(work)
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError as exc:
            coroutine.close()
            raise FleetError("the fleet's line is closed") from exc

    async def aclose(self, farewell: Callable[[FleetStore], Awaitable[None]]) -> None:
        """Stop: say farewell if the store is there, let go of it, end the thread. Runs on any loop but its own."""
        loop, self._loop = self._loop, None
        thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        done = asyncio.run_coroutine_threadsafe(self._end(farewell), loop)
        await asyncio.wait([asyncio.wrap_future(done)])
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)

    def abandon(self) -> None:
        """Stop without waiting for it: nobody is there any more who could. From any thread."""
        loop, self._loop, self._thread = self._loop, None, None
        if loop is not None:
            done = asyncio.run_coroutine_threadsafe(self._end(_nothing), loop)
            done.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))

    # ---- in the background ----

    def _serve(self, ready: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        self._rung = asyncio.Event()
        self._loop = loop
        self._main = loop.create_task(self._keep())
        loop.call_soon(ready.set)
        try:
            loop.run_forever()
        finally:
            loop.close()

    async def _keep(self) -> None:
        """Listen and synchronize until cancelled."""
        listener: asyncio.Task[None] | None = None
        try:
            while True:
                if listener is None or listener.done():
                    listener = self._listen_again(listener)
                self._rung.clear()
                with contextlib.suppress(FleetError):
                    await self._asked(self._sync_once)
                    self._recovered()
                pause_s = HEARTBEAT_S if self.up else _BACK_S * (0.5 + random.random())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._rung.wait()
        finally:
            if listener is not None:
                await _ended(listener)

    async def _sync_once(self, store: FleetStore) -> None:
        missed = self._missed or not self.up
        await self._sync(store, missed)
        self._missed = False

    def _listen_again(self, ended: asyncio.Task[None] | None) -> asyncio.Task[None]:
        if ended is not None:
            # Messages were missed, and a server that came back within a moment has perhaps forgotten everything.
            self._missed = True
            if not ended.cancelled():
                log.debug("the fleet's messages stopped: %s", ended.exception())
        task = asyncio.ensure_future(self._store.listen(self._hear))
        began = time.monotonic()

        def look(_: object) -> None:
            # A line that breaks is the first sign of a lost store. One that never held is left to the heartbeat.
            if self.up and time.monotonic() - began > HEARTBEAT_S:
                self._rung.set()

        task.add_done_callback(look)
        return task

    async def _asked(self, work: Callable[[FleetStore], Awaitable[T]]) -> T:
        try:
            return await work(self._store)
        except FleetError as exc:
            self._troubled(exc)
            raise
        except Exception as exc:
            log.exception("the fleet's line failed in a way that is not known")
            self._troubled(exc)
            raise FleetError(str(exc)) from exc

    def _troubled(self, exc: Exception) -> None:
        self.up = False
        if not self._told:
            self._told = True
            self._tell(False, str(exc))

    def _recovered(self) -> None:
        """It is used at once, but told only when it has answered for a while: a store that flickers is one trouble."""
        if not self.up:
            self.up = True
            self._up_since = time.monotonic()
        if self._told and time.monotonic() - self._up_since >= _STEADY_S:
            self._told = False
            self._tell(True, "")

    async def _end(self, farewell: Callable[[FleetStore], Awaitable[None]]) -> None:
        if self._main is not None:
            await _ended(self._main)
        with contextlib.suppress(FleetError):
            if self.up:
                await farewell(self._store)
        with contextlib.suppress(FleetError, OSError):
            await self._store.aclose()

    def after_fork(self) -> None:
        """In a child: the thread is gone and the connection is the parent's; begin anew."""
        if self._thread is not None:
            self._loop, self.up, self._told = None, True, False
            self._forked()
            self.start()


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: a client may swallow a cancel that comes at the moment of its own time-out."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_INSIST_S)
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that nobody did


async def _nothing(store: FleetStore) -> None:
    """Nothing to say."""


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
