"""A request of 2026-07-28 over HTTP: what it must be before a server hears of it, and the status of its answer.

A server behind pipes sees no headers, and takes its first request for the word on which revision is spoken; so both are
seen to here. Source of the rules: the Model Context Protocol, revision 2026-07-28, "Transports".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.headers import HEADER_MISMATCH, VERSION, ToolHeaders, mismatch
from failsoft.adapters.mcp.served import HANDSHAKES

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from failsoft.adapters.mcp.wire import Message

__all__ = ["is_modern", "param_refusal", "refusal", "status_of"]

_NO_TOOLS: Final = ToolHeaders()
_PARAM: Final = "mcp-param-"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_STATUS: Final = {
    wire.PARSE_ERROR: 400,
    wire.INVALID_REQUEST: 400,
    wire.INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    -32021: 400,  # a capability that the client has not
    -32022: 400,  # a version that the server has not
    wire.METHOD_NOT_FOUND: 404,
}


def is_modern(message: Any, headers: Headers) -> bool:
    """Whether a body or its header speaks of a revision without a handshake."""
    version = headers.get(VERSION)
    if version is not None and version not in HANDSHAKES:
        return True
    return isinstance(message, dict) and wire.is_modern(message)


def status_of(answer: Message) -> int:
    """The status of HTTP for an answer."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


def refusal(message: Message, headers: Headers) -> Message | None:
    """The error that answers a request which may not reach a server; None where it may."""
    meta, id = wire.meta_of(message), message["id"]
    missing = [key for key in (wire.PROTOCOL_KEY, _CAPABILITIES_KEY) if key not in meta]
    if missing:
        return wire.failure(id, wire.INVALID_PARAMS, f"params._meta has no {' and no '.join(missing)}")
    wrong = mismatch(message, headers.items(), _NO_TOOLS)
    if wrong is not None:
        return _mismatched(id, wrong)
    if message["method"] == "initialize":
        return wire.failure(id, wire.METHOD_NOT_FOUND, "this revision has no handshake")
    return None


async def param_refusal(front: Any, message: Message, headers: Headers) -> Message | None:
    """The error for a call whose headers do not repeat its arguments as the tool's schema wants it."""
    params = message.get("params")
    if message["method"] != "tools/call" or not isinstance(params, dict) or not wire.tool_name(message):
        return None
    if not params.get("arguments") and not any(name.startswith(_PARAM) for name in headers):
        return None
    known = getattr(front, "tool_headers", None)  # a harness's own tools have none
    if known is None:
        return None
    own, tools = await known(message)
    wrong = tools.mismatch(own, headers)
    return None if wrong is None else _mismatched(message["id"], wrong)


def _mismatched(id: Any, header: str) -> Message:
    return wire.failure(id, HEADER_MISMATCH, f"the header {header} is not what the request itself says")
