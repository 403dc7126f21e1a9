"""Values that stand behind a secret's name: `password=`, `"api_key": `, `Cookie: `, `invalid token Zx8...`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span, words
from failsoft.feedback._secret_words import is_secret_name, looks_random

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["named_spans"]

# Looked for only where a text is not plain ASCII, which is known without reading it.
_FOREIGN_STEMS = ("密码", "口令", "密钥", "令牌", "contraseñ")
_STEMS = ("pass", "pwd", "secret", "key", "token", "auth", "cookie", "cred", "sess", "sig", "otp")
_NAME_BEFORE = re.compile(r"(?:[A-Za-z]{2,16}[ ])?[A-Za-z0-9_\-.]{0,40}\Z")
_NAME_AFTER = re.compile(
    r"[A-Za-z0-9_\-]{0,32}+(?:[ ](?:key|token|secret|id|string)s?(?![A-Za-z]))?", re.IGNORECASE
)
_ASSIGN = re.compile(
    r"""\\{0,3}(?:["'`]\]?|\)|%2[27])?[ \t]{0,3}(?:=>|:=|==?|:|：|%3[aAdD])[ \t]{0,3}(?:%20)?(?:%2[27])?"""
)
_SPOKEN = re.compile(
    r"[ ](?:(?:is|was|value|provided|given|used|supplied|string|header|of|id|with|for)[ :]{1,2}){0,3}+[:=]?[ ]?[\"'`(]?"
)
_QUOTED = re.compile(r"""[bruf]{0,2}(\\{0,3})(["'`])""")
_BARE = re.compile(
    r"""(?:(?:Bearer|Basic|Token|Digest|Negotiate|ApiKey)[ ]+)?[^\s"'`&,;)}\]<>|]{1,8192}+""", re.IGNORECASE
)
_PAIR = re.compile(r"""\(\s?[bruf]?["'][^"'\n]{0,128}["'],\s?[bruf]?["'][^"'\n]{0,256}["']\s?\)""")
_FLAG_VALUE = re.compile(r"[ ][\"']?([^\s\"']{1,512}+)")
_QUOTED_WORD = re.compile(r"""[ ](?:is |was )?(["'`])([^"'`\s]{1,128})\1""")
_PASSWORD = re.compile(r"pass(?:word|wd|phrase|code|wort)?$|pwd$", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9+/=_\-.~!$%#*]{6,}+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_MAX_VALUE_CHARS = 8192
_LINE_END = re.compile(r"""[^\r\n"'`}]{0,8192}+""")

_VOID = frozenset(("None", "null", "undefined", "nil", "True", "False", "true", "false", "YES", "NO", "..."))
# What follows "password:" in a sentence about passwords.
_PROSE = words(
    "must should is are was were field required missing invalid expected too not the a an cannot can "
    "may string got value at has have incorrect wrong none null true false yes no empty input str int "
    "authentication and or in of for to from expired denied rejected mismatch unknown undefined nil "
    "does did with length minimum maximum please type error unauthorized forbidden failed bearer basic "
    "digest unset optional default redacted hidden"
)


def named_spans(text: str, lowered: str) -> Iterator[Span]:
    """The values in a text that a name before them calls secret."""
    for stem in _STEMS:
        if stem in lowered:
            yield from _spans_of(text, lowered, stem)
    if not text.isascii():
        for stem in _FOREIGN_STEMS:
            if stem in lowered:
                yield from _spans_of(text, lowered, stem)


def _spans_of(text: str, lowered: str, stem: str) -> Iterator[Span]:
    size = len(stem)
    at = lowered.find(stem)
    while at >= 0:
        after = _NAME_AFTER.match(text, at + size)
        end = after.end() if after else at + size
        span = _value_span(text, at, end)
        if span is not None:
            yield span
            end = max(end, span.end)
        at = lowered.find(stem, max(end, at + 1))


def _value_span(text: str, at: int, end: int) -> Span | None:
    """The value behind a name that has its stem at `at` and ends at `end`."""
    sign = _ASSIGN.match(text, end)
    if sign is None:
        return _spoken_span(text, at, end) if text[end : end + 1] == " " else None
    name = _name(text, at, end)
    if not is_secret_name(name):
        return None
    quoted = _QUOTED.match(text, sign.end())
    if quoted:
        return _quoted_span(text, quoted)
    # The value of a cookie or a passphrase goes to the end of its line.
    is_line = name.lower().endswith(("cookie", "cookies", "passphrase"))
    found = _PAIR.match(text, sign.end()) or (_LINE_END if is_line else _BARE).match(text, sign.end())
    if "=" not in sign[0] and text[max(0, end - len(name) - 1)] in "/\\":
        return None  # the end of a path, and what is said of it
    if not found or not found[0] or _is_prose(found[0], name, sign[0]):
        return None
    return Span(sign.end(), found.end(), "secret")


def _name(text: str, at: int, end: int) -> str:
    before = _NAME_BEFORE.search(text, max(0, at - 40), at)
    return text[before.start() if before else at : end]


def _quoted_span(text: str, quoted: re.Match[str]) -> Span | None:
    """The text inside quotes, which may themselves be escaped."""
    quote = quoted[1] + quoted[2]
    at = quoted.end()
    while True:
        end = text.find(quote, at, quoted.end() + _MAX_VALUE_CHARS)
        if end < 0:
            line = text.find("\n", quoted.end(), quoted.end() + _MAX_VALUE_CHARS)
            end = min(len(text), quoted.end() + _MAX_VALUE_CHARS) if line < 0 else line
            break
        slashes = 0
        while not quoted[1] and text[end - 1 - slashes] == "\\" and end - slashes > quoted.end():
            slashes += 1
        if slashes % 2 == 0:
            break
        at = end + 1
    value = text[quoted.end() : end]
    if not value or _is_placeholder(value):
        return None
    return Span(quoted.end(), end, "secret")


def _spoken_span(text: str, at: int, end: int) -> Span | None:
    """A random-looking run soon after a key word: `invalid key Zx81...`, `token was Zx81...`."""
    name = _name(text, at, end)
    word = name.rpartition(" ")[2]
    if word.startswith("--") and is_secret_name(word):
        flag = _FLAG_VALUE.match(text, end)
        return Span(flag.start(1), flag.end(1), "secret") if flag else None
    is_password = bool(_PASSWORD.search(word))
    quoted = _QUOTED_WORD.match(text, end) if is_password else None
    if quoted and not _is_placeholder(quoted[2]):
        return Span(quoted.start(2), quoted.end(2), "secret")
    sign = _SPOKEN.match(text, end)
    found = _TOKEN.match(text, sign.end()) if sign else None
    # A key that its maker has masked still shows its ends.
    if found is None or not (looks_random(found[0]) or "***" in found[0]):
        return None
    token = found[0].rstrip(".!")
    if len(token) < 12 and not is_password:
        return None
    is_secret = is_secret_name(name) or is_secret_name(word)
    # A bare "key" may be a row's key, and a row's id is what the model needs.
    if not is_secret and (_UUID.fullmatch(token) or _HEX.fullmatch(token) or len(token) < 20):
        return None
    return Span(found.start(), found.start() + len(token), "secret")


def _is_prose(value: str, name: str, sign: str) -> bool:
    if _is_placeholder(value) or value[0] in "{[" or value in _VOID:
        return True
    lower = name.lower()
    if value[0] == "(" and not value.endswith(")"):
        return True
    if lower.endswith("cookie") and "=" not in value:
        return True
    if lower == "pass" and value.isdigit():
        return True
    if sign.strip() != ":" or sign[-1] not in " \t":
        return False
    word = value.rstrip(".!?").lower()
    # "Unexpected token: x" is about a word; `X-Auth-Token: x` is a header.
    bare = lower.rpartition(" ")[2]
    if bare in ("token", "secret", "auth", "signature"):
        return len(value) < 8 or not looks_random(value)
    return word in _PROSE


def _is_placeholder(value: str) -> bool:
    return value.startswith(("[secret", "***", "<redacted", "[redacted", "[REDACTED"))
