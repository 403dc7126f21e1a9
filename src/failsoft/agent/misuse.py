"""What is said to who makes or asks an agent in a way that cannot work: what was wanted, what came, what to do."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from failsoft.agent.limits import Limits
from failsoft.core.errors import UsageError
from failsoft.policies import Retry

__all__ = ["check_parts", "messages_of"]


def check_parts(client: Any, harness: Any, limits: Any, output: Any, on_escalate: Any, retry: Any) -> None:
    """Refuse parts that an agent cannot be made of.

    Raises:
        UsageError: One of them is something else; names it.
    """
    if not _is_client(client):
        swapped = _is_harness(client)
        hint = (
            "the client comes first: Agent(client, harness)" if swapped else "such as AnthropicClient(model)"
        )
        raise _refusal("client", "has complete() and dialect", client, hint)
    if not _is_harness(harness):
        listed = isinstance(harness, list | tuple) or callable(harness)
        hint = "Agent(client, Harness([a_tool]))" if listed else "Agent(client, harness)"
        raise _refusal("harness", "is a Harness", harness, hint)
    if not isinstance(limits, Limits):
        raise _refusal("limits", "is a Limits", limits, "limits=Limits(max_turns=10)")
    if output is not None and not (
        inspect.isclass(output) and callable(getattr(output, "model_json_schema", None))
    ):
        raise _refusal(
            "output", "is a pydantic model's class, or None", output, "output=Report, not an instance of it"
        )
    if on_escalate is not None and not callable(on_escalate):
        raise _refusal(
            "on_escalate", "is a function of a case, or None", on_escalate, "hand in the function itself"
        )
    if retry is not None and not isinstance(retry, Retry):
        raise _refusal("retry", "is a Retry, or None for off", retry, "retry=Retry(max_attempts=2)")


def messages_of(prompt: Any) -> tuple[Mapping[str, Any], ...]:
    """The messages of a conversation.

    Raises:
        UsageError: What came is none, or is empty.
    """
    hint = "hint: agent.run('what to do'), or the messages of a conversation"
    if isinstance(prompt, bytes | Mapping) or not isinstance(prompt, Iterable):
        raise UsageError(f"a task is a text or a list of messages, got {prompt!r}\n\n{hint}")
    messages = tuple(prompt)
    if not messages:
        raise UsageError(f"the conversation is empty\n\n{hint}")
    for message in messages:
        if not isinstance(message, Mapping):
            raise UsageError(f"a message of a conversation is a mapping, got {message!r}\n\n{hint}")
    return messages


def _is_client(client: Any) -> bool:
    return (
        not inspect.isclass(client)
        and callable(getattr(client, "complete", None))
        and hasattr(client, "dialect")
    )


def _is_harness(harness: Any) -> bool:
    return (
        not inspect.isclass(harness) and callable(getattr(harness, "run", None)) and not _is_client(harness)
    )


def _refusal(word: str, wanted: str, value: Any, hint: str) -> UsageError:
    return UsageError(f"Agent: {word} {wanted}, got {value!r}\n\nhint: {hint}")
