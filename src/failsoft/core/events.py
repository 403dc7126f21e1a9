"""What happened, as frozen records that sinks receive. Redacted before any sink sees them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEVELS", "Event", "EventName", "Sink"]


class EventName(StrEnum):
    """Every event of the runtime. Names may be added, never renamed."""

    CALL_ADMITTED = "call_admitted"
    CALL_REFUSED = "call_refused"
    APPROVAL_ASKED = "approval_asked"
    ATTEMPT_STARTED = "attempt_started"
    ATTEMPT_FAILED = "attempt_failed"
    RETRY_SCHEDULED = "retry_scheduled"
    RETRY_DENIED = "retry_denied"
    FALLBACK_USED = "fallback_used"
    BREAKER_CHANGED = "breaker_changed"
    CALL_FINISHED = "call_finished"
    CALL_FAILED = "call_failed"
    CALL_REPLAYED = "call_replayed"
    CALL_JOINED = "call_joined"
    CANCEL_SWALLOWED = "cancel_swallowed"
    LOOP_BLOCKED = "loop_blocked"
    ZOMBIE_STARTED = "zombie_started"
    ZOMBIE_ENDED = "zombie_ended"
    DOUBT_OPENED = "doubt_opened"
    DOUBT_RESOLVED = "doubt_resolved"
    DOUBLE_EFFECT = "double_effect"
    RUN_STARTED = "run_started"
    RUN_FINISHED = "run_finished"
    TURN_STARTED = "turn_started"
    TURN_FINISHED = "turn_finished"
    TEXT = "text"
    ESCALATED = "escalated"
    STORE_TROUBLE = "store_trouble"
    STORE_RECOVERED = "store_recovered"


_WARNING = (
    EventName.CALL_REFUSED,
    EventName.ATTEMPT_FAILED,
    EventName.RETRY_DENIED,
    EventName.FALLBACK_USED,
    EventName.BREAKER_CHANGED,
    EventName.CANCEL_SWALLOWED,
    EventName.LOOP_BLOCKED,
    EventName.ZOMBIE_STARTED,
    EventName.DOUBT_OPENED,
    EventName.ESCALATED,
)
_ERROR = (EventName.CALL_FAILED, EventName.DOUBLE_EFFECT, EventName.STORE_TROUBLE)

LEVELS: Mapping[EventName, int] = {
    **dict.fromkeys(EventName, logging.INFO),
    **dict.fromkeys(_WARNING, logging.WARNING),
    **dict.fromkeys(_ERROR, logging.ERROR),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened.

    Args:
        name: What happened.
        at: Wall time, seconds since the epoch, for display.
        tool: The tool's name, where there is one.
        call_id: The call's id, where there is one.
        run_id: The run's id, where there is one.
        attempt: Number of the attempt, 0 where it is not about one.
        data: Details by name; JSON-able, free of secrets.
        v: Version of this record's format.
    """

    name: EventName
    at: float
    tool: str | None = None
    call_id: str | None = None
    run_id: str | None = None
    attempt: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    v: int = 1

    @property
    def level(self) -> int:
        """The logging level that fits: INFO, WARNING or ERROR."""
        return LEVELS[self.name]


class Sink(Protocol):
    """Receives events. May not block; what it raises is logged once and never reaches the call."""

    def __call__(self, event: Event, /) -> None:
        """Take one event."""
        ...
