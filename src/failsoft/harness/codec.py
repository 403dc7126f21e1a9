"""How results and errors are written into the ledger, and read back: JSON text, exact where the value allows it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from failsoft.core.errors import AgentError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.results import Content

__all__ = ["decode_error", "decode_result", "encode_arguments", "encode_error", "encode_result"]

CODEC_VERSION = 1


def encode_result(value: Any, content: Content) -> str:
    """A value as text: as JSON, or as what the model read where JSON cannot take it."""
    try:
        body = json.loads(to_json(value))
        form = "json"
    except (PydanticSerializationError, ValueError, TypeError):
        body, form = content, "content"
    return json.dumps({"v": CODEC_VERSION, "form": form, "value": body}, ensure_ascii=False)


def decode_result(text: str | None, revive: Callable[[Any], Any] | None = None) -> Any:
    """The value again; `revive` turns JSON into the type that the tool promises."""
    if text is None:
        return None
    stored = json.loads(text)
    if stored.get("form") == "json" and revive is not None:
        return revive(stored["value"])
    return stored.get("value")


def encode_error(error: AgentError) -> str:
    """An error's fields as text. Its context stays out: it may hold anything."""
    fields = error.fields()
    fields.pop("context")
    return json.dumps({"v": CODEC_VERSION, **fields}, ensure_ascii=False, default=str)


def decode_error(text: str) -> AgentError:
    """The error again, without its cause and context."""
    fields = json.loads(text)
    fields.pop("v", None)
    return make_error(fields.pop("kind"), fields.pop("message", ""), **fields)


def encode_arguments(values: Any) -> str:
    """Arguments as JSON text; what JSON cannot take is written as its `str()`."""
    return to_json(values, fallback=str, inf_nan_mode="strings").decode("utf-8", "replace")
