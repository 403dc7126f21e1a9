"""Looks at tool definitions the way a model, a provider and the runtime will, before any of them does.

rules of this file:
    a rule is a function of a tool that yields findings; `RULES` lists them
    `error`: a provider refuses it, or the runtime cannot do what was asked; `warning`: it will go wrong some day;
    `info`: a model would understand it better
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from failsoft.core.annotations import CATEGORY_ANNOTATIONS, Standing
from failsoft.policies import UNSET, Fallback, Isolation, Retry
from failsoft.tools.dialects import DIALECTS, dialect
from failsoft.tools.mangling import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from failsoft.tools.definition import Tool

__all__ = ["RULES", "Finding", "Severity", "lint"]

Severity = Literal["error", "warning", "info"]
AnyTool = "Tool[..., Any]"

_MAX_DESCRIPTION = 1_024
_MAX_PARAMETERS = 20
_VAGUE = frozenset(
    {
        "a",
        "arg",
        "args",
        "b",
        "d",
        "data",
        "f",
        "info",
        "input",
        "item",
        "obj",
        "object",
        "p",
        "param",
        "params",
    }
    | {"payload", "s", "stuff", "thing", "tmp", "val", "value", "x", "y", "z"}
)
_UNITLESS = frozenset(
    {"delay", "duration", "interval", "length", "size", "timeout", "ttl", "wait", "weight", "width"}
)
_ACTING = re.compile(
    r"(?:^|_)(?:delete|remove|drop|refund|charge|pay|send|post|create|update|write|insert|cancel|transfer|buy)(?:_|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found.

    Args:
        tool: The tool's name.
        rule: Stable word for the rule.
        severity: `error`, `warning` or `info`.
        message: What is the matter.
        hint: What to do.
    """

    tool: str
    rule: str
    severity: Severity
    message: str
    hint: str


Found = tuple[Severity, str, str]


def lint(
    tools: Iterable[Tool[..., Any]], *, dialects: Sequence[str] = ("anthropic", "openai", "lenient")
) -> list[Finding]:
    """Everything that the rules find, errors first.

    Args:
        tools: What to look at.
        dialects: Which providers will be told of them.

    Raises:
        UsageError: For a dialect that is none.
    """
    every = list(tools)
    names = [dialect(name).name for name in dialects]
    found = [
        Finding(tool=tool.name, rule=rule, severity=severity, message=message, hint=hint)
        for tool in every
        for rule, check in RULES.items()
        for severity, message, hint in check(tool)
    ]
    for tool in every:
        found.extend(_dialect_findings(tool, names))
    found.extend(_alike(every))
    order = ("error", "warning", "info")
    return sorted(found, key=lambda item: order.index(item.severity))


def _undeclared(tool: Tool[..., Any]) -> Iterator[Found]:
    if tool.standing is not Standing.UNDECLARED:
        return
    acts = _ACTING.search(tool.name)
    word = (
        "destructive=True or read_only=False"
        if acts
        else "read_only=True, idempotent=True or read_only=False"
    )
    yield (
        "warning",
        "its effects are not declared, so it is never tried again after a possible effect",
        f"add {word}",
    )


def _category(tool: Tool[..., Any]) -> Iterator[Found]:
    """A category is a free word, but a slip for a well-known one declares nothing."""
    word = tool.category
    if word is None or word in CATEGORY_ANNOTATIONS:
        return
    near = difflib.get_close_matches(word.lower(), CATEGORY_ANNOTATIONS, 1, cutoff=0.75)
    if near:
        said = ", ".join(f"{name}={value}" for name, value in CATEGORY_ANNOTATIONS[near[0]].items())
        yield (
            "warning",
            f"its category {word!r} is no well-known one, so it says nothing of the tool's effects",
            f"did you mean {near[0]!r}, which stands for {said}?",
        )


def _contradictory_name(tool: Tool[..., Any]) -> Iterator[Found]:
    found = _ACTING.search(tool.name)
    if found and tool.annotations.read_only:
        verb = found.group().strip("_")
        yield (
            "warning",
            f"it is declared read_only, but its name says {verb!r}",
            "check the declaration: it is retried",
        )


def _retries(tool: Tool[..., Any]) -> Iterator[Found]:
    retry: Any = tool.policy.retry
    if isinstance(retry, int) and not isinstance(retry, bool):
        retry = Retry(max_attempts=retry)
    asked = isinstance(retry, Retry) and retry.max_attempts > 1
    if asked and tool.standing is not Standing.REPEATABLE and tool.idempotency_key is None:
        yield (
            "warning",
            "it has a retry policy but is not repeatable: only failures without any effect are retried",
            "declare idempotent=True or give idempotency_key=, or drop retry=",
        )
    if asked and (tool.is_generator or tool.is_async_generator):
        yield "info", "a generator is not retried once it has given an item", "keep in mind, or return a list"


def _limits(tool: Tool[..., Any]) -> Iterator[Found]:
    open_world = tool.annotations.open_world
    if tool.policy.timeout is UNSET and open_world is not False:
        yield "info", "it has no time limit of its own; the harness's default applies", "add timeout_s="
    if tool.isolation in ("auto", "thread") and not tool.is_async and tool.standing is Standing.PROTECTED:
        yield (
            "info",
            "a synchronous body cannot be stopped: after a time-out it runs on in its thread",
            "make it async, or isolation='process'",
        )


