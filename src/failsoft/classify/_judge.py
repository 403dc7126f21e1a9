"""One judgement: an exception, its causes and its groups, walked once."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError
from failsoft.core.kinds import Effect, ErrorKind

from .chain import explicit_inner, implicit_inner, leaves
from .facts import answer_of
from .http import judge
from .rules.phrases import of_text, status_in
from .rules.statuses import by_status, effect_of
from .sentences import sentence
from .text import one_line, text_of
from .verdict import Verdict, given, merge, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .rules.row import Context, Read, Row
    from .rules.table import Plan
    from .user_rules import Rule

__all__ = ["Judgement"]

logger = logging.getLogger("failsoft.classify")

_MOST_DEEP = 12
_UNKNOWN = verdict(ErrorKind.UNKNOWN)
_SENT = (ErrorKind.NETWORK, ErrorKind.TIMEOUT, ErrorKind.UNAVAILABLE)


@dataclass(slots=True)
class Judgement:
    """Walks one exception.

    Args:
        plan: The rows for a type.
        rules: The user's rules.
        context: What the caller knows beside the exception.
    """

    plan: Callable[[type[BaseException]], Plan]
    rules: tuple[Rule, ...]
    context: Context
    seen: set[int] = field(default_factory=set)

    def whole(self, exc: BaseException) -> Verdict:
        """The verdict on what was raised; a method that the caller names rules an effect out where a repeat has none."""
        found = self.of(exc)
        maybe = found.made is None and found.effect is Effect.POSSIBLE and found.kind in _SENT
        if maybe and effect_of(self.context.method) is Effect.NONE:
            return found.but(effect=Effect.NONE)
        return found

    def of(self, exc: BaseException) -> Verdict:
        """The verdict on an exception and all that is inside it."""
        if isinstance(exc, AgentError):
            return given(exc)
        if id(exc) in self.seen or len(self.seen) >= _MOST_DEEP * 10:
            return _UNKNOWN
        self.seen.add(id(exc))
        found = self._by_user(exc)
        if found is not None:
            return found
        if isinstance(exc, BaseExceptionGroup):
            return self._of_group(exc)
        plan = self.plan(exc.__class__)
        return self._by_rows(exc, plan) or self._of_unknown(exc)

    def _by_user(self, exc: BaseException) -> Verdict | None:
        for rule in self.rules:
            found = rule.of_exception(exc, lambda: answer_of(exc, self.context.method))
            if found is not None:
                return found
        return None

    def _of_group(self, group: BaseExceptionGroup[Any]) -> Verdict:
        """One real error counts alone; several are merged; cancellations beside them are their shadow."""
        inside = list(leaves(group))
        real = [one for one in inside if not isinstance(one, CancelledError)]
        found = [self.of(one) for one in real or inside[:1]]
        return merge(found) if found else _UNKNOWN

    def _by_rows(self, exc: BaseException, plan: Plan) -> Verdict | None:
        text: str | None = None
        for row in plan.rows:
            if row.text is not None:
                text = text_of(exc) if text is None else text
                if not row.text.search(text):
                    continue
            found = row.judged if row.read is None else _guarded(row.read, exc, self.context)
            if found is None:
                continue
            if found.weak:
                return self._of_weak(exc, row, found, plan)
            found = found.of_model() if row.of_model else found
            return self._deeper(exc, row, found) if row.inner else _worded(exc, row, found)
        return None

    def _deeper(self, exc: BaseException, row: Row, own: Verdict) -> Verdict:
        """A library's own wrapper: what it wraps says more, but what the wrapper proves stays proved."""
        inside = list(explicit_inner(exc))
        implicit = implicit_inner(exc)
        if implicit is not None:
            inside.append(implicit)
        found = self._telling(inside, any_will_do=row.transparent)
        if (
            found is not None
            and found.kind == ErrorKind.UNKNOWN
            and found.made is None
            and own.kind != ErrorKind.UNKNOWN
        ):
            return own.but(message=found.message)
        if found is None:
            return _worded(exc, row, own)
        if own.effect is Effect.NONE and found.effect is Effect.POSSIBLE and not row.transparent:
            found = found.but(effect=Effect.NONE, made=None)
        return found.of_model() if row.of_model else found

    def _of_weak(self, exc: BaseException, row: Row, own: Verdict, plan: Plan) -> Verdict:
        """A builtin that says little: the answer it carries, then the cause that it names, say more."""
        if not plan.known and exc.__class__.__module__ != "builtins":
            found = self._answered(exc)
            if found is not None:
                return found
        found = self._telling(explicit_inner(exc))
        return _worded(exc, row, own) if found is None else _with_own_words(exc, found)

    def _of_unknown(self, exc: BaseException) -> Verdict:
        found = self._answered(exc)
        if found is not None:
            return found
        found = self._telling(explicit_inner(exc))
        if found is not None:
            return _with_own_words(exc, found)
        text = text_of(exc)
        found = _by_words(text)
        if found is not None:
            return found.but(message=found.message or one_line(text))
        implicit = implicit_inner(exc)
        found = None if implicit is None else self._telling((implicit,))
        if found is not None:
            # What was being handled proves nothing for what was raised after it.
            effect = Effect.POSSIBLE if found.effect is Effect.NONE else found.effect
            return _with_own_words(exc, found.but(effect=effect))
        return _UNKNOWN.but(message=one_line(text))

    def _answered(self, exc: BaseException) -> Verdict | None:
        answer = answer_of(exc, self.context.method)
        if answer is None or answer.status is None or answer.status < 400:
            return None
        return judge(answer, self.context.now, raised=True)

    def _telling(self, inside: Iterable[BaseException], *, any_will_do: bool = False) -> Verdict | None:
        fallback: Verdict | None = None
        for one in inside:
            found = self.of(one)
            if found.made is not None or not (found.weak or found.kind == ErrorKind.UNKNOWN):
                return found
            fallback = fallback or found
        return fallback if any_will_do else None


def _guarded(read: Read, exc: BaseException, context: Context) -> Verdict | None:
    """What a reader says; a library that fills its exceptions in a new way must not make classification fail."""
    try:
        return read(exc, context)
    except Exception:
        logger.debug("%r could not be read; the next row is tried", type(exc), exc_info=True)
        return None


def _by_words(text: str) -> Verdict | None:
    if not text:
        return None
    status = status_in(text)
    if status is not None:
        found = by_status(status, None)
        # A number in a text is no proof that nothing was done.
        return found.but(effect=Effect.POSSIBLE, message=one_line(text))
    return of_text(text)


def _worded(exc: BaseException, row: Row, found: Verdict) -> Verdict:
    if row.hidden or found.message:
        return found
    return found.but(message=one_line(text_of(exc)))


def _with_own_words(exc: BaseException, found: Verdict) -> Verdict:
    """The outer exception's words in front: whoever raised it knew what was being done."""
    said = one_line(text_of(exc), 160)
    inner = (
        found.made.message if found.made is not None else found.message or sentence(found.reason, found.kind)
    )
    if not said or said in inner:
        return found
    if inner in said:
        inner = ""
    if found.made is not None:
        return found.but(made=found.made.replace(message=f"{said}: {inner}".rstrip(": ")))
    return found.but(message=f"{said.rstrip('.')}: {inner}" if inner else said)
