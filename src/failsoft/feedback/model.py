"""The model's view of an error: what failed, why, and what can be done; nothing that cannot be acted on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import UsageError
from failsoft.feedback._bounds import bounded, clip, fit
from failsoft.feedback._sent import read_sent
from failsoft.feedback._view import relevant, view_of
from failsoft.feedback.languages import get_language
from failsoft.feedback.redact import Redactor
from failsoft.feedback.text import to_text

if TYPE_CHECKING:
    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError

__all__ = ["Feedback"]

_MIN_CHARS = 200
_MAX_MESSAGE_CHARS = 32_000
_SHOWN_CHARS = 80
_DEFAULT_REDACTOR = Redactor()


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a failure is told to a model.

    Args:
        style: `json`, or `text` for short sentences.
        language: `en` or `zh`; names, values and the messages of tools stay as they are.
        max_chars: Most characters of one view; at least 200.
        echo_arguments: Whether the call's arguments are shown again, shortened.
        redactor: Cleans what is shown; the default one hides what is listed in the reference.

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
        self,
        error: AgentError,
        *,
        call: ToolCall | None = None,
        tool: Any = None,
        attempts: int = 1,
        redactor: Redactor | None = None,
    ) -> str:
        """The view as one text, never empty, never longer than `max_chars`, in JSON style always valid JSON.

        Redacts by itself, so it is safe on an error that nobody has cleaned, and harmless on one that is clean.

        Args:
            error: What failed; `context` may hold `problems`, `did_you_mean`, `available_tools`, `more_tools`,
                `other_tools`, `options`, `doubt`, `known`, `partial` and `attempts`; the rest is not shown.
            call: The call as the model sent it; what it sent may be said to it again.
            tool: The tool, or anything with `name` and MCP's annotations.
            attempts: How often the body was begun; shown from 2 on.
            redactor: Used in place of the feedback's own, such as that of a harness.
        """
        arguments = None if call is None else read_sent(call.arguments)
        redactor = self.redactor if redactor is None else redactor
        if arguments is not None:
            redactor = redactor.for_call(arguments)
        context, left_out = relevant(error.context)
        clean = redactor.error(error.replace(context=context, message=_middle_out(error.message)), "model")
        shown = None
        if self.echo_arguments and isinstance(arguments, dict) and arguments:
            shown = bounded(redactor.value(bounded(arguments, 2000), "model"), _SHOWN_CHARS)
        language = get_language(self.language)
        name = getattr(tool, "name", None) or (call.name if call is not None else None)
        view = view_of(
            clean, language, name=name, tool=tool, attempts=attempts, arguments=shown, style=self.style
        )
        if "message" in view:
            view["message"] = clip(view["message"], self.max_chars)
        if self.style == "json":
            return _encodable(fit(view, _dump, self.max_chars, language, left_out))
        told = fit(view, lambda parts: to_text(parts, language), self.max_chars, language, left_out)
        return _encodable(clip(told, self.max_chars))


def _middle_out(text: str) -> str:
    """Beginning and end of a very long message, cut at blanks so that no key is cut in two."""
    if len(text) <= _MAX_MESSAGE_CHARS:
        return text
    half = _MAX_MESSAGE_CHARS // 2
    head, _, _ = text[:half].rpartition(" ")
    _, _, tail = text[-half:].partition(" ")
    return f"{head} … {tail}"


def _dump(view: dict[str, Any]) -> str:
    try:
        return json.dumps(view, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN or an infinity among the arguments
        return json.dumps(json.loads(json.dumps(view), parse_constant=str), ensure_ascii=False)


def _encodable(text: str) -> str:
    """Without halves of surrogate pairs, which no transport takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
