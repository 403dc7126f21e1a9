"""What the server asks of a person in the middle of calls, whose time stands still meanwhile.

Over a pipe a question does not say to which call it belongs, so it stops the time of all calls of its session.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from failsoft.harness.live import LiveCall
from failsoft.harness.standstill import Standstill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.core.context import CallContext

__all__ = ["LONGEST_S", "Questions"]

# A client answers these after a person has; all others it answers itself.
_ASK_A_PERSON: Final = ("elicitation/create", "sampling/createMessage")

LONGEST_S: Final = 3600.0
"""Seconds after which a question without an answer does not stop the time any more."""


class Questions:
    """See the module."""

    __slots__ = ("_attempts", "_open")

    def __init__(self) -> None:
        self._open: dict[Any, asyncio.TimerHandle] = {}
        self._attempts: set[Standstill] = set()

    def opened(self, id: Any, method: Any) -> None:
        """The client was sent a request of the server's."""
        if method in _ASK_A_PERSON:
            self._open[id] = asyncio.get_running_loop().call_later(LONGEST_S, self.closed, id)
            for attempt in self._attempts:
                attempt.stop()

    def closed(self, id: Any) -> None:
        """It was answered, or taken back."""
        timer = self._open.pop(id, None)
        if timer is None:
            return
        timer.cancel()
        if not self._open:
            for attempt in self._attempts:
                attempt.go()

    def clear(self) -> None:
        """All of them are void."""
        for id in list(self._open):
            self.closed(id)

    @contextmanager
    def attempt(self, live: CallContext) -> Iterator[None]:
        """Around an attempt at the server."""
        if not isinstance(live, LiveCall):
            yield
            return
        still = Standstill(live)
        self._attempts.add(still)
        if self._open:
            still.stop()
        try:
            yield
        finally:
            self._attempts.discard(still)
            still.end()
