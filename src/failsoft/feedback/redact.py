"""Redaction: what must not leave, is replaced by a placeholder that says what stood there.

Two levels. `operator` hides secrets only. `model` hides also absolute paths (the base name stays), internal hosts,
addresses and accounts, and drops what a model cannot act on: tracebacks, source lines, reprs, docs links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote

from failsoft.core.errors import UsageError
from failsoft.feedback._names import Keep, Names, Span, apply_spans, outside_placeholders
from failsoft.feedback._people import email_spans, phone_spans
from failsoft.feedback._places import place_spans
from failsoft.feedback._secret_words import is_secret_name
from failsoft.feedback._secrets import secret_spans
from failsoft.feedback._sent import read_sent, texts_of
from failsoft.feedback._traces import plain
from failsoft.feedback._urls import url_secret_spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from failsoft.core.errors import AgentError
    from failsoft.core.events import Event

__all__ = ["Level", "Redactor", "redact"]

Level = Literal["model", "operator"]

E = TypeVar("E", bound="AgentError")

_MAX_DEPTH = 8
_MAX_ITEMS = 200
_MAX_CHARS = 262_144
_MIN_SECRET_CHARS = 4
_MIN_KEY_CHARS = 15


def redact(text: str, *, level: Level = "model", keep: Iterable[str] = ()) -> str:
    """The text without secrets; at level `model` also without paths, hosts, addresses and traces.

    Args:
        text: What is to be shown to somebody.
        level: Who will read it.
        keep: Texts that the model itself sent; their paths, hosts, addresses and accounts stay. Secrets never do.

    Raises:
        UsageError: If there is no such level.
    """
    if level not in ("model", "operator"):
        raise UsageError(f"level must be 'model' or 'operator', got {level!r}")
    return _DEFAULT.text(text, level, keep=keep)


class Redactor:
    """What a harness hides, and from whom.

    Args:
        patterns: More secrets, as compiled regular expressions or texts; the whole match is hidden, at both levels.
        emails: Whether mail addresses are hidden from the model too.
        phones: Whether telephone numbers are hidden from the model too.
        keep: Texts that stay, such as the name of a public host.
        secrets: Exact values that are always hidden, such as injected arguments; those below 4 characters are ignored.

    Raises:
        UsageError: If a pattern matches the empty text, and so would match everywhere.
    """

    __slots__ = ("_keep", "_own", "_patterns", "_secrets", "emails", "phones")

    def __init__(
        self,
        patterns: Iterable[str | re.Pattern[str]] = (),
        emails: bool = False,
        phones: bool = False,
        keep: Iterable[str] = (),
        secrets: Iterable[str] = (),
    ) -> None:
        self._patterns = tuple(_compiled(pattern) for pattern in patterns)
        self._keep = tuple(keep)
        self._secrets = _forms(secrets)
        self._own = bool(self._patterns or self._secrets)
        self.emails = emails
        self.phones = phones

    def bound(self, *, keep: Iterable[str] = (), secrets: Iterable[str] = ()) -> Redactor:
        """A copy for one call, which also keeps and hides what belongs to that call."""
        other = Redactor.__new__(Redactor)
        other._patterns = self._patterns
        other._keep = (*self._keep, *keep)
        other._secrets = tuple(dict.fromkeys((*self._secrets, *_forms(secrets))))
        other._own = bool(other._patterns or other._secrets)
        other.emails, other.phones = self.emails, self.phones
        return other

    def for_call(self, arguments: Any, *, secrets: Iterable[str] = ()) -> Redactor:
        """A copy for a call with these arguments: what the model sent stays, but for values under a secret's name.

        Args:
            arguments: As the model sent them: a mapping, or text, which is read as JSON where it is.
            secrets: What failsoft added to them, such as injected values.
        """
        said, hidden = texts_of(read_sent(arguments))
        return self.bound(keep=said, secrets=(*secrets, *hidden))

    def text(self, text: str, level: Level = "model", *, keep: Iterable[str] = ()) -> str:
        """One text at one level."""
        return self._clean(text, level, self._kept(keep), Names())

    def value(self, value: Any, level: Level = "model", *, keep: Iterable[str] = ()) -> Any:
        """A value of dicts, lists and scalars at one level; deeper than 8 and longer than 200 items it is cut."""
        return self._walk(value, level, self._kept(keep), Names(), 0)

    def error(self, error: E, level: Level = "model", *, keep: Iterable[str] = ()) -> E:
        """A copy of the error with clean texts; cause and traceback stay, for the operator view to clean."""
        names, kept = Names(), self._kept(keep)
        return error.replace(
            message=self._clean(error.message, level, kept, names),
            suggestion=error.suggestion and self._clean(error.suggestion, level, kept, names),
            reason=self._clean(error.reason, "operator", kept, names),
            context=self._walk(error.context, level, kept, names, 0),
        )

    def event(self, event: Event) -> Event:
        """A copy of the event without secrets."""
        names = Names()
        # A name that no tool has is whatever the model wrote.
        tool = event.tool and self._clean(event.tool, "operator", _NOTHING, names)
        if not event.data and tool == event.tool:
            return event
        return replace(event, tool=tool, data=self._walk(event.data, "operator", _NOTHING, names, 0))

    def _kept(self, keep: Iterable[str]) -> Keep:
        values = (*self._keep, *keep)
        return Keep(values) if values else _NOTHING

    def _clean(self, text: str, level: Level, keep: Keep, names: Names) -> str:
        # Most strings of an event are short words; no key is that short.
        if len(text) < _MIN_KEY_CHARS and text.isidentifier() and not self._own:
            return text
        lowered = text.lower()
        if len(lowered) != len(text):
            lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
        spans = secret_spans(text, lowered)
        if "://" in text:
            spans += url_secret_spans(text)
        for secret in self._secrets:
            if secret in text:
                spans += _exact_spans(text, secret)
        for pattern in self._patterns:
            spans += (
                Span(found.start(), found.end(), "secret") for found in pattern.finditer(text) if found[0]
            )
        if spans:
            text = apply_spans(text, spans, names)
            lowered = ""
        return self._for_model(text, lowered, keep, names) if level == "model" else text

    def _for_model(self, text: str, lowered: str, keep: Keep, names: Names) -> str:
        told = plain(text)
        if told is not text or not lowered:
            lowered = told.lower()
        spans = place_spans(told, lowered, keep)
        if self.emails and "@" in told:
            spans += email_spans(told, keep)
        if self.phones:
            spans += phone_spans(told, keep)
        if spans and "[path" in told:
            spans = outside_placeholders(told, spans)
        return apply_spans(told, spans, names) if spans else told

    def _walk(self, value: Any, level: Level, keep: Keep, names: Names, depth: int) -> Any:
        if isinstance(value, str):
            return self._clean(value, level, keep, names)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if depth >= _MAX_DEPTH:
            return "[nested too deeply]"
        if isinstance(value, Mapping):
            return self._walk_dict(value, level, keep, names, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = list(value)[:_MAX_ITEMS]
            walked = [self._walk(item, level, keep, names, depth + 1) for item in items]
            more = len(value) - len(items)
            return [*walked, f"[{more} more]"] if more else walked
        return self._clean(_text_of(value), level, keep, names)

    def _walk_dict(self, value: Mapping[Any, Any], level: Level, keep: Keep, names: Names, depth: int) -> Any:
        walked: dict[str, Any] = {}
        for index, (key, item) in enumerate(value.items()):
            if index == _MAX_ITEMS:
                walked["[more]"] = len(value) - index
                break
            name = self._clean(str(key), level, keep, names)
            if (
                isinstance(item, (str, int, bytes))
                and not isinstance(item, bool)
                and item
                and is_secret_name(str(key))
            ):
                walked[name] = names.of("secret", str(item)) if not str(item).startswith("[secret") else item
            else:
                walked[name] = self._walk(item, level, keep, names, depth + 1)
        return walked

    def __repr__(self) -> str:
        counts = f"patterns={len(self._patterns)}, secrets={len(self._secrets)}"
        return f"Redactor({counts}, emails={self.emails}, phones={self.phones})"


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    compiled = re.compile(pattern)
    if compiled.search("") is not None:
        raise UsageError(
            f"a redaction pattern must not match the empty text, got {compiled.pattern!r}\n\n"
            "hint: use + instead of *, or name a least number of characters"
        )
    return compiled


def _forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Each secret as it is, as JSON and as a URL write it; the longest first, so that none is left half."""
    forms = set()
    for secret in secrets:
        if len(secret) >= _MIN_SECRET_CHARS:
            forms |= {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), repr(secret)[1:-1]}
    return tuple(sorted(forms, key=len, reverse=True))


def _exact_spans(text: str, secret: str) -> Iterable[Span]:
    at = text.find(secret)
    while at >= 0:
        yield Span(at, at + len(secret), "secret")
        at = text.find(secret, at + len(secret))


def _text_of(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[:_MAX_CHARS]).decode("utf-8", "replace")
    try:
        return str(value)
    except Exception:  # a broken __str__ must not break the report of another failure
        return f"[{type(value).__name__}]"


_NOTHING = Keep()
_DEFAULT = Redactor()
