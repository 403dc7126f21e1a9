"""What agents are built of: mcp (1.x and 2.x), fastmcp, tenacity, and validators inside a tool's body."""

from __future__ import annotations

import re
from typing import Any, Final

from failsoft.classify.rules.row import Context, row
from failsoft.classify.rules.statuses import by_status
from failsoft.classify.text import one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["ROWS", "json_rpc"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

_AGAIN: Final = {"needs_reconnect": True}
_LOST = verdict(K.UNAVAILABLE, "session_lost", NONE, context=_AGAIN)
_CLOSED = verdict(K.NETWORK, "connection_closed", context=_AGAIN)
_TIMEOUT = verdict(K.TIMEOUT, "request_timeout")
_NO_TOOL = verdict(K.UNKNOWN_TOOL)
_INVALID = verdict(K.INVALID_ARGUMENT)

# JSON-RPC 2.0 section 5.1, and the Model Context Protocol's own codes; 32600 without a sign is what SDK 1.x sends
# for a session that the server has ended.
_CODES: Final[dict[int, Verdict]] = {
    -32700: verdict(K.INTERNAL, "bad_protocol", NONE),
    -32600: _INVALID,
    -32601: verdict(K.NOT_FOUND, "method_not_found"),
    -32602: _INVALID,
    -32603: verdict(K.INTERNAL, "server_error", POSSIBLE),
    -32000: _CLOSED,
    -32001: _TIMEOUT,
    -32002: verdict(K.NOT_FOUND),
    -32020: verdict(K.INTERNAL, "bad_protocol", NONE),
    -32021: verdict(K.UNAVAILABLE, "not_implemented", NONE, False),
    -32022: verdict(K.UNAVAILABLE, "not_implemented", NONE, False),
    -32042: verdict(K.PERMISSION_DENIED, "needs_login", NONE),
    -32800: verdict(K.CANCELLED),
    32600: _LOST,
}
_SESSION = re.compile(
    r"session (?:terminated|expired|not found|has ended|lost)|(?:invalid|missing|no valid|unknown) session",
    re.I,
)
_TIMED_OUT = re.compile(r"timed? ?out", re.I)
_CONNECTION = re.compile(r"connection (?:closed|lost|reset)|stream closed|transport closed", re.I)
_UNKNOWN_TOOL = re.compile(r"unknown tool|tool .{0,80}not found|no such tool", re.I)


def json_rpc(code: int, message: str) -> Verdict:
    """What a JSON-RPC error of a tool server means; servers use codes loosely, so plain words go first."""
    if _SESSION.search(message):
        found = _LOST
    elif _UNKNOWN_TOOL.search(message) and code in (-32600, -32601, -32602, -32603, -32002):
        found = _NO_TOOL
    elif code in (-32000, -32001, -32603) and _TIMED_OUT.search(message):
        found = _TIMEOUT
    elif code == -32000 and message and not _CONNECTION.search(message):
        # The first of the codes that JSON-RPC leaves to servers: some use it for any failure.
        found = verdict(K.INTERNAL, "server_error", POSSIBLE)
    elif code in _CODES:
        found = _CODES[code]
    elif 400 <= code < 600:
        found = by_status(code, None)
    else:
        found = verdict(K.INTERNAL, "server_error", POSSIBLE)
    said = "" if found in (_TIMEOUT, _LOST, _CLOSED) or found.kind == K.TIMEOUT else one_line(message)
    return found.but(message=said, context={**found.context, "code": code})


def _mcp(exc: Any, context: Context) -> Verdict | None:
    del context
    error = getattr(exc, "error", None)
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    return json_rpc(code, str(message or "")) if isinstance(code, int) else None


def _validation(exc: Any, context: Context) -> Verdict:
    """Data inside a tool broke the tool's own schema: the tool's fault, never the model's arguments."""
    del context
    start = "Data inside the tool does not fit the tool's own schema"
    try:
        problems = exc.errors(include_url=False, include_context=False, include_input=False)
    except Exception:
        try:
            problems = exc.errors()
        except Exception:
            problems = []
    said = []
    for problem in problems[:3] if isinstance(problems, list) else ():
        where = ".".join(str(step) for step in problem.get("loc", ()))
        said.append(f"{where}: {problem.get('msg', '')}" if where else str(problem.get("msg", "")))
    more = len(problems) - len(said)
    shown = one_line("; ".join(said) + (f"; and {more} more" if more > 0 else "")) if said else ""
    return verdict(K.INTERNAL, "tool_validation_error", message=f"{start}: {shown}" if shown else f"{start}.")


def _tool_error(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return _NO_TOOL.but(message=one_line(text_of(exc))) if _UNKNOWN_TOOL.search(text_of(exc)) else None


ROWS = (
    row("mcp.McpError mcp.MCPError fastmcp.McpError", read=_mcp),
    row("mcp.UrlElicitationRequiredError", K.PERMISSION_DENIED, "needs_login", NONE, owner=Owner.HUMAN),
    row("fastmcp.ToolError fastmcp.NotFoundError mcp.ToolError", read=_tool_error),
    row("fastmcp.NotFoundError", K.NOT_FOUND, "", NONE, say=True),
    row("fastmcp.ValidationError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("fastmcp.DisabledError", K.UNKNOWN_TOOL, "tool_disabled", say=True),
    row("fastmcp.AuthorizationError", K.PERMISSION_DENIED, "forbidden", NONE, say=True),
    row("tenacity.RetryError", K.UNKNOWN, transparent=True),
    row("tenacity.TryAgain", K.UNAVAILABLE, "asked_to_retry"),
    row("pydantic_core.ValidationError pydantic.ValidationError pydantic_v1.ValidationError", read=_validation),
    row("jsonschema.ValidationError marshmallow.ValidationError msgspec.ValidationError", K.INTERNAL, "tool_validation_error"),
    row("anyio.ClosedResourceError anyio.BrokenResourceError anyio.EndOfStream", K.NETWORK, "connection_closed", context=_AGAIN),
    row("anyio.WouldBlock anyio.BusyResourceError", K.CONFLICT, "lock_not_available", NONE, True),
    row("anyio.BrokenWorkerProcess", K.INTERNAL, "worker_died"),
)  # fmt: skip
