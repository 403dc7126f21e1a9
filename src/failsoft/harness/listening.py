"""Hearing what happens to the calls of one run while it happens, as a user interface must.

Nobody pays for it but while somebody listens: the list of sinks is exchanged for a longer one, and calls look for a
listener only where they are given a run.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from failsoft.telemetry import Fanout

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.events import Event, Sink
    from failsoft.harness.shared import Shared

__all__ = ["Listeners"]


class Listeners:
    """A sink that hands each event to those who listen to its run.

    Args:
        shared: Whose events they are; already without secrets when they come here.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._events = shared.events
        self._by_run: dict[str, tuple[Sink, ...]] = {}
        self._lock = threading.Lock()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._by_run

    def wants(self, level: int) -> bool:
        """Every level: a run is watched whole."""
        return True

    def __call__(self, event: Event) -> None:
        """Hand one event on."""
        if event.run_id is not None:
            for sink in self._by_run.get(event.run_id, ()):
                sink(event)

    def add(self, run_id: str, sink: Sink) -> Callable[[], None]:
        """Listen to a run; the returned function ends it."""
        with self._lock:
            if not self._by_run:
                self._events = self._shared.events
                self._shared.events = Fanout((_Usual(self._events), self), self._shared.redactor)
            self._by_run[run_id] = (*self._by_run.get(run_id, ()), sink)
        return lambda: self._remove(run_id, sink)

    def _remove(self, run_id: str, sink: Sink) -> None:
        with self._lock:
            left = tuple(one for one in self._by_run.get(run_id, ()) if one is not sink)
            if left:
                self._by_run[run_id] = left
            elif self._by_run.pop(run_id, None) is not None and not self._by_run:
                self._shared.events = self._events


class _Usual:
    """The sinks that there are anyway, as one."""

    def __init__(self, events: Fanout) -> None:
        self.wants = events.wants
        self._emit = events.emit

    def __call__(self, event: Event) -> None:
        self._emit(event)
