"""What one row of a case came to, as facts that expectations are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from failsoft.feedback import Feedback
from failsoft.policies import Retry
from failsoft.policies.retry import decide

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.errors import AgentError
    from failsoft.core.results import Content, ToolResult

__all__ = ["Seen", "of_error", "of_result", "retry_word", "text_of"]

_RETRY = Retry(max_attempts=3, base_s=0.0)


class _NoJitter:
    @staticmethod
    def random() -> float:
        return 0.5


@dataclass(slots=True, kw_only=True)
class Seen:
    """What was observed. A fact that an operation does not measure is not in `facts`.

    Args:
        error: The error; None for a success.
        doubt: The doubt that was opened or met.
        texts: What the model is told, in every way in which it may be told.
        ran_with: The arguments of every execution.
        repeatable: Whether the tool was declared so; None where the row is not about one tool.
        facts: The rest by name.
        checks: Words of this operation alone, with their checks; they go before those of all.
    """

    error: AgentError | None = None
    doubt: str | None = None
    texts: tuple[str, ...] = ()
    ran_with: list[dict[str, Any]] | None = None
    repeatable: bool | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    checks: dict[str, Callable[[Seen, Any], str | None]] = field(default_factory=dict)


def text_of(content: Content) -> str:
    """The text in what the model is told."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def retry_word(error: AgentError | None, repeatable: bool | None = None) -> bool | str:
    """Whether the runtime would try again by itself: always, never, or for repeatable tools only.

    Args:
        repeatable: What the tool is, where that is known; then the answer is about this tool.
    """
    if error is None:
        return False
    for_repeatable, for_others = (
        decide(_RETRY, attempt=1, error=error, repeatable=kind, remaining_s=float("inf"), rng=_NoJitter()).go
        for kind in (True, False)
    )
    if repeatable is not None:
        return for_repeatable if repeatable else for_others
    return True if for_others else "if_idempotent" if for_repeatable else False


def of_error(error: AgentError | None, *more_texts: str) -> Seen:
    """What a classification came to."""
    if error is None:
        return Seen(texts=("ok",))
    return Seen(error=error, texts=(Feedback().render(error), *more_texts))


def of_result(result: ToolResult, **facts: Any) -> Seen:
    """What a call came to."""
    return Seen(
        error=result.error,
        doubt=result.doubt,
        texts=(text_of(result.content),),
        facts={
            "content": result.content,
            "value": result.value,
            "attempts": result.attempts,
            "is_error": not result.ok,
            "raises": False,
            **facts,
        },
    )
