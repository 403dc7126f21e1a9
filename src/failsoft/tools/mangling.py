"""What providers and models do to tool names, undone; and names that look alike.

Seen in the wild: `functions.read_file`, `default_api:view`, `mcp__server__view`, `manage_cart<|channel|>commentary`,
`functions.read_file:0`, `Read_File`, `read-file`, `"view"`, `view()`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Reading", "folded", "near_names", "readings"]

_MAX_CHARS = 300
_MAX_NEAR = 3
# Measured on thirty pairs: at 67 of 100 `refund_order` still finds `issue_refund`; `delete_file` and `read_file`,
# which share a word but no meaning, have 62, and unrelated names less than 60.
_MIN_SCORE = 65.0

_CONTROL = re.compile(r"<[|｜][^<>]*[|｜]>")
_TAGS = re.compile(r"</?[a-zA-Z_][^<>]{0,40}>")
_CALL_INDEX = re.compile(r":\d{1,4}$")
_RECIPIENT = re.compile(r"\bto=([^\s<>]+)")
_NAMESPACES = frozenset(
    {
        "api",
        "default_api",
        "function",
        "functions",
        "multi_tool_use",
        "namespace",
        "tool",
        "tool_code",
        "tools",
    }
)
_MCP = re.compile(r"mcp__(?:(?!__).)+__(.+)", re.DOTALL)
_LAST_PART = re.compile(r"(?:.*?[.:/]|.*__)(?=[^.:/]+$)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read a requested name.

    Args:
        text: The name that may be meant.
        rule: What was undone; empty for nothing.
        certain: Whether providers are known to do this; else it may only be suggested.
    """

    text: str
    rule: str = ""
    certain: bool = True


def folded(name: str) -> str:
    """A name without what models get wrong most: case, `-` or `.` for `_`, full-width letters."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\s_.\-]+", "", plain)


def readings(name: str) -> list[Reading]:
    """Every way to read a requested name, the one that changes least first; bounded work for any text."""
    if len(name) > _MAX_CHARS:
        return [Reading(text=name[:_MAX_CHARS], certain=False)]
    made = {name: Reading(text=name)}
    for text, rule in _without_tokens(name):
        made.setdefault(text, Reading(text=text, rule=rule))
    for start in list(made.values()):
        text, rule = _without_namespace(start.text)
        if rule:
            made.setdefault(text, Reading(text=text, rule=f"{start.rule}+{rule}" if start.rule else rule))
    for start in list(made.values()):
        last = _LAST_PART.sub("", start.text, count=1)
        made.setdefault(last, Reading(text=last, rule="prefix", certain=False))
    return [reading for reading in made.values() if reading.text]


def _without_tokens(name: str) -> list[tuple[str, str]]:
    found = []
    recipient = _RECIPIENT.search(name)
    if recipient:
        found.append((recipient.group(1), "control_tokens"))
    if _CONTROL.search(name) or _TAGS.search(name):
        # What follows a control token is the channel's name, not the tool's; a leading one has the name behind it.
        parts = [part.strip() for part in _TAGS.sub("\0", _CONTROL.sub("\0", name)).split("\0")]
        first = next((part for part in parts if part), "")
        found.append((first, "control_tokens"))
    for text, rule in [*found, (name, "")]:
        bare = _CALL_INDEX.sub("", text.strip().strip("\"'`").removesuffix("()").strip())
        if bare != text:
            found.append((bare, rule or "punctuation"))
    return found


def _without_namespace(text: str) -> tuple[str, str]:
    server = _MCP.fullmatch(text)
    if server:
        return server.group(1), "namespace"
    rest, changed = text, False
    while True:
        head, sign, tail = _split(rest)
        if not sign or head.casefold() not in _NAMESPACES:
            return rest, "namespace" if changed else ""
        rest, changed = tail, True


def _split(text: str) -> tuple[str, str, str]:
    found = re.search(r"[.:/]", text)
    if found is None:
        return text, "", ""
    return text[: found.start()], found.group(), text[found.end() :]


def near_names(wanted: Sequence[str], names: Iterable[str], *, first: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that look like one of the wanted ones, best first, at most three.

    Args:
        wanted: Readings of the requested name.
        names: The names there are.
        first: Names that are known to fit; they lead.
    """
    # Imported when a name is wrong: importing failsoft has a budget, and most runs never need it.
    from rapidfuzz import fuzz, process

    known = {name: _words(name) for name in names}
    scores: dict[str, float] = {}
    for text in dict.fromkeys(_words(item) for item in wanted):
        for scorer in (fuzz.ratio, fuzz.token_sort_ratio, fuzz.token_set_ratio):
            for _, score, name in process.extract(
                text, known, scorer=scorer, limit=_MAX_NEAR, score_cutoff=_MIN_SCORE
            ):
                scores[name] = max(scores.get(name, 0.0), score)
    ranked = sorted(scores, key=lambda name: (-scores[name], name))
    return tuple(dict.fromkeys([*first, *ranked]))[:_MAX_NEAR]


def _words(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.split(r"[\s_.:/\-]+", unicodedata.normalize("NFKC", spaced).casefold())).strip()
