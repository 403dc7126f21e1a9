"""Finds event loops that are blocked, and the tool that blocks them.

A timer in the loop beats; a thread looks whether it still does. Nothing is done per call: the tool is found in
the stack of the blocked thread, where the runtime's own frames hold the `CallContext`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from failsoft.core.context import CallContext
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

__all__ = ["ADVICE", "Blocked", "Watchdog", "WatchdogStats", "call_in_frames"]

log = logging.getLogger("failsoft.isolation")

ADVICE = (
    "An async tool must not block: await instead, or make it a plain function (it then runs in a thread), "
    "or declare isolation='thread' or isolation='process'."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """One blockage of an event loop.

    Args:
        tool: Name of the tool that blocks; None where no call was found in the stack.
        call: The call that blocks.
        blocked_s: Seconds since the loop last went on, when this was noticed.
        where: File and line that is executed, for the operator.
        advice: What to do about it.
    """

    tool: str | None
    call: CallContext | None
    blocked_s: float
    where: str
    advice: str = ADVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogStats:
    """What a `Watchdog` has seen.

    Args:
        blocked: How many blockages.
        worst_s: Longest one, in seconds.
        tools: How many by tool; those without a tool under `""`.
    """

    blocked: int
    worst_s: float
    tools: Mapping[str, int] = field(default_factory=dict)


def call_in_frames(frame: FrameType | None) -> CallContext | None:
    """The innermost `CallContext` among the local variables of a stack of frames."""
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, CallContext):
                return value
        frame = frame.f_back
    return None


_NOBODY = object()


class _Pulse:
    """The beat of one event loop."""

    __slots__ = ("at", "every_s", "handle", "loop", "reported", "suspect", "thread_id", "watchdog")

    def __init__(self, loop: asyncio.AbstractEventLoop, watchdog: Watchdog, every_s: float) -> None:
        self.loop = weakref.ref(loop)
        self.watchdog = watchdog
        self.every_s = every_s
        self.thread_id = threading.get_ident()
        self.at = time.monotonic()
        self.reported = False
        self.suspect: object = _NOBODY
        self.handle: Any = loop.call_later(every_s, self.beat)

    def beat(self) -> None:
        now = time.monotonic()
        if self.reported:
            self.watchdog._recovered(now - self.at)
        self.at, self.reported, self.suspect = now, False, _NOBODY
        loop = self.loop()
        if loop is not None:
            self.handle = loop.call_later(self.every_s, self.beat)


class Watchdog:
    """Watches event loops from a thread of its own, which exists only while there is a loop to watch.

    Args:
        on_blocked: Called once for each blockage, from the watching thread. What it raises is logged.
        threshold_s: Seconds without progress that count as blocked.
        find_call: Finds the call in the stack of the blocked thread.
    """

    def __init__(
        self,
        on_blocked: Callable[[Blocked], object],
        *,
        threshold_s: float = 0.5,
        find_call: Callable[[FrameType | None], CallContext | None] = call_in_frames,
    ) -> None:
        if threshold_s <= 0:
            raise UsageError(f"threshold_s must be more than 0, got {threshold_s!r}")
        self._on_blocked = on_blocked
        self._threshold_s = threshold_s
        self._find_call = find_call
        self._lock = threading.Lock()
        self._pulses: list[_Pulse] = []
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._worst_s, self._tools = 0.0, dict[str, int]()

    def watch(self) -> None:
        """Watch the running event loop; does nothing where it is watched already."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if any(pulse.loop() is loop for pulse in self._pulses):
                return
            self._pulses.append(_Pulse(loop, self, self._threshold_s / 4))
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._look, name="failsoft-watchdog", daemon=True)
                self._thread.start()

    def unwatch(self) -> None:
        """Stop watching the running event loop; the thread ends with the last one."""
        loop, thread = asyncio.get_running_loop(), None
        with self._lock:
            for pulse in [pulse for pulse in self._pulses if pulse.loop() is loop]:
                pulse.handle.cancel()
                self._pulses.remove(pulse)
            if not self._pulses:
                thread, self._thread = self._thread, None
                self._wake.set()
        if thread is not None:
            thread.join(0.1)

    def _look(self) -> None:
        while not self._wake.wait(self._threshold_s / 4):
            with self._lock:
                self._pulses = [pulse for pulse in self._pulses if self._lives(pulse)]
                if not self._pulses:
                    self._thread = None
                    return
                pulses = list(self._pulses)
            now = time.monotonic()
            for pulse in pulses:
                if not pulse.reported and now - pulse.at > self._threshold_s / 2:
                    self._suspect(pulse, now - pulse.at)

    def _lives(self, pulse: _Pulse) -> bool:
        loop = pulse.loop()
        if loop is None or loop.is_closed():
            return False
        if not loop.is_running():
            pulse.at = time.monotonic()  # between two runs nothing beats, and nothing is blocked
        return True

    def _suspect(self, pulse: _Pulse, blocked_s: float) -> None:
        """Report a call that is found at two looks; a loop with many short calls in a row is busy, and none of them is to blame."""
        frame = sys._current_frames().get(pulse.thread_id)
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
        call = self._find_call(frame)
        del frame  # a frame kept here would keep the tool's local values alive
        found_before, pulse.suspect = pulse.suspect is call, call
        if found_before and blocked_s > self._threshold_s:
            self._report(pulse, call, blocked_s, where)

    def _report(self, pulse: _Pulse, call: CallContext | None, blocked_s: float, where: str) -> None:
        pulse.reported, pulse.suspect = True, _NOBODY
        tool = None if call is None else call.name
        with self._lock:
            self._worst_s = max(self._worst_s, blocked_s)
            self._tools[tool or ""] = self._tools.get(tool or "", 0) + 1
        try:
            self._on_blocked(Blocked(tool=tool, call=call, blocked_s=blocked_s, where=where))
        except Exception:
            log.exception("reporting a blocked event loop failed")

    def _recovered(self, blocked_s: float) -> None:
        with self._lock:
            self._worst_s = max(self._worst_s, blocked_s)

    def stats(self) -> WatchdogStats:
        """Counts as of now."""
        with self._lock:
            return WatchdogStats(
                blocked=sum(self._tools.values()), worst_s=self._worst_s, tools=dict(self._tools)
            )

    def __repr__(self) -> str:
        return f"Watchdog(threshold_s={self._threshold_s}, {self.stats()!r})"
