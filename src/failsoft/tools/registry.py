"""The tools of a harness by name, and what to say when a model asks for a name that is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.core.annotations import Standing
from failsoft.core.calls import Repair
from failsoft.core.errors import UnknownTool, UsageError
from failsoft.tools.definition import Tool
from failsoft.tools.mangling import folded, near_names, readings
from failsoft.tools.names import COMMON, GEMINI, NameMap
from failsoft.tools.render import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from failsoft.core.errors import AgentError

__all__ = ["Registry", "Resolution", "undeclared_hint"]

AnyTool = Tool[..., Any]

# A list longer than this costs more than it helps; the model has the full list in its tool definitions.
_MAX_LISTED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a requested name stands for.

    Args:
        tool: The tool; None where the name is not one, or not for certain.
        repaired: How the name was undone; None for an exact name.
        near: Names that may have been meant, best first.
    """

    tool: AnyTool | None = None
    repaired: Repair | None = None
    near: tuple[str, ...] = ()


class Registry:
    """The tools of a harness. Immutable; safe to share between threads.

    Args:
        tools: `Tool`s, or plain functions, which are made into undeclared tools.

    Raises:
        UsageError: For two tools of one name, an unbound method, or what is no tool.
    """

    def __init__(self, tools: Iterable[AnyTool | Callable[..., Any]]) -> None:
        self._tools: dict[str, AnyTool] = {}
        for item in tools:
            made = _as_tool(item)
            other = self._tools.get(made.name)
            if other is not None:
                raise UsageError(
                    f"two tools are called {made.name!r}: {_place(other)} and {_place(made)}"
                    "\n\nhint: rename one: tool(fn, name='...') or tool.replace(name='...')"
                )
            self._tools[made.name] = made
        # Made once: a frozen record costs ten times the look-up.
        self._exact = {name: Resolution(tool=made) for name, made in self._tools.items()}
        for names in (NameMap(self._tools, COMMON), NameMap(self._tools, GEMINI)):
            for name, found in list(self._exact.items())[: len(self._tools)]:
                self._exact.setdefault(names.alias(name), found)
        self._folded: dict[str, list[AnyTool]] = {}
        for made in self._tools.values():
            self._folded.setdefault(folded(made.name), []).append(made)

    def get(self, name: str) -> AnyTool | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def resolve(self, name: str) -> Resolution:
        """The tool that a requested name stands for.

        An exact name or an alias that a dialect gave out is the tool.
        What providers and models are known to add (a namespace, control tokens, another case, `-` for `_`) is undone
        only where exactly one tool fits and it is not protected; the repair is recorded.
        Everything else is only suggested.
        """
        return self._exact.get(name) or self._undo(name)

    def _undo(self, name: str) -> Resolution:
        fits: dict[str, AnyTool] = {}
        rule = ""
        for reading in readings(name):
            exact = self._tools.get(reading.text)
            found = [exact] if exact is not None else self._folded.get(folded(reading.text), [])
            if reading.certain and found and not rule:
                rule = (
                    reading.rule if exact is not None else f"{reading.rule}+case" if reading.rule else "case"
                )
            for item in found:
                fits.setdefault(item.name, item)
        near = near_names([reading.text for reading in readings(name)], self._tools, first=fits)
        only = next(iter(fits.values())) if len(fits) == 1 else None
        if only is None or not rule or _is_guarded(only):
            return Resolution(near=near)
        detail = f"{safe_text(name[:80])!r} was read as {only.name!r}"
        return Resolution(
            tool=only, repaired=Repair(rule="tool_name", field="", detail=f"{detail} ({rule})"), near=near
        )

    def unknown_tool_error(self, name: str) -> AgentError:
        """The error for a name that is no tool's: names what may have been meant, and what there is."""
        near = self.resolve(name).near
        shown = safe_text(name if len(name) <= 80 else f"{name[:80]}…")
        listed = list(self._tools)
        if len(listed) > _MAX_LISTED:
            listed = [*near, *(item for item in listed if item not in near)][:_MAX_LISTED]
        context: dict[str, Any] = {"tool": shown, "available_tools": listed}
        if len(self._tools) > len(listed):
            context["more_tools"] = len(self._tools) - len(listed)
        if near:
            context["did_you_mean"] = list(near)
            suggestion = f"Call one of these by its exact name: {', '.join(near)}."
        elif listed:
            suggestion = "Use one of the available tools, or answer without a tool."
        else:
            suggestion = "There are no tools; answer without one."
        return UnknownTool(
            f"There is no tool called {shown!r}.",
            reason="tool_not_found",
            suggestion=suggestion,
            context=context,
        )

    def others_in_category(self, tool: AnyTool) -> tuple[str, ...]:
        """Names of the other tools of the same category; empty where it has none."""
        if tool.category is None:
            return ()
        return tuple(
            other.name
            for other in self._tools.values()
            if other.category == tool.category and other is not tool
        )

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._tools)})"


def undeclared_hint(tools: Iterable[AnyTool]) -> str:
    """One sentence that names the tools whose effects are not declared, and the word to add; empty where none is."""
    names = [tool.name for tool in tools if tool.standing is Standing.UNDECLARED]
    if not names:
        return ""
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return (
        f"effects not declared: {shown}; such a tool is never repeated after a failure that may have had an effect. "
        "Add read_only=True where it only looks, idempotent=True where a second identical call changes nothing more, "
        "or read_only=False where it acts: @tool(read_only=True)"
    )


def _as_tool(item: Any) -> AnyTool:
    if isinstance(item, Tool):
        made: AnyTool = item
    elif callable(item) and not isinstance(item, type):
        made = Tool.from_function(item)
    else:
        raise UsageError(
            f"wanted tools or functions, got {item!r}\n\nhint: tools=[a, b]; for a pydantic model: Tool.from_model(Model, fn)"
        )
    if made.unbound:
        raise UsageError(
            f"{made.name!r} is a method that lacks its object\n\nhint: hand in the bound one: tools=[desk.{made.name}]"
        )
    return made


def _place(tool: AnyTool) -> str:
    return f"{getattr(tool, '__module__', '?')}.{getattr(tool, '__qualname__', tool.name)}"


def _is_guarded(tool: AnyTool) -> bool:
    return bool(tool.annotations.destructive) or tool.standing is Standing.PROTECTED
