"""What is believed of a server's tools: its own annotations as far as it is trusted, and what the user says over them.

Source of the annotations: the Model Context Protocol, `ToolAnnotations`; its advice is to trust them only from a server
that is itself trusted. A hint that is absent stays "not declared": the protocol's defaults are the worst case, and
taking them for a declaration would make every tool of a careless server destructive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from failsoft.core.errors import AgentError, UsageError, make_error
from failsoft.core.kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TRUST", "ErrorRule", "ServerOptions", "Trust", "effects_of", "hints_of"]

Trust = Literal["all", "cautious", "none"]
TRUST: Final[tuple[str, ...]] = get_args(Trust)

_HINTS: Final = {
    "readOnlyHint": "read_only",
    "idempotentHint": "idempotent",
    "destructiveHint": "destructive",
    "openWorldHint": "open_world",
}
# What makes the runtime more careful is believed of anybody.
_CAREFUL: Final = {"read_only": False, "idempotent": False, "destructive": True}
_WORDS: Final = (
    *_HINTS.values(),
    "atomic",
    "category",
    "doubts",
    "identity",
    "idempotency_key",
    "key_ttl_s",
    "parallel",
    "poll",
    "version",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRule:
    """Takes an `isError` result for a failure of a known kind.

    Args:
        match: A regular expression, searched in the result's text.
        kind: What it means.
        effect: `none`, `possible` or `done`; default the kind's. `none` must be certain: it allows another attempt.
        retry_after_s: Seconds to wait at least.
    """

    match: re.Pattern[str]
    kind: str
    effect: str | None = None
    retry_after_s: float | None = None

    @classmethod
    def of(cls, data: Any, where: str) -> ErrorRule:
        """A rule from plain data.

        Raises:
            UsageError: It cannot work.
        """
        if not isinstance(data, Mapping) or not {"match", "kind"} <= set(data):
            raise UsageError(f"{where}: an error rule has `match` and `kind`, got {data!r}")
        unknown = set(data) - {"match", "kind", "effect", "retry_after_s"}
        if unknown or str(data["kind"]) not in set(ErrorKind):
            wrong = sorted(unknown)[0] if unknown else data["kind"]
            raise UsageError(
                f"{where}: an error rule knows no {wrong!r}\n\nhint: kinds: {', '.join(ErrorKind)}"
            )
        try:
            rule = cls(
                match=re.compile(str(data["match"])),
                kind=str(data["kind"]),
                effect=data.get("effect"),
                retry_after_s=data.get("retry_after_s"),
            )
            rule.error("")
        except (re.error, ValueError, TypeError) as exc:
            raise UsageError(f"{where}: the error rule {dict(data)!r} cannot work: {exc}") from exc
        return rule

    def error(self, text: str) -> AgentError:
        """The error that it makes of a result."""
        return make_error(
            self.kind, text, reason="is_error", effect=self.effect, retry_after_s=self.retry_after_s
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What the user says of one server.

    Args:
        trust: How far its annotations are believed: `all`; `cautious`, only those that ask for care; `none`.
        tools: What is said of single tools, by name or pattern (`get_*`): the words of `@tool` about effects, and
            `errors`, a list of error rules. Wins over the annotations; a later pattern over an earlier one.

    Raises:
        UsageError: A word that is not known.
    """

    trust: Trust = "all"
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.trust not in TRUST:
            raise UsageError(f"trust is one of {', '.join(TRUST)}, got {self.trust!r}")
        for pattern, words in self.tools.items():
            if not isinstance(words, Mapping):
                raise UsageError(f"what is said of {pattern!r} is a table of words, got {words!r}")
            for word in words:
                if word not in (*_WORDS, "errors"):
                    known = ", ".join((*_WORDS, "errors"))
                    raise UsageError(f"nothing is known of {word!r} for {pattern!r}\n\nhint: words: {known}")
            rules_of(words, pattern)

    def said_of(self, name: str) -> dict[str, Any]:
        """What the user says of a tool."""
        said: dict[str, Any] = {}
        for pattern, words in self.tools.items():
            if fnmatchcase(name, pattern):
                said |= words
        return said


def hints_of(definition: Mapping[str, Any]) -> dict[str, bool]:
    """The annotations that a server gives, in the words of `@tool`; anything but true and false is left out."""
    given = definition.get("annotations")
    if not isinstance(given, Mapping):
        return {}
    return {word: given[hint] for hint, word in _HINTS.items() if isinstance(given.get(hint), bool)}


def effects_of(definition: Mapping[str, Any], options: ServerOptions) -> dict[str, Any]:
    """The words of `@tool` for a server's tool."""
    hints = hints_of(definition)
    if options.trust == "none":
        hints = {}
    elif options.trust == "cautious":
        hints = {word: value for word, value in hints.items() if _CAREFUL.get(word) is value}
    said = options.said_of(str(definition.get("name")))
    rules = rules_of(said, "tool")
    words: dict[str, Any] = {**hints, **{word: value for word, value in said.items() if word != "errors"}}
    if words.get("read_only"):
        # For a tool that only looks, the protocol gives the other two no meaning.
        words = {word: value for word, value in words.items() if word not in ("destructive", "idempotent")}
    if rules:
        words["error_from_result"] = _finder(rules)
    return words


def rules_of(words: Mapping[str, Any], where: str) -> list[ErrorRule]:
    """The error rules in what is said of a tool.

    Raises:
        UsageError: They cannot work.
    """
    rules = words.get("errors", ())
    if not isinstance(rules, list | tuple):
        raise UsageError(f"errors of {where!r} is a list of rules, got {rules!r}")
    return [ErrorRule.of(rule, where) for rule in rules]


def text_of(result: Any) -> str:
    """The text of a tool's result."""
    content = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(content, list):
        return ""
    return "\n".join(
        block["text"]
        for block in content
        if isinstance(block, Mapping) and isinstance(block.get("text"), str)
    )


def _finder(rules: list[ErrorRule]) -> Callable[[Any], AgentError | None]:
    def find(result: Any) -> AgentError | None:
        if not isinstance(result, Mapping) or result.get("isError") is not True:
            return None
        text = text_of(result)
        return next((rule.error(text) for rule in rules if rule.match.search(text)), None)

    return find
