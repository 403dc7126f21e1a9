"""What a provider demands of a conversation, checked before it is sent: one function for each.

Messages API      roles, no empty content, every tool_use answered first thing in the next message, ids match
Chat Completions  every tool call answered by a tool message before anything else, ids match
Responses         every function_call has one output after it, ids match
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["problems"]


def problems(dialect: str, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the provider would refuse in `messages`, each in one sentence; empty for a valid conversation."""
    check = _CHECKS.get(dialect)
    return check(messages) if check is not None else []


def of_messages_api(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """For the Messages API."""
    found: list[str] = []
    asked: list[str] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if role not in ("user", "assistant"):
            found.append(f"message {number} has the role {role!r}")
        if number == 0 and role != "user":
            found.append("the first message is not the user's")
        if not content or (isinstance(content, str) and not content.strip()):
            found.append(f"message {number} is empty")
        found += _answers(number, asked, _ids(blocks, "tool_result", "tool_use_id"), _leading(blocks))
        asked = _ids(blocks, "tool_use", "id") if role == "assistant" else []
        found += _repeated(number, asked)
    if asked:
        found.append(f"the last message asks for {', '.join(asked)}, and nothing answers")
    return found


def _ids(blocks: Sequence[Any], kind: str, field: str) -> list[str]:
    return [
        str(block.get(field)) for block in blocks if isinstance(block, dict) and block.get("type") == kind
    ]


def _leading(blocks: Sequence[Any]) -> bool:
    """Whether all results stand before anything else."""
    kinds = [isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks]
    return kinds == sorted(kinds, reverse=True)


def _answers(number: int, asked: list[str], given: list[str], leading: bool) -> list[str]:
    found = []
    if sorted(asked) != sorted(given):
        missing = [one for one in asked if one not in given]
        extra = [one for one in given if one not in asked]
        found.append(f"message {number}: unanswered {missing}, answers to nothing {extra}, of {asked}")
    elif asked != given:
        found.append(f"message {number} answers in another order than asked")
    if given and not leading:
        found.append(f"message {number} has something before a result")
    return found


def _repeated(number: int, ids: Sequence[str]) -> list[str]:
    return [f"message {number} uses a call id twice"] if len(set(ids)) != len(ids) else []


def of_chat_completions(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """For Chat Completions."""
    found: list[str] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            answers = message.get("tool_call_id")
            if not waiting or waiting[0] != answers:
                found.append(f"message {number} answers {answers!r}, expected {waiting[:1]}")
            waiting = [one for one in waiting if one != answers]
            if not isinstance(message.get("content"), str | list):
                found.append(f"message {number} has no content")
            continue
        if waiting:
            found.append(f"message {number} comes before the answers to {waiting}")
        if role not in ("system", "developer", "user", "assistant"):
            found.append(f"message {number} has the role {role!r}")
        waiting = (
            [str(call.get("id")) for call in message.get("tool_calls") or ()] if role == "assistant" else []
        )
        found += _repeated(number, waiting)
        if role == "user" and not message.get("content"):
            found.append(f"message {number} is empty")
    if waiting:
        found.append(f"nothing answers {waiting}")
    return found


def of_responses(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """For the Responses API."""
    found: list[str] = []
    waiting: list[str] = []
    for number, item in enumerate(items):
        kind, call_id = item.get("type"), str(item.get("call_id"))
        if kind == "function_call":
            if call_id in waiting:
                found.append(f"item {number} uses a call id twice")
            waiting.append(call_id)
        elif kind == "function_call_output":
            if call_id not in waiting:
                found.append(f"item {number} answers {call_id!r}, which is not waiting")
            else:
                waiting.remove(call_id)
            if item.get("output") is None:
                found.append(f"item {number} has no output")
        elif item.get("role") == "user" and waiting:
            found.append(f"item {number} comes before the answers to {waiting}")
    if waiting:
        found.append(f"nothing answers {waiting}")
    return found


_CHECKS: dict[str, Callable[[Sequence[Mapping[str, Any]]], list[str]]] = {
    "anthropic": of_messages_api,
    "openai": of_chat_completions,
    "openai-responses": of_responses,
}
