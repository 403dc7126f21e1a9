"""From nearly JSON to JSON, where it has one meaning.

rules of this file:
    accepted: trailing comma · comments (//, /* */, #) · raw line breaks and tabs in strings · True, False, None ·
              single-quoted strings
    refused:  everything else, with its position; an end inside of anything is `truncated`

The output is strict JSON text, so that one strict parser makes all values.
One pass without recursion or backtracking (possessive patterns), so that time and memory are linear.
"""

from __future__ import annotations

import re
from typing import NoReturn

from failsoft.arguments.refusals import MAX_DEPTH, refuse, short
from failsoft.core.calls import Repair
from failsoft.core.errors import InvalidArgument

__all__ = ["has_spoiled_path", "to_strict"]

_SPACE = re.compile(r"[ \t\r\n]*+")
_COMMENT = re.compile(r"//[^\r\n]*+|#[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")
# The end of a single-quoted text in a list or an object, without a second quote before it.
_CLOSES_TEXT = re.compile(r"^[^']*+'[ \t]*+[,:\]}]*+[ \t]*+$")
_STRINGS = {
    '"': re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL),
    "'": re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL),
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])", re.ASCII)
_WORD = re.compile(r"[^\W\d][\w.-]*+")
_RAW_BREAK = re.compile(r"[\r\n\t]")
_CONTROL = re.compile(r"[\x00-\x1f]")
_ODD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
# A drive letter and one backslash: the escapes behind it were hardly meant as escapes.
_BARE_PATH = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\(?!\\|/)")
# A whole string that is a drive and names behind backslashes, some of them single: those were read as line breaks
# and tabs. Names with blanks count only where an escape is there that nobody means (\b, \f): "Q:\nWhat is it" is a text.
_DRIVE_PATH = re.compile(
    r"""(?<=["'])[A-Za-z]:(?:(?:\\[bfnrt\\][^"'\\\s:*?<>|]*+)++|(?=[^"]*\\[bf])(?:\\[bfnrt\\][^"'\\:*?<>|]*+)++)(?=["'])"""
)
_SINGLE_PARTS = re.compile(r"""\\.|["\r\n\t]""", re.DOTALL)
_BREAKS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_PYTHON = {"True", "False", "None"}
_DETAILS = {
    "trailing_comma": "A comma before a closing bracket was left out.",
    "comment": "Comments were left out.",
    "raw_newline": "Raw line breaks or tabs inside a string were taken as such.",
    "python_literal": "True, False and None were read as true, false and null.",
    "single_quotes": "Single-quoted strings were read as strings.",
}


def has_spoiled_path(text: str) -> bool:
    """Whether a string in JSON text is a Windows path of which strict JSON makes line breaks and tabs."""
    return any("\\" in path.replace("\\\\", "") for path in _DRIVE_PATH.findall(text))


def to_strict(text: str) -> tuple[str, list[Repair]]:
    """`text` as strict JSON with what was changed on the way.

    Raises:
        InvalidArgument: Where the text has no meaning, or more than one.
    """
    return _Pass(text).run()


def _has_half_quote(comment: str) -> bool:
    """Whether a comment looks like a text such as "#tag" or "//host" that lost its first quote."""
    return comment.count('"') % 2 == 1 or _CLOSES_TEXT.search(comment) is not None


