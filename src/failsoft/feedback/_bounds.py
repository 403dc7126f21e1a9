"""Making a view fit: whole parts are shortened or left out in a fixed order, JSON is never cut in the middle.

The order, least useful first: long argument values, the arguments, examples, tools, problems beyond the first,
a long message, a long suggestion, close names, options, the remaining problems, and at last everything but the kind,
`retry` and `effect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from failsoft.feedback.languages import Language

__all__ = ["bounded", "clip", "fit"]

_MAX_KEYS = 20
_MAX_DEPTH = 4

_COUNTED = {
    "problems": "more_problems",
    "available_tools": "more_tools",
    "options": "more_options",
    "did_you_mean": "more_names",
}


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, with a mark that says that there was more."""
    return text if len(text) <= limit else f"{text[: max(0, limit - 1)]}…"


def bounded(value: Any, limit: int, depth: int = 0) -> Any:
    """A JSON-able value with long texts, long lists and deep nesting shortened."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}… ({len(value)} chars)"
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 200 else f"{clip(hex(value), limit)} ({value.bit_length()} bits)"
    if isinstance(value, dict):
        if depth >= _MAX_DEPTH:
            return f"{{… {len(value)} keys}}"
        items = list(value.items())[:_MAX_KEYS]
        short = {clip(str(key), 60): bounded(item, limit, depth + 1) for key, item in items}
        if len(value) > len(items):
            short["…"] = f"{len(value) - len(items)} more"
        return short
    if isinstance(value, (list, tuple)):
        if depth >= _MAX_DEPTH:
            return f"[… {len(value)} items]"
        listed = [bounded(item, limit, depth + 1) for item in value[:_MAX_KEYS]]
        return listed if len(value) <= _MAX_KEYS else [*listed, f"… {len(value) - _MAX_KEYS} more"]
    return clip(str(value), limit)


def fit(
    view: dict[str, Any],
    dump: Callable[[dict[str, Any]], str],
    max_chars: int,
    language: Language,
    left_out: dict[str, int],
) -> str:
    """The view as text of at most `max_chars` characters.

    Args:
        view: The parts; shortened in place.
        dump: Makes the text.
        max_chars: Most characters.
        language: Says how many were left out.
        left_out: List to how many of it are already left out; counted on in place.
    """
    text = _told(view, dump, left_out, language)
    for _ in _steps(view, left_out):
        if len(text) <= max_chars:
            return text
        text = _told(view, dump, left_out, language)
    return text


def _told(
    view: dict[str, Any], dump: Callable[[dict[str, Any]], str], left_out: dict[str, int], language: Language
) -> str:
    """The view with a note of what is not listed."""
    notes = [language.say(_COUNTED[key], n) for key, n in left_out.items() if n]
    if not notes or "message" not in view:
        return dump(view)
    return dump({**view, "message": language.join.join([view["message"], *notes])})


def _steps(view: dict[str, Any], left_out: dict[str, int]) -> Iterator[None]:
    """Each step makes the view smaller."""
    for limit in (40, 15):
        if "arguments" in view:
            view["arguments"] = bounded(view["arguments"], limit)
            yield
    if view.pop("arguments", None) is not None:
        yield
    for problem in view.get("problems", ()):
        problem.pop("example", None)
    yield
    yield from _shrink(view, "available_tools", 8, left_out)
    yield from _shrink(view, "problems", 3, left_out)
    yield from _clip_texts(view, 200)
    yield from _shrink(view, "did_you_mean", 1, left_out)
    yield from _shrink(view, "problems", 1, left_out)
    yield from _shrink(view, "available_tools", 1, left_out)
    yield from _shrink(view, "options", 2, left_out)
    yield from _clip_texts(view, 80)
    for key in ("did_you_mean", "available_tools", "problems", "options"):
        yield from _shrink(view, key, 0, left_out)
    for key in ("reason", "attempts", "message", "tool", "retry_after_s", "suggestion", "doubt"):
        view.pop(key, None)
        yield


def _shrink(view: dict[str, Any], key: str, least: int, left_out: dict[str, int]) -> Iterator[None]:
    """Halve a list until `least` of it are left."""
    items = view.get(key)
    while items and len(items) > least:
        size = max(least, len(items) // 2)
        left_out[key] = left_out.get(key, 0) + len(items) - size
        items = items[:size]
        if items:
            view[key] = items
        else:
            del view[key]
        yield


def _clip_texts(view: dict[str, Any], limit: int) -> Iterator[None]:
    for problem in view.get("problems", ()):
        for key, value in problem.items():
            problem[key] = bounded(value, limit // 2)
    if "options" in view:
        view["options"] = [bounded(option, limit) for option in view["options"]]
    yield
    for key in ("message", "suggestion"):
        if len(view.get(key, "")) > limit:
            view[key] = clip(view[key], limit)
            yield
