"""A user's own rules: they come before every table, on each exception of a chain and on answers."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, UsageError

from .rules.row import type_keys
from .text import one_line, text_of
from .verdict import Verdict, given, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner

    from .http import Answer

__all__ = ["Judge", "Rule"]

logger = logging.getLogger("failsoft.classify")

Judge = "Callable[[Any], AgentError | str | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a user.

    Every condition that is given must hold. A rule with `type` or `name` never meets a plain answer.

    Args:
        type: Exception type or types.
        name: Dotted name of a type or of a base of it: in full, `package.Class`, or the bare class name.
        status: HTTP status or statuses, of the answer or of the one that the exception carries.
        when: Predicate of the exception, or of the `Answer` where there is none.
        message: Regular expression that is searched in the exception's text or in the service's words, without case.
        kind: What to say; the other fields are taken from the kind where they are not given.
        judge: Instead of `kind`: makes the error, gives a kind, or None to hand it to the next rule.
    """

    type: type[BaseException] | tuple[type[BaseException], ...] | None = None
    name: str | None = None
    status: int | tuple[int, ...] | None = None
    when: Callable[[Any], bool] | None = None
    message: re.Pattern[str] | None = None
    kind: ErrorKind | str | None = None
    retryable: bool | None = None
    effect: Effect | None = None
    reason: str | None = None
    retry_after_s: float | None = None
    suggestion: str | None = None
    owner: Owner | None = None
    domain: Domain | None = None
    context: Mapping[str, Any] | None = None
    text: str | None = None
    judge: Callable[[Any], AgentError | str | None] | None = None

    def __post_init__(self) -> None:
        if all(one is None for one in (self.type, self.name, self.status, self.when, self.message)):
            raise UsageError(
                "a rule needs a condition, got none\n\nhint: give type=, name=, status=, when= or message="
            )

    def of_exception(self, exc: BaseException, answer: Callable[[], Answer | None]) -> Verdict | None:
        """The verdict on an exception; None where the rule does not concern it."""
        if self.type is not None and not isinstance(exc, self.type):
            return None
        if self.name is not None and not any(self.name in type_keys(cls) for cls in type(exc).__mro__):
            return None
        if self.status is not None:
            found = answer()
            if found is None or not self._has_status(found.status):
                return None
        text = text_of(exc)
        return self._verdict(exc, text) if self._fits(exc, text) else None

    def of_answer(self, answer: Answer, words: str) -> Verdict | None:
        """The verdict on an answer that no exception carries."""
        if self.type is not None or self.name is not None:
            return None
        if self.status is not None and not self._has_status(answer.status):
            return None
        return self._verdict(answer, words) if self._fits(answer, words) else None

    def _has_status(self, status: int | None) -> bool:
        wanted = self.status if isinstance(self.status, tuple) else (self.status,)
        return status in wanted

    def _fits(self, subject: object, text: str) -> bool:
        if self.message is not None and not self.message.search(text):
            return False
        return self.when is None or bool(_guarded(self.when, subject))

    def _verdict(self, subject: object, text: str) -> Verdict | None:
        said = self.kind if self.judge is None else _guarded(self.judge, subject)
        if isinstance(said, AgentError):
            return given(said)
        if not isinstance(said, str):
            return None
        return verdict(
            said,
            self.reason or "",
            self.effect,
            self.retryable,
            message=self.text if self.text is not None else one_line(text),
            retry_after_s=self.retry_after_s,
            suggestion=self.suggestion,
            owner=self.owner,
            domain=self.domain,
            context=dict(self.context or {}),
        )


def _guarded(call: Callable[[Any], Any], subject: object) -> Any:
    """What a user's function says; one that fails says nothing, and that is logged."""
    try:
        return call(subject)
    except Exception:
        logger.warning("a classification rule failed and was skipped: %r", call, exc_info=True)
        return None
