"""What a server's answer to a call means for whoever runs the tool here: a value that a model can read, or a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp.answers import META
from failsoft.adapters.mcp.effects import text_of
from failsoft.classify import classify
from failsoft.core.errors import AgentError, make_error
from failsoft.core.kinds import Effect, Owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.adapters.mcp.effects import ErrorRule
    from failsoft.core.context import CallContext

__all__ = ["ServerSaidError", "asks_back_error", "described", "judged", "value_of"]

_MAX_TEXT: Final = 4_000
_MAX_VALUES: Final = 200
_SHOWN: Final = ("text", "image", "audio", "resource", "resource_link")
_FIELDS: Final = ("reason", "retryable", "effect", "owner", "domain", "retry_after_s")


class ServerSaidError(Exception):
    """A server's tool told of its failure in words; they are classified like those of any exception."""


def asks_back_error(tool_name: str) -> AgentError:
    """A server wants to know more before it does anything, and there is nobody here who could say it."""
    return make_error(
        "unavailable",
        f"The server asks back before it runs {tool_name}, and it cannot be answered here; nothing was done.",
        reason="asks_back",
        retryable=False,
        effect=Effect.NONE,
        owner=Owner.HUMAN,
    )


def value_of(result: Any, rules: Sequence[ErrorRule]) -> Any:
    """The value of a result: an MCP result of `content` and `structuredContent`, all of it readable by a model.

    Args:
        result: As the server gave it.
        rules: What the user says of results that are errors.

    Raises:
        AgentError: It is an error that a rule knows.
        ServerSaidError: It is another error.
    """
    if not isinstance(result, Mapping):
        return result
    if result.get("isError") is True:
        raise _failure(result, rules)
    given, structured = result.get("content"), result.get("structuredContent")
    content = [_shown(block) for block in given] if isinstance(given, list) else []
    if structured is not None and not _is_told(structured, content):
        content.append({"type": "text", "text": json.dumps(structured, ensure_ascii=False, default=str)})
    made = {"content": content or [{"type": "text", "text": ""}]}
    return made if structured is None else {**made, "structuredContent": structured}


def _shown(block: Any) -> dict[str, Any]:
    """A block as it came where its type is known, else its JSON as text."""
    if isinstance(block, dict) and block.get("type") in _SHOWN:
        return block
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False, default=str)}


def _is_told(structured: Any, content: list[dict[str, Any]]) -> bool:
    """Whether the text says what the structured part says: as JSON, or each of its values in whatever words."""
    texts = [block["text"] for block in content if isinstance(block.get("text"), str)]
    if any(_is_json_of(text, structured) for text in texts):
        return True
    values = list(islice(_values(structured), _MAX_VALUES + 1))
    whole = "\n".join(texts)
    return len(values) <= _MAX_VALUES and all(value in whole for value in values)


def _is_json_of(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _values(value: Any) -> Iterator[str]:
    """The single values in structured data, as a text would write them."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value, default=str)


def _failure(result: Mapping[str, Any], rules: Sequence[ErrorRule]) -> Exception:
    text = text_of(result) or _structured_text(result)
    for rule in rules:
        if rule.match.search(text):
            return rule.error(text)
    return ServerSaidError(text)


def _structured_text(result: Mapping[str, Any]) -> str:
    structured = result.get("structuredContent")
    return "" if structured is None else json.dumps(structured, ensure_ascii=False, default=str)


def judged(said: ServerSaidError, call: CallContext) -> AgentError:
    """What a server's words mean: the harness's rules for exceptions, and all of the words for the model.

    Words prove no effect, so they rule none out where the tool may not be repeated, unless it is `atomic`.

    Args:
        said: The words.
        call: The call that is running.
    """
    shared, plan = getattr(call, "shared", None), getattr(call, "plan", None)
    error: AgentError = (classify if shared is None else shared.classifier.classify)(said)
    text = str(said)
    changes: dict[str, Any] = {"message": text[:_MAX_TEXT]} if text.strip() else {}
    if error.effect is Effect.NONE and plan is not None and not (plan.repeatable or plan.tool.atomic):
        changes["effect"] = Effect.POSSIBLE
    return error.replace(**changes)


def described(result: Any) -> AgentError | None:
    """The error of a server that is served by failsoft or stands behind its proxy; None for all others."""
    meta = result.get("_meta") if isinstance(result, Mapping) and result.get("isError") is True else None
    told = meta.get(META) if isinstance(meta, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(told.get("error"), str):
        return None
    fields = {name: told[name] for name in _FIELDS if told.get(name) is not None}
    context = {name: told[name] for name in ("problems", "did_you_mean") if isinstance(told.get(name), list)}
    try:
        return make_error(told["error"], _message_in(text_of(result)), context=context, **fields)
    except (TypeError, ValueError):
        return None


def _message_in(text: str) -> str:
    """The message of an error that was written for a model, as JSON or as words."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message = told.get("message") if isinstance(told, dict) else None
    return message if isinstance(message, str) else text
