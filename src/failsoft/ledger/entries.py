"""What the journal gives back: runs, calls, attempts and counts, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AttemptEntry", "CallEntry", "RunEntry", "ToolCounts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run, as the journal saw it.

    Args:
        id: The run's id.
        started_at: Wall time of the first event.
        last_at: Wall time of the last one.
        ended_at: Wall time at which it said that it was finished; None before, and for a run that was killed.
        state: Why it ended, in a word, where it said so.
        data: What it said at its end.
    """

    id: str
    started_at: float
    last_at: float
    ended_at: float | None = None
    state: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEntry:
    """One call's end.

    Args:
        seq: Its place in the journal.
        name: The event that ended it, such as `call_finished` or `call_replayed`.
        kind: The error's kind; None for a success.
        attempts: How often the body was begun.
        data: The event's own details.
    """

    seq: int
    id: str
    run_id: str | None
    tool: str
    at: float
    name: str
    ok: bool
    kind: str | None
    reason: str | None
    attempts: int
    duration_s: float | None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """One attempt that failed; a success is the call's own end."""

    seq: int
    call_id: str
    run_id: str | None
    number: int
    tool: str
    at: float
    kind: str | None
    reason: str | None
    duration_s: float | None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounts:
    """How a tool's calls ended.

    Args:
        calls: All that ended.
        failed: Those without a value.
        attempts: Bodies that were begun.
        kinds: Failed calls by the error's kind.
    """

    tool: str
    calls: int
    failed: int
    attempts: int
    kinds: Mapping[str, int] = field(default_factory=dict)
