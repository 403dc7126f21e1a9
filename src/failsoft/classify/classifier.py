"""From whatever was raised or answered to one `AgentError`.

user rules, on each exception of the chain, outermost first
the exception's type, along its MRO            rules/*.py
an HTTP answer on the exception                facts.py, http.py
what is inside it: causes, groups              chain.py
its words, on unknown types only               rules/phrases.py
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

from failsoft.core.errors import AgentError
from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner

from ._judge import Judgement
from .body import read_body
from .http import Answer, judge
from .rules.row import Context
from .rules.table import Plan, plan_of
from .user_rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

__all__ = ["Classifier", "classify", "classify_response"]

F = TypeVar("F", bound="Callable[[Any], AgentError | str | None]")

_PLANS: dict[type[BaseException], Plan] = {}
# Types made on the fly must not pile up; the plans are cheap to make again.
_MOST_PLANS: Final = 4_096
_NO_CONTEXT: Final = Context()


def _plan(cls: type[BaseException]) -> Plan:
    plan = _PLANS.get(cls)
    if plan is None:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        plan = _PLANS[cls] = plan_of(cls)
    return plan


class Classifier:
    """The shared table with a user's rules in front.

    Safe to use from several threads; rules may be added at any time, earlier ones are asked first.

    Args:
        rules: Rules made beforehand.
    """

    __slots__ = ("_lock", "_rules")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: tuple[Rule, ...] = tuple(rules)
        self._lock = threading.Lock()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The user's rules, in the order in which they are asked."""
        return self._rules

    def rule(
        self,
        *,
        type: type[BaseException] | tuple[type[BaseException], ...] | None = None,
        name: str | None = None,
        status: int | Iterable[int] | None = None,
        when: Callable[[Any], bool] | None = None,
        message: str | re.Pattern[str] | None = None,
        kind: ErrorKind | str | None = None,
        retryable: bool | None = None,
        effect: Effect | str | None = None,
        reason: str | None = None,
        retry_after_s: float | None = None,
        suggestion: str | None = None,
        owner: Owner | str | None = None,
        domain: Domain | str | None = None,
        context: Mapping[str, Any] | None = None,
        text: str | None = None,
    ) -> Callable[[F], F]:
        """Add a rule: at once where `kind` is given, else by decorating the function that judges.

        Args:
            type: Exception type or types, subclasses included.
            name: Dotted name of a type or of a base of it, so that its library need not be imported.
            status: HTTP status or statuses.
            when: Predicate of the exception (or of the `Answer` where a response is classified).
            message: Regular expression searched in the text, without case.
            kind: What to say; what is not given beside it is taken from the kind.
            retryable: Whether the same call may succeed later.
            effect: What may have happened.
            reason: Short machine code; default the kind.
            retry_after_s: Seconds to wait at least.
            suggestion: What the reader could do about it.
            owner: Who can change the outcome.
            domain: Where it went wrong.
            context: Details.
            text: The message for people; default the exception's own text, on one line.

        Raises:
            UsageError: When no condition is given.
        """
        fields: dict[str, Any] = {
            "type": type, "name": name, "when": when, "kind": kind, "retryable": retryable, "reason": reason,
            "retry_after_s": retry_after_s, "suggestion": suggestion, "context": context, "text": text,
            "status": status if status is None or isinstance(status, int) else tuple(status),
            "message": re.compile(message, re.I) if isinstance(message, str) else message,
            "effect": None if effect is None else Effect(effect),
            "owner": None if owner is None else Owner(owner),
            "domain": None if domain is None else Domain(domain),
        }  # fmt: skip
        if kind is not None:
            self._add(Rule(**fields))

        def decorate(function: F) -> F:
            self._add(Rule(**{**fields, "kind": None}, judge=function))
            return function

        return decorate

    def _add(self, rule: Rule) -> None:
        with self._lock:
            self._rules = (*self._rules, rule)

    def classify(
        self, exc: BaseException, *, method: str | None = None, now: datetime | None = None
    ) -> AgentError:
        """The error that an exception amounts to, with the effect that the exception itself proves.

        Args:
            exc: Whatever was raised; an `AgentError` comes back as it is.
            method: HTTP method of the request, where the exception does not carry it.
            now: The present moment, for hints that are moments; naive means UTC.
        """
        if isinstance(exc, AgentError):
            return exc
        fixed = None if self._rules or method is not None else _plan(exc.__class__).fixed
        if fixed is None:
            context = _NO_CONTEXT if method is None and now is None else Context(method=method, now=now)
            fixed = Judgement(_plan, self._rules, context).whole(exc)
        error = fixed.error()
        error.__cause__ = exc
        return error

    def classify_response(
        self,
        status: int | None,
        headers: Any = None,
        body: Any = None,
        *,
        method: str | None = "GET",
        now: datetime | None = None,
    ) -> AgentError | None:
        """The error that an HTTP answer amounts to; None when it is none.

        Args:
            status: The HTTP status.
            headers: Mapping or pairs, names in any case.
            body: Text, bytes, parsed JSON, or None.
            method: Of the request.
            now: The present moment, for hints that are moments; naive means UTC.
        """
        answer = Answer.of(status, headers, body, method)
        words = read_body(answer.body).message if self._rules else ""
        for rule in self._rules:
            found = rule.of_answer(answer, words)
            if found is not None:
                return found.error()
        judged = judge(answer, now)
        return None if judged is None else judged.error()

    def __repr__(self) -> str:
        return f"Classifier(rules={len(self._rules)})"


_DEFAULT: Final = Classifier()


def classify(exc: BaseException, *, method: str | None = None, now: datetime | None = None) -> AgentError:
    """The error that an exception amounts to, by the shared table; see `Classifier.classify`."""
    return _DEFAULT.classify(exc, method=method, now=now)


def classify_response(
    status: int | None,
    headers: Any = None,
    body: Any = None,
    *,
    method: str | None = "GET",
    now: datetime | None = None,
) -> AgentError | None:
    """The error that an HTTP answer amounts to, by the shared table; see `Classifier.classify_response`."""
    return _DEFAULT.classify_response(status, headers, body, method=method, now=now)
