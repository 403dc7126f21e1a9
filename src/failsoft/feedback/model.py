"""The model's view of an error: what failed, why, and what can be done; nothing that cannot be acted on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import UsageError
from failsoft.core.kinds import ErrorKind
from failsoft.feedback._bounds import bounded, clip, fit
from failsoft.feedback.languages import get_language
from failsoft.feedback.redact import Redactor
from failsoft.feedback.suggest import advice_for, effect_for, retry_for, title_of
from failsoft.feedback.text import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError
    from failsoft.feedback.languages import Language

__all__ = ["Feedback"]

_MIN_CHARS = 200
_MAX_PROBLEMS = 25
_MAX_NAMES = 60
_MAX_READ_CHARS = 100_000
_DEFAULT_REDACTOR = Redactor()


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a failure is told to a model.

    Args:
        style: `json`, or `text` for short sentences.
        language: `en` or `zh`; names, values and the messages of tools stay as they are.
        max_chars: Most characters of one view; at least 200.
        echo_arguments: Whether the call's arguments are shown again, shortened.

    Raises:
        UsageError: If a value is outside of what is listed.
    """

    style: Literal["json", "text"] = "json"
    language: Literal["en", "zh"] = "en"
    max_chars: int = 1000
    echo_arguments: bool = True
    redactor: Redactor = field(default=_DEFAULT_REDACTOR, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.style not in ("json", "text"):
            raise UsageError(f"style must be 'json' or 'text', got {self.style!r}")
        if self.language not in ("en", "zh"):
            raise UsageError(f"language must be 'en' or 'zh', got {self.language!r}")
        if self.max_chars < _MIN_CHARS:
            raise UsageError(f"max_chars must be at least {_MIN_CHARS}, got {self.max_chars!r}")

    def render(
        self, error: AgentError, *, call: ToolCall | None = None, tool: Any = None, attempts: int = 1
    ) -> str:
        """The view as one text, never empty, never longer than `max_chars`.

        Redacts by itself, so it is safe on an error that nobody has cleaned; cleaning twice changes nothing.

        Args:
            error: What failed; `context` may hold `problems`, `did_you_mean`, `available_tools`, `other_tools`,
                `options`, `doubt`, `partial` and `attempts`.
            call: The call as the model sent it; what it sent may be said to it again.
            tool: The tool, or anything with `name` and MCP's annotations.
            attempts: How often the body was begun.
        """
        arguments = _arguments_of(call)
        redactor = self.redactor.bound(keep=_texts_in(arguments)) if arguments else self.redactor
        clean = redactor.error(error, "model")
        language = get_language(self.language)
        view = self._view(error, clean, call, tool, attempts, language)
        if self.echo_arguments and isinstance(arguments, dict) and arguments:
            # Between the message and the problems, as the order of keys is promised.
            shown = bounded(redactor.value(bounded(arguments, 2000), "model"), 80)
            view = _insert(view, "message", "arguments", shown)
        if self.style == "json":
            return fit(view, _dump, self.max_chars, language)
        told = fit(view, lambda parts: to_text(parts, language), self.max_chars, language)
        return clip(told, self.max_chars)

    def _view(
        self,
        error: AgentError,
        clean: AgentError,
        call: ToolCall | None,
        tool: Any,
        attempts: int,
        language: Language,
    ) -> dict[str, Any]:
        context = clean.context
        known = context.get("attempts")
        tried = max(attempts, known if isinstance(known, int) else 0)
        name = getattr(tool, "name", None) or (call.name if call is not None else None)
        listed, left_out = _lists(error.context, context)
        message = _message(clean, language)
        notes = [language.say(phrase, n) for phrase, n in left_out.items()]
        view: dict[str, Any] = {
            "v": 1,
            "ok": False,
            "error": clip(str(clean.kind), 60),
            "tool": clip(str(name), 80) if name else None,
            "reason": clip(clean.reason, 80),
            "message": language.join.join([clip(message, self.max_chars), *notes]),
            "problems": listed["problems"],
            "suggestion": _suggestion(error, clean, tool, language, self.style),
            "did_you_mean": listed["did_you_mean"],
            "available_tools": listed["available_tools"],
            "retry": retry_for(error, tool),
            "retry_after_s": _seconds(clean.retry_after_s),
            "attempts": tried if tried > 1 else None,
            "effect": str(effect_for(error, tool)),
            "doubt": clip(str(context["doubt"]), 80) if context.get("doubt") else None,
            "options": listed["options"],
        }
        return {key: value for key, value in view.items() if value is not None and value != []}


def _dump(view: dict[str, Any]) -> str:
    try:
        return json.dumps(view, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN among the arguments
        return json.dumps(json.loads(json.dumps(view), parse_constant=str), ensure_ascii=False)


def _message(clean: AgentError, language: Language) -> str:
    title = title_of(clean.kind, language)
    message = clean.message.strip()
    if not message:
        return title
    if language.title_first and message.isascii():
        return f"{title}{message}"
    return message


def _suggestion(error: AgentError, clean: AgentError, tool: Any, language: Language, style: str) -> str:
    context = clean.context
    parts = [advice_for(clean, language, tool)]
    seconds = _seconds(clean.retry_after_s)
    if (
        seconds is not None
        and (error.kind == ErrorKind.CIRCUIT_OPEN or style == "text")
        and retry_for(error, tool) == "later"
    ):
        parts.append(language.say("again_after", seconds))
    others = _names(context.get("other_tools"))[:8]
    if others:
        parts.append(language.say("other_tools", len(others), names=language.separator.join(others)))
    if context.get("partial"):
        partial = context["partial"]
        text = (
            partial
            if isinstance(partial, str)
            else json.dumps(bounded(partial, 80), ensure_ascii=False, default=str)
        )
        parts.append(language.say("partial", text=clip(text, 200)))
    return language.join.join(parts)


def _lists(raw: Mapping[str, Any], clean: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, int]]:
    """The lists of a view, each bounded, and how many of each were left out."""
    problems = [_problem(item) for item in _items(clean.get("problems"))[:_MAX_PROBLEMS]]
    listed: dict[str, list[Any]] = {
        "problems": problems,
        "did_you_mean": [clip(name, 80) for name in _names(clean.get("did_you_mean"))[:5]],
        "available_tools": [clip(name, 80) for name in _names(clean.get("available_tools"))[:_MAX_NAMES]],
        "options": [bounded(option, 400) for option in _items(clean.get("options"))[:10]],
    }
    phrases = {"problems": "more_problems", "available_tools": "more_tools", "options": "more_options"}
    missing = {phrase: len(_items(raw.get(key))) - len(listed[key]) for key, phrase in phrases.items()}
    return listed, {phrase: n for phrase, n in missing.items() if n > 0}


def _problem(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        return {"problem": clip(str(item), 300)}
    wanted = ("field", "problem", "got", "expected", "example")
    return {key: bounded(item[key], 200) for key in wanted if item.get(key) not in (None, "")}


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _names(value: Any) -> list[str]:
    return [str(item) for item in _items(value)]


def _seconds(seconds: float | None) -> float | None:
    """Rounded up, so that nobody comes back too early; 0 says nothing."""
    if not seconds:
        return None
    tenths = -(-seconds * 10 // 1) / 10
    return int(-(-seconds // 1)) if seconds >= 10 or tenths.is_integer() else tenths


def _insert(view: dict[str, Any], after: str, key: str, value: Any) -> dict[str, Any]:
    ordered: dict[str, Any] = {}
    for name, item in view.items():
        ordered[name] = item
        if name == after:
            ordered[key] = value
    return ordered


def _arguments_of(call: ToolCall | None) -> Any:
    """The arguments as a mapping where they can be read; else as the text that was sent."""
    if call is None or call.arguments is None:
        return None
    raw = call.arguments
    if isinstance(raw, bytes):
        raw = raw[:_MAX_READ_CHARS].decode("utf-8", "replace")
    if not isinstance(raw, str):
        return dict(raw)
    if len(raw) > _MAX_READ_CHARS:
        return raw[:_MAX_READ_CHARS]
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text that the model sent."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth < 6:
        for item in value.values():
            yield from _texts_in(item, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < 6:
        for item in value[:200]:
            yield from _texts_in(item, depth + 1)
