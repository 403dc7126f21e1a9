"""What is said at the front door to who uses it in a way that cannot work: what was wanted, what came, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import ToolCall
from failsoft.core.errors import UsageError
from failsoft.policies import Policy
from failsoft.tools import Tool

if TYPE_CHECKING:
    from failsoft.tools import Registry

__all__ = [
    "calls_of",
    "name_of",
    "occurrence_of",
    "option_error",
    "policies_of",
    "policy_of",
    "run_id_of",
    "seconds_of",
    "tools_of",
]


def tools_of(tools: Any) -> Iterable[Any]:
    """The tools of a harness as something to go through.

    Raises:
        UsageError: One tool in place of a list of them, or something else that is none.
    """
    if isinstance(tools, Tool) or (callable(tools) and not isinstance(tools, Iterable)):
        name = getattr(tools, "__name__", "a")
        raise UsageError(f"Harness takes a list of tools, got {tools!r}\n\nhint: Harness([{name}])")
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise UsageError(f"Harness takes a list of tools, got {tools!r}\n\nhint: Harness([a_tool, another])")
    return tools


def policy_of(where: str, policy: Any) -> Policy:
    """A policy, or one made of plain data such as `{"retry": 2}`.

    Raises:
        UsageError: It is neither, or a value in it cannot work.
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return Policy.from_mapping(policy, where)
    raise UsageError(f"{where} is a Policy or a mapping, got {policy!r}\n\nhint: {where}=Policy(retry=2)")


def policies_of(policies: Any) -> Mapping[str, Policy]:
    """Policies by the names of tools.

    Raises:
        UsageError: As for `policy_of`; or it is no mapping.
    """
    if not isinstance(policies, Mapping):
        hint = "hint: policies={'a_tool': Policy(retry=2)}; policy=Policy(...) holds for all tools"
        raise UsageError(f"policies is a mapping from tool names to policies, got {policies!r}\n\n{hint}")
    return {name: policy_of(f"policies[{name!r}]", policy) for name, policy in policies.items()}


def name_of(tool: Any, tools: Registry) -> str:
    """The name of a tool that was handed in as something else: the function that a tool of the harness was made from.

    Raises:
        UsageError: It is no tool here.
    """
    for known in tools:
        if tool is known.__wrapped__ and tool is not None:
            return known.name
    names = ", ".join(known.name for known in tools) or "none"
    raise UsageError(
        f"Harness.call takes a tool or its name, got {tool!r}\n\nhint: the tools of this harness are: {names}"
    )


def calls_of(calls: Any) -> list[ToolCall]:
    """The calls of a batch. One whose name is no text keeps its place, and is answered as an unknown tool.

    Raises:
        UsageError: What came is no list of `ToolCall`s.
    """
    hint = "hint: ToolCall(id, name, arguments), or calls_from('anthropic', message)"
    if isinstance(calls, ToolCall | str | bytes | Mapping) or not isinstance(calls, Iterable):
        raise UsageError(f"call_all takes a list of calls, got {calls!r}\n\n{hint}")
    found = list(calls)
    for place, call in enumerate(found):
        if not isinstance(call, ToolCall):
            raise UsageError(f"call_all takes ToolCalls; number {place + 1} is {call!r}\n\n{hint}")
        name: Any = call.name
        if not isinstance(name, str):
            found[place] = replace(call, name="" if name is None else str(name))
    return found


def run_id_of(run: Any) -> str:
    """A run's id.

    Raises:
        UsageError: It is something else.
    """
    if isinstance(run, str):
        return run
    raise UsageError(f"run is a run or its id, got {run!r}\n\nhint: run='task-1', or harness.run()")


def occurrence_of(value: Any) -> int:
    """Which one of several identical calls, from 1 on.

    Raises:
        UsageError: It is no such number.
    """
    if isinstance(value, int) and value >= 1:
        return value
    raise UsageError(
        f"occurrence counts from 1, got {value!r}\n\nhint: occurrence=2 for a second identical call"
    )


def seconds_of(word: str, value: Any) -> float:
    """A number of seconds; what is left of a deadline that is over, a number below 0, counts as 0.

    Raises:
        UsageError: It is no number.
    """
    if isinstance(value, int | float) and value == value:
        return max(0.0, value)
    raise UsageError(f"{word} is a number of seconds, got {value!r}\n\nhint: {word}=3")


def option_error(options: Mapping[str, Any], known: Iterable[str]) -> TypeError | None:
    """For options of a call that were refused: the door by its name, and the option that may be meant; None if all are known."""
    names = list(known)
    for word in options:
        if word not in names:
            near = difflib.get_close_matches(word, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"options: {', '.join(names)}"
            return TypeError(f"Harness.call() got an unexpected keyword argument {word!r}; {hint}")
    return None
