"""Names that a provider accepts, and the way back."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ANY_NAME", "COMMON", "GEMINI", "PROPERTY", "NameMap", "NameRule", "safe_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """Which names a provider accepts.

    Args:
        pattern: A name must match it as a whole.
        max_chars: Longest name.
        bad: What is replaced by an underscore.
    """

    pattern: re.Pattern[str]
    max_chars: int
    bad: re.Pattern[str]


# Anthropic and OpenAI document this pattern; most endpoints that imitate them enforce it.
COMMON: Final = NameRule(
    pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), max_chars=64, bad=re.compile(r"[^a-zA-Z0-9_-]+")
)
# Gemini's FunctionDeclaration also wants a letter or an underscore at the front.
GEMINI: Final = NameRule(
    pattern=re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}"), max_chars=64, bad=re.compile(r"[^a-zA-Z0-9_-]+")
)
# Anthropic: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
PROPERTY: Final = NameRule(
    pattern=re.compile(r"[a-zA-Z0-9_.-]{1,64}"), max_chars=64, bad=re.compile(r"[^a-zA-Z0-9_.-]+")
)
ANY_NAME: Final = NameRule(pattern=re.compile(r"(?s).+"), max_chars=10_000, bad=re.compile(r"(?!)"))

_HASH_CHARS = 8


def safe_name(name: str, rule: NameRule = COMMON) -> str:
    """The name itself where the provider accepts it, else a readable alias.

    An alias ends in a hash of the whole name, so two names that clean up to the same text stay apart
    and the alias of a name never depends on which other tools there are.
    """
    if rule.pattern.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    head = rule.bad.sub("_", name).strip("_-") or "tool"
    if not rule.pattern.fullmatch(head[0]):
        head = f"t_{head}"
    return f"{head[: rule.max_chars - _HASH_CHARS - 1]}_{digest}"


class NameMap:
    """Maps tool names to a provider's aliases and back; distinct both ways.

    Args:
        names: The tools' own names, distinct.
        rule: What the provider accepts.
    """

    def __init__(self, names: Iterable[str], rule: NameRule = COMMON) -> None:
        self._out: dict[str, str] = {}
        self._back: dict[str, str] = {}
        # Names that are fine as they are come first, so that no alias can take their place.
        for name in sorted(names, key=lambda item: safe_name(item, rule) != item):
            alias, salt = safe_name(name, rule), 0
            while alias in self._back:
                salt += 1
                alias = safe_name(f"{name}\0{salt}", rule)
            self._out[name], self._back[alias] = alias, name

    def alias(self, name: str) -> str:
        """What the provider is told; a `KeyError` for a name that was not handed in."""
        return self._out[name]

    def original(self, alias: str) -> str | None:
        """The tool's own name; None for an alias that was never given out."""
        return self._back.get(alias)

    def __len__(self) -> int:
        return len(self._out)

    def __repr__(self) -> str:
        changed = sum(1 for name, alias in self._out.items() if name != alias)
        return f"NameMap({len(self._out)} names, {changed} changed)"
