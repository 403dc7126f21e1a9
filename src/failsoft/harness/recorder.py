"""The sink that feeds a store's journal, where the store outlives the process.

A harness whose store is memory has none: its calls pay nothing, and there would be nobody to read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from failsoft.core.events import Event, EventName
from failsoft.stores.engine import EngineStore
from failsoft.stores.memory import MemoryStore

if TYPE_CHECKING:
    from failsoft.core.clock import Clock
    from failsoft.harness.live import LiveCall
    from failsoft.ledger.port import LedgerStore
    from failsoft.stores.journal import Journal

__all__ = ["FinishedCall", "Recorder", "recorder_for"]

_MOST_RUNS = 10_000


class FinishedCall:
    """A `call_finished` event with nothing in it that could be a secret: it takes no redaction, and not even an `Event`.

    Making and cleaning an `Event` costs a call 10 µs, this one 1 µs; it has the fields that a journal reads.
    """

    __slots__ = ("at", "attempt", "call_id", "duration_s", "run_id", "tool")

    name = EventName.CALL_FINISHED
    v = 1

    def __init__(self, at: float, call: LiveCall, duration_s: float) -> None:
        self.at = at
        self.tool = call.plan.name
        self.call_id = call.id
        self.run_id = call.run_id
        self.attempt = call.attempt
        self.duration_s = duration_s

    @property
    def data(self) -> dict[str, Any]:
        """As in the event."""
        return {"duration_s": self.duration_s}


class Recorder:
    """Hands events to a journal, and ends the runs of which nobody else tells the end.

    An agent tells how its run ended; a plain `async with harness.run()` only leaves, and is noted as `left`.

    Args:
        journal: Where events go.
        clock: Tells when a run was left.
    """

    __slots__ = ("_begun", "_clock", "_open", "_told", "journal")

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal = journal
        self._clock = clock
        self._open: dict[str, float] = {}
        self._told: set[str] = set()
        self._begun: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Take one event. The pieces of a model's text are not kept: they are many, and the answer is the caller's."""
        if event.name is EventName.TEXT:
            return
        if event.run_id is not None:
            if event.name is EventName.RUN_FINISHED and event.run_id in self._open:
                self._told.add(event.run_id)
            elif event.name is EventName.RUN_STARTED:
                self._note(event.run_id)
        self.journal.write(event)

    def finished(self, call: LiveCall, duration_s: float) -> None:
        """Take the plain success of a call, where no other sink wants to hear of it."""
        self.journal.write(cast("Event", FinishedCall(self._clock.wall(), call, duration_s)))

    def run_opened(self, run_id: str) -> None:
        """A run has been opened; it is written down with its first call, for many never have one."""
        self._open[run_id] = self._clock.wall()

    def call_began(self, run_id: str) -> None:
        """A call of a run begins: with the first one the run's start is written, so that a killed program leaves its run.

        Whoever tells of the run's start himself, as an agent does, has done that before.
        """
        if run_id not in self._begun:
            self._note(run_id)
            at = self._open.get(run_id)
            at = self._clock.wall() if at is None else at
            self.journal.write(Event(name=EventName.RUN_STARTED, at=at, run_id=run_id))

    def _note(self, run_id: str) -> None:
        if len(self._begun) >= _MOST_RUNS:
            self._begun.clear()  # those that are at work are written down a second time, which moves no start
        self._begun.add(run_id)

    def run_left(self, run_id: str) -> None:
        """A run is over; written down where nobody has told of it."""
        is_open = self._open.pop(run_id, None) is not None
        self._begun.discard(run_id)
        if run_id in self._told or not is_open:
            self._told.discard(run_id)
            return
        event = Event(
            name=EventName.RUN_FINISHED, at=self._clock.wall(), run_id=run_id, data={"state": "left"}
        )
        self.journal.write(event)

    def __repr__(self) -> str:
        return f"Recorder({self.journal!r})"


def recorder_for(store: LedgerStore, clock: Clock) -> Recorder | None:
    """A recorder into a store that keeps a journal and outlives the process; None for any other."""
    if not isinstance(store, EngineStore) or isinstance(store, MemoryStore):
        return None
    from failsoft.stores.journal import Journal  # 3 ms of import that a store in memory does not need

    return Recorder(Journal(store), clock)
