"""The states of a claim, as a table.

Rules of this file:

1. Every change of state that a store makes is a row of `TRANSITIONS`; `check` refuses any other.
2. A claim moves only by its owner's token, by a lapsed lease, or by a resolution of its doubt.
3. The diagram in the documentation is drawn from this table and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["TRANSITIONS", "ClaimState", "Transition", "check", "draw"]


class ClaimState(StrEnum):
    """Where a claim is."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One allowed change: `before` is None where there was no claim."""

    before: ClaimState | None
    after: ClaimState
    why: str


def _row(before: ClaimState | None, after: ClaimState, why: str) -> Transition:
    return Transition(before=before, after=after, why=why)


_RUNNING, _SUCCEEDED = ClaimState.RUNNING, ClaimState.SUCCEEDED
_FAILED, _IN_DOUBT = ClaimState.FAILED, ClaimState.IN_DOUBT

TRANSITIONS: tuple[Transition, ...] = (
    _row(None, _RUNNING, "intent written"),
    _row(_RUNNING, _SUCCEEDED, "happened, by its owner"),
    _row(_RUNNING, _FAILED, "certainly did not happen, by its owner"),
    _row(_RUNNING, _IN_DOUBT, "timed out and no longer runs, or lease over, or owner gone"),
    _row(_IN_DOUBT, _SUCCEEDED, "verified, resolved, or the late owner"),
    _row(_IN_DOUBT, _FAILED, "verified, resolved, or the late owner"),
    _row(_IN_DOUBT, _RUNNING, "again under the same idempotency key"),
    _row(_FAILED, _RUNNING, "fresh attempt"),
    _row(_FAILED, _SUCCEEDED, "late owner after 'did not happen': double effect"),
    _row(_SUCCEEDED, _RUNNING, "deliberate repeat, where successes are not remembered"),
    _row(_SUCCEEDED, _FAILED, "double effect resolved as 'did not happen'"),
)
_ALLOWED = frozenset((row.before, row.after) for row in TRANSITIONS)


def check(before: ClaimState | None, after: ClaimState) -> None:
    """Refuse a change that the table does not have.

    Raises:
        ValueError: The change is not in the table.
    """
    if before != after and (before, after) not in _ALLOWED:
        raise ValueError(
            f"a claim cannot go from {before!s} to {after!s}; see failsoft.ledger.states.TRANSITIONS"
        )


def draw() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {row.before or '[*]'} --> {row.after}: {row.why}" for row in TRANSITIONS]
    return "\n".join(lines)
