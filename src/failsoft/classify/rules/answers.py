"""Readers for rows of exceptions that carry an HTTP answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.classify.facts import answer_of
from failsoft.classify.http import Answer, judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.classify.rules.row import Context
    from failsoft.classify.verdict import Verdict

__all__ = ["answered", "answered_as"]


def answered(exc: BaseException, context: Context) -> Verdict | None:
    """The answer that the exception carries, judged."""
    answer = answer_of(exc, context.method)
    return None if answer is None else judge(answer, context.now, raised=True)


def answered_as(meaning: Verdict) -> Callable[[BaseException, Context], Verdict | None]:
    """The meaning is known by the type; the answer adds the service's words and the hint."""

    def read(exc: BaseException, context: Context) -> Verdict | None:
        answer = answer_of(exc, context.method) or Answer(method=context.method)
        return judge(answer, context.now, raised=True, meaning=meaning)

    return read