def _isolation(tool: Tool[..., Any]) -> Iterator[Found]:
    mode = tool.isolation
    if mode in ("inline", "task") and not tool.is_async and not tool.is_async_generator:
        yield (
            "error" if mode == "task" else "warning",
            f"a synchronous body blocks the event loop under {mode!r}",
            ("isolation='thread' or 'process', or make it async"),
        )
    name = getattr(tool.fn, "__qualname__", "<locals>")
    if mode == "process" and ("<locals>" in name or "<lambda>" in name):
        yield "error", "a process cannot import its body", "define the function at the top of a module"
    given = tool.options.isolation
    if isinstance(given, Isolation) and given.memory_mb is not None and given.memory_mb < 32:
        yield "warning", f"{given.memory_mb} MB is less than Python itself needs", "give at least 64 MB"


def _doubts(tool: Tool[..., Any]) -> Iterator[Found]:
    if tool.standing is Standing.PROTECTED and tool.verify is None and tool.idempotency_key is None:
        yield (
            "info",
            "after a lost answer nobody can tell whether it happened",
            "add verify=, or idempotency_key= where the other side takes one",
        )
    fallback = tool.policy.fallback
    if isinstance(fallback, Fallback) and tool.standing is Standing.PROTECTED:
        yield (
            "warning",
            "a fallback cannot cover a possible effect",
            "keep it for failures without an effect only",
        )


def _description(tool: Tool[..., Any]) -> Iterator[Found]:
    size = len(tool.description)
    if size == 0:
        yield (
            "warning",
            "it has no description",
            "write a docstring: what it does, when to use it, what it returns",
        )
    elif size < 15:
        yield "info", f"its description is only {tool.description!r}", "say what it does and when to use it"
    elif size > _MAX_DESCRIPTION:
        yield (
            "warning",
            f"its description has {size} characters; some endpoints take {_MAX_DESCRIPTION}",
            "shorten it",
        )


def _parameters(tool: Tool[..., Any]) -> Iterator[Found]:
    properties = tool.schema["properties"]
    if len(properties) > _MAX_PARAMETERS:
        yield "info", f"it has {len(properties)} parameters", "group them in a model, or split the tool"
    for name, part in properties.items():
        yield from _parameter(tool, name, part if isinstance(part, Mapping) else {})


def _parameter(tool: Tool[..., Any], name: str, part: Mapping[str, Any]) -> Iterator[Found]:
    described = bool(part.get("description"))
    if name in tool.unannotated:
        yield "warning", f"parameter {name!r} has no type, so anything is accepted", f"write one: {name}: str"
    if not described:
        yield "info", f"parameter {name!r} has no description", "describe it under Args: in the docstring"
    if name.lower() in _VAGUE and not described:
        yield "warning", f"parameter {name!r} does not say what it takes", "rename it, or describe it"
    if name.lower() in _UNITLESS and part.get("type") in ("integer", "number") and not described:
        yield (
            "warning",
            f"parameter {name!r} does not say its unit",
            f"rename it, such as {name}_s, or describe it",
        )
    if part.get("type") == "object" and not part.get("properties") and not part.get("additionalProperties"):
        yield (
            "info",
            f"parameter {name!r} is an object of unknown form",
            "use a pydantic model or a TypedDict",
        )


def _similar_parameters(tool: Tool[..., Any]) -> Iterator[Found]:
    seen: dict[str, str] = {}
    for name in tool.schema["properties"]:
        other = seen.setdefault(folded(name), name)
        if other != name:
            yield (
                "warning",
                f"parameters {other!r} and {name!r} differ only in case or underscores",
                "rename one",
            )


def _schema_keywords(tool: Tool[..., Any]) -> Iterator[Found]:
    properties = tool.schema["properties"]
    required = tool.schema.get("required")
    for name in required if isinstance(required, list) else []:
        if name not in properties:
            yield "error", f"the schema requires {name!r} but does not describe it", "add it to properties"


def _dialect_findings(tool: Tool[..., Any], names: Sequence[str]) -> Iterator[Finding]:
    said: dict[str, list[str]] = {}
    for name in names:
        for drop in DIALECTS[name].drops(tool):
            said.setdefault(drop, []).append(name)
    for drop, where in said.items():
        renamed = drop.startswith(("the name ", "the parameter "))
        yield Finding(
            tool=tool.name,
            rule="provider_name" if renamed else "provider_schema",
            severity="warning" if renamed else "info",
            message=f"{', '.join(where)}: {drop}",
            hint="choose a name of at most 64 letters, digits, _ and -"
            if renamed
            else "still enforced when arguments are read; simplify the schema if the model gets it wrong",
        )


def _alike(tools: Sequence[Tool[..., Any]]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for tool in tools:
        other = seen.setdefault(folded(tool.name), tool.name)
        if other != tool.name:
            yield Finding(
                tool=tool.name,
                rule="similar_names",
                severity="warning",
                message=f"its name differs from {other!r} only in case or underscores",
                hint="rename one: a model mixes them up",
            )


RULES: Final[Mapping[str, Callable[[Tool[..., Any]], Iterator[Found]]]] = {
    "undeclared_effects": _undeclared,
    "category": _category,
    "contradictory_name": _contradictory_name,
    "retry_not_repeatable": _retries,
    "limits": _limits,
    "isolation": _isolation,
    "doubts": _doubts,
    "description": _description,
    "parameters": _parameters,
    "similar_parameters": _similar_parameters,
    "schema": _schema_keywords,
}
