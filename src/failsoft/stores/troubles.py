"""Who is told of what a store could not write in the background, and how much that was."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from failsoft.stores.connection import StoreStats, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Troubles"]

_log = logging.getLogger("failsoft.stores")


class Troubles:
    """Counts and listeners of one store.

    Args:
        name: The store's, for the log.
    """

    def __init__(self, name: str) -> None:
        self.on_trouble: Callable[[Trouble], object] | None = None
        self._name = name
        self._listeners: tuple[Callable[[Trouble], object], ...] = ()
        self._lock = threading.Lock()
        self._pending = self._lost = self._journal_lost = 0

    def listen(self, told: Callable[[Trouble], object]) -> Callable[[], None]:
        """Tell one more of every trouble, and of its end; the returned function takes that back."""
        with self._lock:
            self._listeners = (*self._listeners, told)

        def stop() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not told)

        return stop

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def stats(self) -> StoreStats:
        """Counts, so far."""
        return StoreStats(pending=self._pending, lost=self._lost, journal_lost=self._journal_lost)

    def note_kept(self, count: int) -> None:
        """How much waits to be tried again."""
        self._pending = count

    def note(
        self, what: str, count: int, error: BaseException | None = None
    ) -> list[tuple[Callable[[Trouble], object], Trouble]]:
        """Count it, and give the calls that tell of it, for a moment when no lock is held."""
        trouble = Trouble(what=what, count=count, error=error)
        if what == "settlement_lost":
            self._lost += count
        elif what == "journal_lost":
            self._journal_lost += count
        if not self._listeners:  # theirs have a log of their own
            level = logging.INFO if trouble.is_over else logging.ERROR
            _log.log(level, "store %s: %s (%d): %s", self._name, what, count, error)
        told = [(listener, trouble) for listener in self._listeners]
        if self.on_trouble is not None and not trouble.is_over:
            told.append((self.on_trouble, trouble))
        return told
