"""dialects owns how each provider is spoken to: tool lists out, calls in, results out. One file per provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failsoft.core.errors import UsageError
from failsoft.tools.dialects import anthropic, gemini, lenient, mcp, openai, openai_responses, openai_strict
from failsoft.tools.dialects.base import Adapted, Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from failsoft.core.calls import ToolCall
    from failsoft.core.results import ToolResult

__all__ = ["DIALECTS", "Adapted", "Dialect", "calls_from", "dialect", "to_message", "to_messages"]

DIALECTS: Final[Mapping[str, Dialect]] = {
    made.name: made
    for made in (
        anthropic.DIALECT,
        openai.DIALECT,
        openai_strict.DIALECT,
        openai_responses.DIALECT,
        gemini.DIALECT,
        mcp.DIALECT,
        lenient.DIALECT,
    )
}


def dialect(name: str) -> Dialect:
    """The dialect of this name; `_` counts as `-`.

    Raises:
        UsageError: For a name that is none.
    """
    found = DIALECTS.get(str(name).replace("_", "-"))
    if found is None:
        raise UsageError(f"there is no dialect {name!r}\n\nhint: one of {', '.join(DIALECTS)}")
    return found


def calls_from(dialect_name: str, message: Any) -> list[ToolCall]:
    """The calls in a model's message or response, as dict or SDK object; a cut-off one is marked `truncated`.

    Hand in the whole response where you can: whether the output limit cut the last call off is written there.
    Missing and repeated ids are replaced in the message too, so that it still fits its results when it is sent back.

    Raises:
        UsageError: For an unknown dialect.
    """
    return dialect(dialect_name).calls_from(message)


def to_messages(dialect_name: str, results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """The messages that answer calls, for `messages.extend(...)`: one for all, or one per result, as the provider wants.

    Raises:
        UsageError: For an unknown dialect.
    """
    return dialect(dialect_name).to_messages(results)


def to_message(dialect_name: str, results: Sequence[ToolResult]) -> dict[str, Any]:
    """The one message that answers calls, for `messages.append(...)`.

    Raises:
        UsageError: For an unknown dialect, for no results, and for several results
            where the provider wants a message for each: use `to_messages` and `extend` there.
    """
    made = to_messages(dialect_name, results)
    if len(made) != 1:
        raise UsageError(
            f"{dialect_name} answers {len(results)} results with {len(made)} messages, not with one"
            f"\n\nhint: messages.extend(to_messages({dialect_name!r}, results))"
        )
    return made[0]