class _Pass:
    """One walk over the text: `stack` holds the open brackets, `wants` what may come next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.stack: list[str] = []
        self.rules: dict[str, None] = {}
        self.path: InvalidArgument | None = None  # a backslash that strict JSON allows, and nobody meant

    def run(self) -> tuple[str, list[Repair]]:
        try:
            read = self.walk()
        except InvalidArgument as error:
            # The whole of a text that was cut off may have been strict JSON, where such a backslash is allowed.
            if self.path is None or error.reason == "truncated":
                raise
            raise self.path from error
        if self.path is not None:
            raise self.path
        return read

    def walk(self) -> tuple[str, list[Repair]]:
        wants = "value"
        while True:
            self.skip()
            if self.at >= len(self.text):
                if wants == "end":
                    break
                raise self.cut_off()
            wants = self.step(wants, self.text[self.at])
        return "".join(self.out), [Repair(rule=rule, detail=_DETAILS[rule]) for rule in self.rules]

    def skip(self) -> None:
        """Pass blanks and comments."""
        text = self.text
        while True:
            self.at = _SPACE.match(text, self.at).end()  # type: ignore[union-attr]  # matches the empty string
            if text[self.at : self.at + 1] not in ("/", "#"):
                return
            comment = _COMMENT.match(text, self.at)
            if comment is None:
                if text.startswith("/*", self.at):
                    raise self.cut_off()
                self.stop("unexpected '/'")
            if _has_half_quote(comment.group()):
                self.stop("a quote is missing, or stands alone in a comment")
            self.rules["comment"] = None
            self.at = comment.end()

    def step(self, wants: str, char: str) -> str:
        if wants == "end":
            raise self.more_behind()
        if wants == "colon":
            if char != ":":
                self.stop("a colon is missing after the key")
            return self.take(":", "value")
        if wants == "next":
            return self.after_value(char)
        closing = "}" if wants.startswith("key") else "]"
        if char == closing and wants in ("key?", "item?", "key,", "item,"):
            if wants.endswith(","):
                self.rules["trailing_comma"] = None
                self.out.pop()
            return self.close(closing)
        if wants.startswith("key"):
            if char not in _STRINGS:
                self.stop("a key in quotes is missing")
            self.string(char)
            return "colon"
        return self.value(char)

    def value(self, char: str) -> str:
        if char in "{[":
            if len(self.stack) >= MAX_DEPTH:
                raise refuse(
                    "too_deep", f"The arguments are nested deeper than {MAX_DEPTH} levels", position=self.at
                )
            self.stack.append("}" if char == "{" else "]")
            return self.take(char, "key?" if char == "{" else "item?")
        if char in _STRINGS:
            self.string(char)
        elif number := _NUMBER.match(self.text, self.at):
            self.out.append(number.group())
            self.at = number.end()
        else:
            self.word()
        return "next" if self.stack else "end"

    def after_value(self, char: str) -> str:
        if char == ",":
            return self.take(",", "key," if self.stack[-1] == "}" else "item,")
        if char == self.stack[-1]:
            return self.close(char)
        if char in "}]":
            self.stop(f"'{char}' does not close what is open, '{self.stack[-1]}' was expected")
        self.stop(f"a comma or '{self.stack[-1]}' is missing")

    def take(self, char: str, wants: str) -> str:
        self.out.append(char)
        self.at += 1
        return wants

    def close(self, char: str) -> str:
        self.stack.pop()
        return self.take(char, "next" if self.stack else "end")

    def word(self) -> None:
        found = _WORD.match(self.text, self.at)
        name = found.group() if found else ""
        if found is None or name not in _WORDS:
            rest = self.text[self.at : self.at + 12]
            if self.at + max(len(name), 1) >= len(self.text) and any(w.startswith(rest) for w in _WORDS):
                raise self.cut_off()
            if name in ("NaN", "Infinity") or rest.startswith("-Infinity"):
                self.stop("NaN and Infinity are not numbers in JSON")
            if re.match(r"[-+.0-9]", rest):
                if re.fullmatch(r"-|-?[0-9.]++(?:[eE][+-]?[0-9]*+)?+", self.text[self.at : self.at + 400]):
                    raise self.cut_off()
                self.stop("this number is not written as JSON writes numbers")
            self.stop(
                "a value is missing" if not name and rest[:1] in ",:}])" else "text needs double quotes"
            )
        if name in _PYTHON:
            self.rules["python_literal"] = None
        self.out.append(_WORDS[name])
        self.at = found.end()

    def string(self, quote: str) -> None:
        found = _STRINGS[quote].match(self.text, self.at)
        if found is None:
            raise self.cut_off()
        body = found.group(1)
        self.check_escapes(body, quote)
        if quote == "'":
            self.rules["single_quotes"] = None
            body = _SINGLE_PARTS.sub(self.single_part, body)
        elif _RAW_BREAK.search(body):
            self.rules["raw_newline"] = None
            body = _RAW_BREAK.sub(lambda part: _BREAKS[part.group()], body)
        if _CONTROL.search(body):
            self.stop("a string holds a raw control character")
        self.out.append(f'"{body}"')
        self.at = found.end()

    def check_escapes(self, body: str, quote: str) -> None:
        if "\\" not in body:
            return
        plain = body.replace("\\\\", "\x00\x00")
        if quote == "'":
            if "\\/" in plain:
                raise self.backslash(plain.index("\\/"))
            plain = plain.replace("\\'", "\x00\x00")
        if odd := _ODD_ESCAPE.search(plain):
            raise self.backslash(odd.start())
        if self.path is not None:
            return
        if path := _BARE_PATH.search(plain):
            self.path = self.backslash(path.end() - 1)
        elif ":\\" in body and has_spoiled_path(f'"{body}"'):
            self.path = self.backslash(plain.index("\\"))

    def single_part(self, part: re.Match[str]) -> str:
        found = part.group()
        if found == "\\'":
            return "'"
        if found == '"':
            return '\\"'
        if found in _BREAKS:
            self.rules["raw_newline"] = None
            return _BREAKS[found]
        return found

    def backslash(self, offset: int) -> InvalidArgument:
        return self.error(
            "a backslash begins no valid escape, or part of a path",
            suggestion="Write every backslash inside a JSON string twice (\\\\), or use / in paths.",
            at=self.at + 1 + offset,
        )

    def stop(self, what: str) -> NoReturn:
        raise self.error(what)

    def error(self, what: str, suggestion: str | None = None, at: int | None = None) -> InvalidArgument:
        at = self.at if at is None else at
        near = self.text[at : at + 24]
        line = self.text.count("\n", 0, at) + 1
        return refuse(
            "bad_json",
            f"The arguments are not valid JSON: {what} (near character {at}"
            f"{f', line {line}' if line > 1 else ''}: {short(near, 60)})",
            suggestion=suggestion,
            position=at,
            near=near,
        )

    def cut_off(self) -> InvalidArgument:
        return refuse(
            "truncated",
            f"The arguments were cut off: the JSON is incomplete at its end, after {len(self.text)} characters",
            position=len(self.text),
        )

    def more_behind(self) -> InvalidArgument:
        rest = self.text[self.at : self.at + 24]
        if rest[0] in "{[" or (rest[0] == "," and rest[1:].lstrip()[:1] == "{"):
            return refuse(
                "ambiguous",
                f"The arguments hold more than one JSON value (a second one begins at character {self.at}); "
                "which one was meant is not clear",
                position=self.at,
            )
        return refuse(
            "bad_json",
            f"There is other text behind the JSON (from character {self.at}: {short(rest, 60)})",
            suggestion="Send the JSON object alone, without any text around it.",
            position=self.at,
            near=rest,
        )
