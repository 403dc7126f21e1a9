"""One event to many sinks: redacted once, and no sink can break a call or another sink.

Sinks run in the caller's thread and must not block. One that writes to a network or a slow disk goes behind `QueueSink`.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from failsoft.core.events import Event, Sink

__all__ = ["Fanout", "QueueSink"]

_log = logging.getLogger("failsoft.telemetry")


class _Redactor(Protocol):
    """What cleans an event; `failsoft.feedback.Redactor` does."""

    def event(self, event: Event) -> Event:
        """A copy without secrets."""
        ...


class Fanout:
    """Hands each event to every sink that wants it.

    Args:
        sinks: Callables that take an event; one with `wants(level)` is asked first.
        redactor: Cleans each event once, before the first sink; None leaves events as they are.
    """

    __slots__ = ("_asks", "_broken", "_redactor", "_sinks", "_takes_all", "wants")

    def __init__(self, sinks: Iterable[Sink] = (), redactor: _Redactor | None = None) -> None:
        self._sinks = tuple(sinks)
        self._redactor = redactor
        self._asks = tuple(getattr(sink, "wants", None) for sink in self._sinks)
        self._takes_all = any(ask is None for ask in self._asks)
        self._broken: set[int] = set()
        # Asked by every call: with one sink its own answer is given, without a step in between.
        only = self._asks[0] if len(self._asks) == 1 else None
        self.wants: Callable[[int], bool] = self._any_wants if only is None else only
        """Whether any sink would take an event of this level; to be asked before an event is made."""

    def _any_wants(self, level: int) -> bool:
        if self._takes_all:
            return True
        for ask in self._asks:  # noqa: SIM110 - a generator would cost every call 0.3 µs
            if ask is not None and ask(level):
                return True
        return False

    def emit(self, event: Event) -> None:
        """Clean one event and hand it on. Never raises an `Exception`."""
        if not self.wants(event.level):
            return
        if self._redactor is not None:
            try:
                event = self._redactor.event(event)
            except Exception as exc:
                # An event that could not be cleaned is not shown to anybody.
                self._complain(-1, "the redactor", exc)
                return
        for index, sink in enumerate(self._sinks):
            ask = self._asks[index]
            try:
                if ask is None or ask(event.level):
                    sink(event)
            except Exception as exc:
                self._complain(index, repr(sink), exc)

    def _complain(self, index: int, who: str, exc: Exception) -> None:
        """Once per sink: a broken sink must not fill the log that tells of it. The text of `exc` may hold secrets."""
        if index in self._broken:
            return
        self._broken.add(index)
        with contextlib.suppress(Exception):
            _log.error("%s raised %s; further failures of it are not logged", who, type(exc).__name__)

    def __repr__(self) -> str:
        return f"Fanout({list(self._sinks)!r})"


class QueueSink:
    """Hands events over to a thread of its own, so that a slow sink costs the call a queue entry.

    When the queue is full, events are dropped and counted: losing a log line is better than holding up a call.

    Args:
        sink: The slow sink.
        max_events: Most events that wait.
    """

    def __init__(self, sink: Sink, max_events: int = 10_000) -> None:
        self._sink = sink
        self._queue: queue.Queue[Event | None] = queue.Queue(max_events)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._failed = False
        self.dropped = 0

    def wants(self, level: int) -> bool:
        """What the sink behind it says; True where it says nothing."""
        ask = getattr(self._sink, "wants", None)
        return True if ask is None else bool(ask(level))

    def __call__(self, event: Event) -> None:
        """Queue one event; never blocks."""
        if self._thread is None:
            self._start()
        try:
            if self._closed:
                raise queue.Full
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def close(self, timeout_s: float = 5.0) -> bool:
        """Stop taking events, and wait for those that are queued.

        Returns:
            Whether all were handed over within `timeout_s` seconds.
        """
        self._closed = True
        thread = self._thread
        if thread is None:
            return True
        try:
            self._queue.put(None, timeout=timeout_s)
        except queue.Full:
            return False
        thread.join(timeout_s)
        return not thread.is_alive()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="failsoft-sink", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while (event := self._queue.get()) is not None:
            try:
                self._sink(event)
            except Exception as exc:
                if not self._failed:
                    self._failed = True
                    _log.error(
                        "%r raised %s; further failures of it are not logged", self._sink, type(exc).__name__
                    )

    def __repr__(self) -> str:
        return f"QueueSink({self._sink!r}, waiting={self._queue.qsize()}, dropped={self.dropped})"
