"""The parts of the model's view, in the order that is promised."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from failsoft.core.kinds import Effect, ErrorKind, defaults_of
from failsoft.feedback._bounds import bounded, clip
from failsoft.feedback._secret_words import is_secret_name
from failsoft.feedback.suggest import advice_for, effect_for, retry_for, title_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.errors import AgentError
    from failsoft.feedback.languages import Language

__all__ = ["relevant", "view_of"]

_LISTS = {"problems": 25, "available_tools": 60, "options": 10, "did_you_mean": 5, "other_tools": 8}
_SAID = ("doubt", "known", "partial", "attempts")
_MAX_NAME_CHARS = 80


def relevant(context: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Of a free-form context what the model's view shows, and how many of each list do not fit.

    Cut before it is cleaned, so that a huge context costs no more than a small one.
    """
    kept: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    for key, most in _LISTS.items():
        items = _items(context.get(key))
        if items:
            kept[key] = [_problem(item) for item in items[:most]] if key == "problems" else items[:most]
            left_out[key] = max(0, len(items) - most)
    left_out.pop("other_tools", None)
    more = context.get("more_tools")
    if isinstance(more, int) and more > 0:
        left_out["available_tools"] = left_out.get("available_tools", 0) + more
    kept.update((key, bounded(context[key], 1000)) for key in _SAID if context.get(key))
    return kept, left_out


def view_of(
    clean: AgentError,
    language: Language,
    *,
    name: str | None,
    tool: Any,
    attempts: int,
    arguments: Any,
    style: str,
) -> dict[str, Any]:
    """The view of an error that is already clean; parts without content are not there."""
    context = clean.context
    known = context.get("attempts")
    tried = max(attempts, known if isinstance(known, int) else 0)
    view: dict[str, Any] = {
        "v": 1,
        "ok": False,
        "error": clip(str(clean.kind), 60),
        "tool": clip(name, _MAX_NAME_CHARS) if name else None,
        "reason": clip(clean.reason, _MAX_NAME_CHARS),
        "message": _message(clean, language),
        "arguments": arguments,
        "problems": context.get("problems"),
        "suggestion": _suggestion(clean, language, tool, style, tried),
        "did_you_mean": _names(context.get("did_you_mean")),
        "available_tools": _names(context.get("available_tools")),
        "retry": retry_for(clean, tool),
        "retry_after_s": _seconds(clean.retry_after_s),
        "attempts": tried if tried > 1 else None,
        "effect": str(effect_for(clean, tool)),
        "doubt": clip(str(context["doubt"]), _MAX_NAME_CHARS) if context.get("doubt") else None,
        "options": [bounded(option, 400) for option in _items(context.get("options"))],
    }
    return {key: value for key, value in view.items() if value is not None and value != [] and value != ""}


def _message(clean: AgentError, language: Language) -> str:
    title = title_of(clean.kind, language)
    message = clean.message.strip()
    if not message:
        return title
    return f"{title}{message}" if language.title_first and message.isascii() else message


def _suggestion(clean: AgentError, language: Language, tool: Any, style: str, attempts: int) -> str:
    context = clean.context
    parts = [advice_for(clean, language, tool, attempts)]
    # JSON has the effect as a key; in text it is said where the kind alone would leave a doubt.
    if (
        style == "text"
        and effect_for(clean, tool) is Effect.NONE
        and defaults_of(clean.kind).effect is Effect.POSSIBLE
    ):
        parts.insert(0, language.effects["none"])
    if context.get("known"):
        parts.append(language.say("known", text=clip(str(context["known"]), 300)))
    seconds = _seconds(clean.retry_after_s)
    # JSON has a key of its own for it; an open breaker is asked about most, so it is said there as well.
    is_said = clean.kind == ErrorKind.CIRCUIT_OPEN or style == "text"
    if seconds is not None and is_said and retry_for(clean, tool) == "later":
        parts.append(language.say("again_after", seconds))
    others = _names(context.get("other_tools"))
    if others:
        parts.append(language.say("other_tools", len(others), names=language.separator.join(others)))
    partial = context.get("partial")
    if partial:
        text = partial if isinstance(partial, str) else json.dumps(bounded(partial, 80), ensure_ascii=False)
        parts.append(language.say("partial", text=clip(text, 200)))
    return language.join.join(parts)


def _problem(item: Any) -> dict[str, Any]:
    """One problem with its known keys; what came for a secret's field is not said again."""
    if not isinstance(item, dict):
        return {"problem": clip(str(item), 300)}
    wanted = ("field", "problem", "got", "expected", "example")
    problem = {key: bounded(item[key], 200) for key in wanted if item.get(key) not in (None, "")}
    if "got" in problem and is_secret_name(str(item.get("field", "")).rsplit(".", 1)[-1]):
        problem["got"] = "[secret]"
    return problem


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _names(value: Any) -> list[str]:
    return [clip(str(item), _MAX_NAME_CHARS) for item in _items(value)]


def _seconds(seconds: float | None) -> float | None:
    """Rounded up, so that nobody comes back too early; 0 says nothing."""
    if not seconds:
        return None
    tenths = -(-seconds * 10 // 1) / 10
    return int(-(-seconds // 1)) if seconds >= 10 or tenths.is_integer() else tenths
