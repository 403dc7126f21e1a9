"""What a rule says of a failure, before it becomes an `AgentError`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, make_error
from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner, defaults_of

from .sentences import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Verdict", "given", "merge", "verdict"]

_LATER = "The same call can be made again a little later."
_NEVER = "The same call will fail again. Find another way, or tell the user."
_USUALLY_LATER = frozenset(
    {ErrorKind.UNAVAILABLE, ErrorKind.NETWORK, ErrorKind.TIMEOUT, ErrorKind.RATE_LIMITED}
)
_MODEL_KINDS = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.QUOTA_EXHAUSTED, ErrorKind.UNAVAILABLE})


@dataclass(slots=True, kw_only=True)
class Verdict:
    """One failure, judged. Read-only by agreement.

    Not frozen, because several are made per exception: thirteen frozen fields cost 2.4 µs, these 0.7.

    Args:
        kind: What went wrong.
        reason: Short machine code.
        retryable: Whether the same call may succeed later.
        effect: What may have happened, as far as the failure itself proves it.
        message: One sentence for people; empty for the sentence that belongs to the reason.
        retry_after_s: Seconds to wait at least, where somebody said so.
        weak: Whether a more telling cause may take its place.
        made: An `AgentError` that somebody raised deeper down; wins as it is.
    """

    kind: ErrorKind | str
    reason: str
    retryable: bool
    effect: Effect
    message: str = ""
    retry_after_s: float | None = None
    domain: Domain | None = None
    owner: Owner | None = None
    suggestion: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    weak: bool = False
    made: AgentError | None = None
    ready: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def but(self, **changes: Any) -> Verdict:
        """A copy with `changes`."""
        values = {name: getattr(self, name) for name in _NAMES}
        values.update(changes)
        return Verdict(**values)

    def of_model(self) -> Verdict:
        """The same failure, of a model's provider and not of a tool."""
        return self.but(domain=Domain.MODEL) if self.kind in _MODEL_KINDS else self

    def error(self) -> AgentError:
        """The `AgentError` that says this."""
        if self.made is not None:
            return self.made.replace()
        # Kept, because the verdicts of a table are turned into errors again and again.
        if self.ready is None:
            self.ready = self._fields()
        return make_error(self.kind, **self.ready)

    def _fields(self) -> dict[str, Any]:
        return {
            "message": self.message or sentence(self.reason, self.kind),
            "domain": self.domain,
            "reason": self.reason,
            "retryable": self.retryable,
            "effect": self.effect,
            "retry_after_s": self.retry_after_s,
            "suggestion": self.suggestion or _suggestion(self),
            "owner": self.owner or _owner(self),
            "context": self.context,
        }


_NAMES = tuple(one.name for one in fields(Verdict) if one.init)


def _owner(judged: Verdict) -> Owner:
    """Who can change the outcome, where the kind's default does not fit the verdict's own retryable."""
    usual = defaults_of(judged.kind)
    if judged.retryable == usual.retryable:
        return usual.owner
    return Owner.RUNTIME if judged.retryable else Owner.MODEL


def _suggestion(judged: Verdict) -> str | None:
    """What to do, where the usual advice for the kind would be wrong."""
    if judged.retryable:
        return _LATER if judged.kind == ErrorKind.CONFLICT else None
    return _NEVER if judged.kind in _USUALLY_LATER else None


def verdict(
    kind: ErrorKind | str,
    reason: str = "",
    effect: Effect | None = None,
    retryable: bool | None = None,
    **more: Any,
) -> Verdict:
    """A verdict whose gaps are filled from the kind."""
    usual = defaults_of(kind)
    return Verdict(
        kind=kind,
        reason=reason or str(kind),
        effect=usual.effect if effect is None else effect,
        retryable=usual.retryable if retryable is None else retryable,
        **more,
    )


def given(error: AgentError) -> Verdict:
    """The verdict that an `AgentError` is itself."""
    return Verdict(**error.fields(), made=error)


_BY_EFFECT = (Effect.NONE, Effect.POSSIBLE, Effect.DONE)


def merge(found: Sequence[Verdict]) -> Verdict:
    """One verdict for several failures at once: the least retryable, with the most possible effect."""
    worst = next((one for one in found if not one.retryable), found[0])
    if len(found) == 1:
        return worst
    waits = [one.retry_after_s for one in found if one.retry_after_s is not None]
    rest = len(found) - 1
    other = "one other failure" if rest == 1 else f"{rest} other failures"
    return worst.but(
        made=None,
        effect=max((one.effect for one in found), key=_BY_EFFECT.index),
        retryable=all(one.retryable for one in found),
        retry_after_s=max(waits, default=None),
        message=f"{worst.message or sentence(worst.reason, worst.kind)} There was {other} beside it.",
    )
