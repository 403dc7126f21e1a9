"""What a failure means to a breaker: a failure of what is called, a hard one, or none of its business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from failsoft.core.kinds import Domain, Effect, ErrorKind

if TYPE_CHECKING:
    from failsoft.core.errors import AgentError

__all__ = ["IGNORED_REASONS", "Outcome", "outcome_of"]

Outcome = Literal["success", "failure", "hard", "ignored"]

# What a request, a rule or the caller caused says nothing about the health of what was called.
_IGNORED: Final = frozenset(
    {
        ErrorKind.INVALID_ARGUMENT,
        ErrorKind.UNKNOWN_TOOL,
        ErrorKind.NOT_FOUND,
        ErrorKind.CONFLICT,
        ErrorKind.PERMISSION_DENIED,
        ErrorKind.CIRCUIT_OPEN,
        ErrorKind.BUDGET_EXHAUSTED,
        ErrorKind.IN_DOUBT,
        ErrorKind.CANCELLED,
    }
)
_HARD: Final = frozenset({ErrorKind.UNAVAILABLE, ErrorKind.NETWORK, ErrorKind.TIMEOUT})
_SOFT: Final = frozenset(
    {ErrorKind.QUOTA_EXHAUSTED, ErrorKind.INVALID_OUTPUT, ErrorKind.INTERNAL, ErrorKind.UNKNOWN}
)
# Kinds that the runtime uses for its own refusals, told apart by where they come from.
_LOCAL: Final = frozenset({ErrorKind.OVERLOADED, ErrorKind.RATE_LIMITED})
#: Reasons of a time-out that ended before the body began.
IGNORED_REASONS: Final = frozenset({"queue_timeout", "not_started"})


def outcome_of(error: AgentError | None) -> Outcome:
    """The outcome to report to a breaker.

    A 429 counts for the rate but is no hard failure: whoever sends it is alive (after Linkerd's failure accrual).
    A kind that failsoft does not know counts when it is retryable or may have had an effect.
    """
    if error is None:
        return "success"
    kind = error.kind
    if kind in _IGNORED or error.reason in IGNORED_REASONS:
        return "ignored"
    if kind in _HARD:
        return "hard"
    if kind in _LOCAL:
        return "ignored" if error.domain is Domain.RUNTIME else "failure"
    if kind in _SOFT or error.retryable:
        return "failure"
    # A refusal of the model's (content filter, context too long) or of a kind of the user's own, without an effect.
    return "ignored" if error.effect is Effect.NONE else "failure"
