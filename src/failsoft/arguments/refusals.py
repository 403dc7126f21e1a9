"""The refusals of this room: one sentence for the model each, which says that nothing was run."""

from __future__ import annotations

from typing import Any

from failsoft.core.errors import InvalidArgument

__all__ = ["MAX_CHARS", "MAX_DEPTH", "refuse", "short"]

# 10 MiB: more than any provider sends; a linear reader needs some seconds for it.
MAX_CHARS = 10 * 1024 * 1024
# Deep enough for any honest tool, shallow enough for every recursion below it.
MAX_DEPTH = 100

_ADVICE = {
    "bad_json": "Send the arguments again as one JSON object in standard JSON.",
    "truncated": "Send a shorter value, or split the work into several smaller calls.",
    "not_an_object": "Send one JSON object whose keys are the parameter names.",
    "ambiguous": "Send exactly one JSON object in which every key occurs once.",
    "too_large": "Send less at once, or split the work into several calls.",
    "too_deep": "Send a flatter object.",
}


def short(value: object, limit: int = 80) -> str:
    """`repr` for a message, cut in the middle of nothing: bounded whatever the value's size."""
    text = repr(value[: limit + 20]) if isinstance(value, str | bytes | list | tuple) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def refuse(reason: str, message: str, *, suggestion: str | None = None, **context: Any) -> InvalidArgument:
    """The error for `reason`; nothing was run.

    Args:
        reason: Short machine code.
        message: What is wrong, without a final full stop.
        suggestion: What to do; a default for the reason where not given.
        context: Details, such as `position` or `problems`.
    """
    return InvalidArgument(
        f"{message}; nothing was run.",
        reason=reason,
        suggestion=_ADVICE.get(reason) if suggestion is None else suggestion,
        context={key: value for key, value in context.items() if value is not None},
    )
