"""What the model is told about going on: facts that it can act on, never a decision made for it.

How `retry` is derived, first row that fits:

| what is known | retry |
| --- | --- |
| it happened, or may have happened and the tool is not repeatable | `no`: check first |
| in doubt, cancelled | `no` |
| a time to come back is known, or the breaker is open, or the same call is still running | `later` |
| retryable | `later` |
| the model can change the outcome | `after_fix` |
| otherwise (a person must act, or nobody can) | `no` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.kinds import Effect, ErrorKind, Owner

if TYPE_CHECKING:
    from failsoft.core.errors import AgentError
    from failsoft.feedback.languages import Language

__all__ = ["Retry", "advice_for", "effect_for", "retry_for", "title_of"]

Retry = Literal["no", "after_fix", "later"]

_NEVER = frozenset((ErrorKind.IN_DOUBT, ErrorKind.CANCELLED))
_COMES_BACK = frozenset(("already_running",))


def effect_for(error: AgentError, tool: Any = None) -> Effect:
    """The effect as the model needs it: whatever a read-only tool did changed nothing."""
    if _declares(tool, "read_only"):
        return Effect.NONE
    return error.effect


def retry_for(error: AgentError, tool: Any = None) -> Retry:
    """Whether calling again makes sense, by the table above."""
    effect = effect_for(error, tool)
    if effect is Effect.DONE or (effect is Effect.POSSIBLE and not _declares(tool, "idempotent")):
        return "no"
    if error.kind in _NEVER:
        return "no"
    comes_back = error.kind == ErrorKind.CIRCUIT_OPEN or error.reason in _COMES_BACK
    if error.retryable or error.retry_after_s is not None or comes_back:
        return "later"
    return "after_fix" if error.owner is Owner.MODEL else "no"


def advice_for(error: AgentError, language: Language, tool: Any = None, attempts: int = 1) -> str:
    """One or two sentences: what is known of the effect, and what can be done."""
    effect = effect_for(error, tool)
    own = _own_suggestion(error, language)
    if error.kind == ErrorKind.IN_DOUBT:
        by_human = error.owner is Owner.HUMAN and language.advice["in_doubt/human"]
        return own or by_human or language.advice["in_doubt"]
    if effect is Effect.DONE:
        return _join(language, language.effects["done"], own)
    if error.effect is Effect.DONE and error.kind == ErrorKind.INVALID_OUTPUT:
        return own or language.effects["done_read_only"]
    if effect is Effect.POSSIBLE:
        # What only a person can change stays worth saying: it never invites to repeat.
        refused = _lookup(error, language) if error.owner is Owner.HUMAN else None
        return _join(language, language.effects[_possible(error, tool, attempts)], own or refused)
    return own or _lookup(error, language)


def _own_suggestion(error: AgentError, language: Language) -> str | None:
    """What the error itself suggests; a language that knows the reason says it in its own words."""
    if language.title_first and f"{error.kind}/{error.reason}" in language.advice:
        return None
    return error.suggestion


def _possible(error: AgentError, tool: Any, attempts: int) -> str:
    if _declares(tool, "idempotent"):
        return "possible_repeatable"
    # "It exists already", said to a second attempt, may be the first attempt's doing.
    is_state = error.kind in (ErrorKind.CONFLICT, ErrorKind.NOT_FOUND)
    return "possible_earlier" if is_state and attempts > 1 else "possible"


def title_of(kind: str, language: Language) -> str:
    """One sentence that says what a kind means; that of `unknown` for a kind of somebody's own."""
    return language.titles.get(kind) or language.titles[ErrorKind.UNKNOWN]


def _lookup(error: AgentError, language: Language) -> str:
    table = language.advice
    found = table.get(f"{error.kind}/{error.reason}") or table.get(error.kind)
    if found is None:
        # A kind of somebody's own: what can be done follows from who can do it.
        fallback = ErrorKind.UNAVAILABLE if error.retryable else ErrorKind.UNKNOWN
        found = table[ErrorKind.PERMISSION_DENIED if error.owner is Owner.HUMAN else fallback]
    return found


def _join(language: Language, first: str, second: str | None) -> str:
    return first if not second else f"{first}{language.join}{second}"


def _declares(tool: Any, word: str) -> bool:
    """What a tool says of itself, on the tool or on its `annotations`."""
    if tool is None:
        return False
    value = getattr(tool, word, None)
    if value is None:
        value = getattr(getattr(tool, "annotations", None), word, None)
    return value is True
