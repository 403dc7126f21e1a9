"""JSON-RPC messages as plain dictionaries: read, written and told apart. Nothing of them is dropped or renamed."""

from __future__ import annotations

import itertools
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CONNECTION_CLOSED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_KEY",
    "Message",
    "encode",
    "failure",
    "is_id",
    "is_modern",
    "is_own",
    "meta_of",
    "new_request_id",
    "notification",
    "parse",
    "progress_token",
    "read",
    "request",
    "response",
    "tool_name",
]

Message = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
# What both generations of the SDK use where a connection ended before the answer.
CONNECTION_CLOSED: Final = -32000

PROTOCOL_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_prefix = f"failsoft-{secrets.token_hex(4)}-"
_numbers = itertools.count(1)


def parse(line: bytes) -> Any:
    """One line as a JSON value.

    Raises:
        ValueError: It is none.
    """
    try:
        return from_json(line)
    except ValueError:
        # The standard reader also takes lone surrogates, which some servers write.
        return json.loads(line)


def encode(message: Any) -> bytes:
    """A message as one line, its end included."""
    try:
        return to_json(message) + b"\n"
    except ValueError:
        return json.dumps(message).encode() + b"\n"


def read(line: bytes) -> Iterator[tuple[Message, bytes]]:
    """The messages of one line with their bytes, their line's end included; a batch is taken apart.

    What is no message comes as the error that answers it, without bytes.
    """
    try:
        found = parse(line)
    except ValueError:
        yield failure(None, PARSE_ERROR, "this is not JSON"), b""
        return
    for each in found if isinstance(found, list) else (found,):
        if isinstance(each, dict):
            yield each, line + b"\n" if each is found else encode(each)
        else:
            yield failure(None, INVALID_REQUEST, "a message is an object"), b""


def new_request_id() -> str:
    """An id of our own, which no client and no server makes."""
    return f"{_prefix}{next(_numbers)}"


def is_own(value: Any) -> bool:
    """Whether an id or a progress token is one of our own."""
    return isinstance(value, str) and value.startswith(_prefix)


def is_id(value: Any) -> bool:
    """Whether a value can be the id of a request."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def request(id: Any, method: str, params: Any = None) -> Message:
    """A request."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> Message:
    """A message that nobody answers."""
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def response(id: Any, result: Any) -> Message:
    """An answer."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failure(id: Any, code: int, text: str, data: Any = None) -> Message:
    """An error answer."""
    error: dict[str, Any] = {"code": code, "message": text}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def meta_of(message: Message) -> dict[str, Any]:
    """The `_meta` of a request's parameters; empty where there is none."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def progress_token(message: Message) -> str | int | None:
    """The token under which a request wants to hear of its progress."""
    token = meta_of(message).get("progressToken")
    return token if isinstance(token, str | int) else None


def tool_name(message: Message) -> str | None:
    """The tool that a call names; None where it names none, which is for the server to refuse."""
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else None


def is_modern(message: Message) -> bool:
    """Whether a request carries its protocol version itself, as from 2026-07-28 on."""
    return PROTOCOL_KEY in meta_of(message)
