"""The model's view as short sentences, for models and hosts that read text better than JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.feedback.languages import Language

__all__ = ["to_text"]


def to_text(view: Mapping[str, Any], language: Language) -> str:
    """The parts of a JSON view as lines of text; the first line says what failed."""
    kind = view["error"]
    reason = view.get("reason")
    what = kind if not reason or reason == kind else f"{kind} ({reason})"
    lines = [language.say("failed", tool=view.get("tool") or language.say("tool"), kind=what)]
    lines += [view[key] for key in ("message",) if view.get(key)]
    lines += [f"- {_problem(problem, language)}" for problem in view.get("problems", ())]
    if view.get("suggestion"):
        lines.append(view["suggestion"])
    if view.get("attempts"):
        lines.append(language.say("tried", view["attempts"]))
    for key in ("did_you_mean", "available_tools", "options"):
        if view.get(key):
            names = language.separator.join(_as_text(item) for item in view[key])
            lines.append(language.say(key, len(view[key]), names=names))
    for key in ("doubt", "arguments"):
        if view.get(key):
            lines.append(language.say(key, text=_as_text(view[key])))
    return "\n".join(lines)


def _problem(problem: Mapping[str, Any], language: Language) -> str:
    parts = [str(problem["problem"])] if problem.get("problem") else []
    parts += [
        language.say(key, text=_as_text(problem[key]))
        for key in ("expected", "got")
        if problem.get(key) is not None
    ]
    told = "; ".join(parts)
    return f"{problem['field']}: {told}" if problem.get("field") else told


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
