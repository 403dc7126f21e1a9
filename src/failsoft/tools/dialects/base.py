"""What a dialect is, and how messages are read that may be dicts or SDK objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import ToolCall
from failsoft.core.context import new_id
from failsoft.core.errors import UsageError
from failsoft.tools.names import COMMON, PROPERTY, NameRule, safe_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.results import ToolResult
    from failsoft.tools.definition import Tool

__all__ = [
    "Adapted",
    "Dialect",
    "Entry",
    "Found",
    "as_calls",
    "as_text",
    "blocks_of",
    "get",
    "items",
    "mark_last",
    "put",
    "text_only",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """A schema as one provider takes it.

    Args:
        schema: The adapted schema; shares nothing with the original.
        drops: What the provider is not told, each in one sentence. It is still enforced when arguments are read.
        rules: What the schema cannot say any more and the description says instead.
        strict: Whether the provider may enforce it to the letter.
    """

    schema: dict[str, Any]
    drops: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tool on its way into a provider's list: the safe name, the whole description, the adapted schema."""

    name: str
    description: str
    adapted: Adapted
    tool: Tool[..., Any]


@dataclass(slots=True)
class Found:
    """A call as it was found in a message.

    Args:
        holder: Where its id is written; a new id is written there too, so that the message can be sent back.
        id_field: The name of the id in the holder.
        name: The tool's name, as sent.
        arguments: As sent.
        truncated: Whether the output limit cut it off.
    """

    holder: Any
    id_field: str
    name: str
    arguments: Any
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one provider is spoken to.

    Args:
        name: The word in `harness.schemas(...)`.
        adapt: A tool's JSON Schema as the provider takes it.
        entry: One entry of the provider's tool list.
        find_calls: The calls in a model's message.
        to_messages: The messages that answer calls, in order.
        rule: Which tool names it accepts.
        property_rule: Which names of parameters it accepts.
    """

    name: str
    adapt: Callable[[dict[str, Any]], Adapted]
    entry: Callable[[Entry], dict[str, Any]]
    find_calls: Callable[[Any], list[Found]]
    to_messages: Callable[[Sequence[ToolResult]], list[dict[str, Any]]]
    rule: NameRule = field(default=COMMON)
    property_rule: NameRule = field(default=PROPERTY)

    def schema_of(self, tool: Tool[..., Any]) -> dict[str, Any]:
        """The provider's entry for a tool; a fresh dict each time."""
        adapted = self._adapted(tool)
        description = "\n\n".join(part for part in (tool.description, *adapted.rules) if part)
        return self.entry(
            Entry(name=safe_name(tool.name, self.rule), description=description, adapted=adapted, tool=tool)
        )

    def drops(self, tool: Tool[..., Any]) -> list[str]:
        """What the provider is not told of this tool."""
        drops = list(self._adapted(tool).drops)
        alias = safe_name(tool.name, self.rule)
        if alias != tool.name:
            drops.append(f"the name is sent as {alias!r}")
        return drops

    def _adapted(self, tool: Tool[..., Any]) -> Adapted:
        adapted = self.adapt(tool.schema)
        properties = adapted.schema["properties"]
        aliases = {name: safe_name(name, self.property_rule) for name in properties}
        renamed = {name: alias for name, alias in aliases.items() if name != alias}
        if not renamed:
            return adapted
        schema = {**adapted.schema, "properties": {aliases[name]: part for name, part in properties.items()}}
        if "required" in schema:
            schema["required"] = [aliases.get(name, name) for name in schema["required"]]
        said = [f"the parameter {name!r} is sent as {alias!r}" for name, alias in renamed.items()]
        return replace(adapted, schema=schema, drops=(*adapted.drops, *said))

    def calls_from(self, message: Any) -> list[ToolCall]:
        """The calls in a message.

        Missing and repeated ids are replaced by new ones, in the message too, so that both can be sent back.
        """
        return as_calls(self.find_calls(message))


def as_calls(found: Sequence[Found]) -> list[ToolCall]:
    """Calls with distinct ids; ids that had to be made are written back into the message."""
    calls, taken = [], {str(get(item.holder, item.id_field) or "") for item in found}
    used: set[str] = set()
    for item in found:
        given = get(item.holder, item.id_field)
        call_id = given if isinstance(given, str) else "" if given is None else str(given)
        if not call_id or call_id in used:
            call_id = _fresh(call_id, taken)
            put(item.holder, item.id_field, call_id)
        used.add(call_id)
        taken.add(call_id)
        calls.append(ToolCall(call_id, str(item.name or ""), _raw(item.arguments), item.truncated))
    return calls


def _fresh(call_id: str, taken: set[str]) -> str:
    if not call_id:
        return new_id("call")
    number = 2
    while f"{call_id}_{number}" in taken:
        number += 1
    return f"{call_id}_{number}"


def _raw(arguments: Any) -> Any:
    if arguments is None or isinstance(arguments, str | bytes | Mapping):
        return arguments
    try:
        return json.dumps(arguments)
    except (TypeError, ValueError):
        return str(arguments)


def get(source: Any, name: str) -> Any:
    """A field of a dict or of an SDK object; None where there is none."""
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)


def put(target: Any, name: str, value: Any) -> None:
    """Write a field of a dict or of an SDK object."""
    try:
        if isinstance(target, Mapping):
            target[name] = value  # type: ignore[index]
        else:
            setattr(target, name, value)
    except (TypeError, AttributeError, ValueError) as exc:
        raise UsageError(
            f"a call's id is missing or used twice, and {type(target).__name__} cannot be changed to hold a new one"
            "\n\nhint: hand in the message as a dict"
        ) from exc


def items(value: Any) -> list[Any]:
    """A list's items; none for None, text or a single thing."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    return []


def blocks_of(result: ToolResult) -> list[dict[str, Any]]:
    """The content of a result as blocks, never empty."""
    content = result.content
    if isinstance(content, str):
        return [{"type": "text", "text": content or "(empty result)"}]
    return list(content) or [{"type": "text", "text": "(empty result)"}]


def as_text(block: dict[str, Any]) -> str:
    """A block in words, for where only text may go."""
    if block.get("type") == "text":
        return str(block.get("text", ""))
    source = block.get("source")
    media = str(get(source, "media_type") or "unknown type")
    data = get(source, "data")
    size = f", {len(data) * 3 // 4} bytes" if isinstance(data, str) else ""
    return (
        f"[{block.get('type', 'content')} left out: {media}{size}; this endpoint takes only text from tools]"
    )


def text_only(result: ToolResult) -> str:
    """The content of a result as one text, never empty."""
    content = result.content
    if isinstance(content, str):
        return content or "(empty result)"
    return "\n".join(as_text(block) for block in blocks_of(result)) or "(empty result)"


def mark_last(found: list[Found]) -> list[Found]:
    """The last call as cut off."""
    if found:
        found[-1].truncated = True
    return found
