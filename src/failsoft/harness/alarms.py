"""Attempt time-outs: one timer a loop and time-out value, shared by all attempts that have it.

`asyncio.timeout` costs 5 µs an attempt and `call_later` + `cancel` 3 µs, nearly all of it for timers that never fire.
Attempts that share one time-out value fall due in the order in which they begin,
so one insertion-ordered dict and one timer serve all of them for 0.2 µs.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Alarm", "AlarmQueue", "AlarmQueues", "Held", "LoneAlarm"]

Held = dict["Alarm", bool]
"""Who is at work (True) or waits (False) without being in a queue of alarms; for the end of a harness."""


class Alarm:
    """What must end by `due`, in a task that it may cancel. A base of the live call: an object of its own cost 0.3 µs.

    One attempt at a time: `set` before its body, `settle` after it. Whoever fires takes the alarm out of its queue first,
    so that an alarm of an ended attempt never reaches the next one.
    """

    fired: bool
    task: asyncio.Task[Any] | None
    due: float
    cancels_before: int
    alone: LoneAlarm | None = None

    def set(self, task: asyncio.Task[Any], due: float) -> None:
        """Begin an attempt."""
        self.task = task
        self.due = due
        self.cancels_before = task.cancelling()

    def fire(self) -> None:
        """Cancel the task, once."""
        if not self.fired and self.task is not None:
            self.fired = True
            self.task.cancel()

    def settle(self) -> None:
        """Take back the one cancel that was ours; called once, after the body has ended, if it `fired`."""
        assert self.task is not None
        self.task.uncancel()

    def missed_cancel(self) -> bool:
        """After the attempt: whether somebody cancelled the task meanwhile and the body kept that to itself."""
        return self.task is not None and self.task.cancelling() > self.cancels_before

    def is_callers_cancel(self) -> bool:
        """After `settle()`: whether a CancelledError out of the body was asked for by somebody else.

        Without a cancel of ours, any pending request counts as the caller's: taking one for a leaked error of the
        tool's would swallow it. Before the first attempt there is no cancel but the caller's.
        """
        return self.task is None or self.task.cancelling() > (self.cancels_before if self.fired else 0)


class AlarmQueue:
    """All armed attempts of one time-out value on one loop; insertion order is due order."""

    __slots__ = ("_now", "_pending", "_ticking", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float]) -> None:
        self.loop = weakref.ref(loop)
        self._now = now
        self._pending: dict[Alarm, None] = {}
        # A flag and not the handle: a handle holds its loop, and this queue must not keep a closed loop alive.
        self._ticking = False

    def arm(self, alarm: Alarm, task: asyncio.Task[Any], due: float, loop: asyncio.AbstractEventLoop) -> None:
        """Begin an attempt and watch it."""
        alarm.task, alarm.due, alarm.cancels_before = task, due, task.cancelling()
        self._pending[alarm] = None
        if not self._ticking:
            self._ticking = True
            loop.call_later(due - self._now(), self._fire)

    def disarm(self, alarm: Alarm) -> None:
        """Stop watching and take our cancel back, if there was one; the shared timer stays until it fires."""
        self._pending.pop(alarm, None)
        if alarm.fired:
            alarm.settle()

    def drop(self, alarm: Alarm) -> None:
        """Stop watching; the attempt goes on."""
        self._pending.pop(alarm, None)

    def _fire(self) -> None:
        self._ticking = False
        loop, now = self.loop(), self._now()
        # A copy: `next(iter(dict))` in a loop is quadratic over the places of removed entries.
        for alarm in list(self._pending):
            if alarm.due > now:
                if loop is not None:
                    self._ticking = True
                    loop.call_later(alarm.due - now, self._fire)
                return
            del self._pending[alarm]
            alarm.fire()


class AlarmQueues:
    """The queues of one time-out value, one a loop. Threads with loops of their own never share one."""

    __slots__ = ("_lock", "_now", "_queues", "last", "on_loop")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AlarmQueue] = (
            weakref.WeakKeyDictionary()
        )
        # The one that was asked for last, or None: whoever reads it once and sees its own loop is done.
        self.last: AlarmQueue | None = None
        # Called in each event loop that is used for the first time.
        self.on_loop: Callable[[], object] | None = None

    def of(self, loop: asyncio.AbstractEventLoop) -> AlarmQueue:
        """The queue of that loop."""
        with self._lock:
            queue = self._queues.get(loop)
            if queue is None:
                queue = self._queues[loop] = AlarmQueue(loop, self._now)
                if self.on_loop is not None:
                    self.on_loop()
        self.last = queue
        return queue

    def armed(self) -> list[Alarm]:
        """All attempts that are being watched, on all loops."""
        with self._lock:
            return [alarm for queue in self._queues.values() for alarm in list(queue._pending)]


class LoneAlarm:
    """The timer of one attempt that shares its due time with no other, and may be put off by progress.

    Args:
        alarm: What is due; its `due` is the latest end.
        idle_s: Longest silence in seconds; None for no such limit.
        now: Tells monotonic time.
        loop: Where to wait.
        held: Where to be found meanwhile.
    """

    __slots__ = ("_alarm", "_handle", "_held", "_idle_s", "_loop", "_now", "_touched")

    def __init__(
        self,
        alarm: Alarm,
        idle_s: float | None,
        now: Callable[[], float],
        loop: asyncio.AbstractEventLoop,
        held: Held,
    ) -> None:
        self._alarm, self._idle_s, self._now, self._loop = alarm, idle_s, now, loop
        self._touched = now()
        self._held = held
        held[alarm] = True
        alarm.alone = self
        self._handle = loop.call_later(self._end() - self._touched, self._ring)

    def touch(self) -> None:
        """There was progress; from any thread: one assignment."""
        self._touched = self._now()

    def disarm(self, alarm: Alarm) -> None:
        """Stop watching and take our cancel back, if there was one."""
        self.stop()
        alarm.alone = None
        if alarm.fired:
            alarm.settle()

    def stop(self) -> None:
        """Stop watching; the attempt goes on."""
        self._handle.cancel()
        self._held.pop(self._alarm, None)

    def _end(self) -> float:
        due = self._alarm.due
        return due if self._idle_s is None else min(due, self._touched + self._idle_s)

    def _ring(self) -> None:
        left = self._end() - self._now()
        if left <= 0:
            self._alarm.fire()
        else:
            self._handle = self._loop.call_later(left, self._ring)
