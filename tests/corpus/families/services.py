"""Services, mail, shells, look-ups, browsers and agent protocols. Labels: their API references and RFCs."""

from __future__ import annotations

import importlib
import smtplib
from typing import Any

from tests.corpus.case import caught, table


def _stripe(name: str, status: int | None = None, **error: Any) -> BaseException:
    cls = getattr(importlib.import_module("stripe"), name)
    message = error.get("message", "said")
    body = {"error": {"message": message, **error}} if status else None
    if name == "CardError":
        return cls(message, "number", error.get("code", "card_declined"), None, status, body)
    if name == "InvalidRequestError":
        return cls(message, "amount", error.get("code"), None, status, body)
    return cls(message, None, status, body)


def _slack(code: str, status: int = 200, headers: dict[str, str] | None = None) -> BaseException:
    response = importlib.import_module("slack_sdk.web").SlackResponse(
        client=None, http_verb="POST", api_url="https://slack.example.test/api/x", req_args={},
        data={"ok": False, "error": code}, headers=headers or {}, status_code=status,
    )  # fmt: skip
    return importlib.import_module("slack_sdk.errors").SlackApiError("The request failed.", response)


def _github(name: str, status: int, message: str, headers: dict[str, str] | None = None) -> BaseException:
    return getattr(importlib.import_module("github"), name)(status, {"message": message}, headers or {})


def _kube(status: int, reason: str, message: str = "said") -> BaseException:
    import json

    exc = importlib.import_module("kubernetes.client.exceptions").ApiException(status=status, reason=reason)
    exc.body = json.dumps(
        {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": status}
    )
    return exc


def _ssh(name: str, *args: Any) -> BaseException:
    return getattr(importlib.import_module("paramiko.ssh_exception"), name)(*args)


def _dns(module: str, name: str, **fields: Any) -> BaseException:
    return getattr(importlib.import_module(module), name)(**fields)


def _browser(message: str, name: str = "Error") -> BaseException:
    return getattr(importlib.import_module("playwright.async_api"), name)(message)


def _mcp(code: int, message: str) -> BaseException:
    return importlib.import_module("mcp").MCPError(code, message)


def _tool(name: str, message: str) -> BaseException:
    return getattr(importlib.import_module("fastmcp.exceptions"), name)(message)


def _retried(inner: BaseException) -> BaseException:
    tenacity = importlib.import_module("tenacity")

    def fails() -> None:
        raise inner

    return caught(lambda: tenacity.Retrying(stop=tenacity.stop_after_attempt(2))(fails))


def _pydantic() -> BaseException:
    pydantic = importlib.import_module("pydantic")
    model = pydantic.create_model("Upstream", total=(int, ...))
    return caught(lambda: model(total="x"))


CASES = [
    *table("stripe", [
        ("declined", "permission_denied no none", lambda: _stripe("CardError", 402, type="card_error", code="card_declined", decline_code="insufficient_funds")),
        ("rate", "rate_limited retry none", lambda: _stripe("RateLimitError", 429, type="invalid_request_error", code="rate_limit")),
        ("missing", "not_found no none", lambda: _stripe("InvalidRequestError", 404, type="invalid_request_error", code="resource_missing")),
        ("parameter", "invalid_argument no none", lambda: _stripe("InvalidRequestError", 400, type="invalid_request_error", code="parameter_missing")),
        ("key", "permission_denied no none", lambda: _stripe("AuthenticationError", 401, type="invalid_request_error")),
        ("rights", "permission_denied no none", lambda: _stripe("PermissionError", 403, type="invalid_request_error")),
        ("idempotency", "conflict no none", lambda: _stripe("IdempotencyError", 400, type="idempotency_error")),
        ("connection", "network retry maybe", lambda: _stripe("APIConnectionError")),
        ("server", "unavailable retry maybe", lambda: _stripe("APIError", 500, type="api_error")),
    ]),
    *table("slack_sdk", [
        ("ratelimited", "rate_limited retry none", lambda: _slack("ratelimited", 429, {"Retry-After": "30"})),
        ("channel", "not_found no none", lambda: _slack("channel_not_found")),
        ("auth", "permission_denied no none", lambda: _slack("invalid_auth")),
        ("scope", "permission_denied no none", lambda: _slack("missing_scope")),
        ("text", "invalid_argument no none", lambda: _slack("no_text")),
        ("other refusal", "invalid_argument no none", lambda: _slack("cant_update_message")),
        ("internal", "unavailable retry maybe", lambda: _slack("internal_error")),
        ("taken", "conflict no none", lambda: _slack("name_taken")),
    ]),
    *table("github", [
        ("rate", "rate_limited retry none", lambda: _github("RateLimitExceededException", 403, "API rate limit exceeded")),
        ("secondary", "rate_limited retry none", lambda: _github("GithubException", 403, "You have exceeded a secondary rate limit")),
        ("credentials", "permission_denied no none", lambda: _github("BadCredentialsException", 401, "Bad credentials")),
        ("missing", "not_found no none", lambda: _github("UnknownObjectException", 404, "Not Found")),
        ("validation", "invalid_argument no none", lambda: _github("GithubException", 422, "Validation Failed")),
        ("merge conflict", "conflict no none", lambda: _github("GithubException", 409, "Merge conflict")),
        ("server", "unavailable retry maybe", lambda: _github("GithubException", 502, "Server Error")),
        ("rights", "permission_denied no none", lambda: _github("GithubException", 403, "Must have admin rights to Repository.")),
    ]),
    *table("kubernetes", [
        ("missing", "not_found no none", lambda: _kube(404, "NotFound", 'pods "x" not found')),
        ("exists", "conflict no none", lambda: _kube(409, "AlreadyExists")),
        ("conflict", "conflict no none", lambda: _kube(409, "Conflict")),
        ("forbidden", "permission_denied no none", lambda: _kube(403, "Forbidden")),
        ("unauthorized", "permission_denied no none", lambda: _kube(401, "Unauthorized")),
        ("invalid", "invalid_argument no none", lambda: _kube(422, "Invalid")),
        ("too many", "rate_limited retry none", lambda: _kube(429, "TooManyRequests")),
        ("internal", "unavailable retry maybe", lambda: _kube(500, "InternalError")),
        ("unavailable", "unavailable retry maybe", lambda: _kube(503, "ServiceUnavailable")),
        ("timeout", "timeout retry maybe", lambda: _kube(504, "Timeout")),
    ]),
    *table("smtplib", [
        ("login", "permission_denied no none", lambda: smtplib.SMTPAuthenticationError(535, b"5.7.8 Bad credentials")),
        ("greylisted", "unavailable retry none", lambda: smtplib.SMTPRecipientsRefused({"a@example.test": (451, b"greylisted")})),
        ("no mailbox", "not_found no none", lambda: smtplib.SMTPRecipientsRefused({"a@example.test": (550, b"no such user")})),
        ("sender", "invalid_argument no none", lambda: smtplib.SMTPSenderRefused(553, b"not allowed", "a@example.test")),
        ("data, later", "unavailable retry none", lambda: smtplib.SMTPDataError(452, b"insufficient storage")),
        ("data, never", "invalid_argument no none", lambda: smtplib.SMTPDataError(554, b"rejected as spam")),
        ("busy", "unavailable retry none", lambda: smtplib.SMTPConnectError(421, b"too busy")),
        ("disconnected", "network retry maybe", lambda: smtplib.SMTPServerDisconnected("Connection unexpectedly closed")),
        ("not connected", "network retry none", lambda: smtplib.SMTPServerDisconnected("please run connect() first")),
        ("not supported", "unavailable no none", lambda: smtplib.SMTPNotSupportedError("SMTP AUTH extension not supported by server.")),
    ]),
    *table("paramiko", [
        ("auth", "permission_denied no none", lambda: _ssh("AuthenticationException", "Authentication failed.")),
        ("no connection", "network retry none", lambda: _ssh("NoValidConnectionsError", {("127.0.0.1", 22): OSError(111, "refused")})),
        ("banner", "network retry none", lambda: _ssh("SSHException", "Error reading SSH protocol banner")),
        ("dropped", "network retry maybe", lambda: _ssh("SSHException", "Server connection dropped")),
        ("unknown host", "unavailable no none", lambda: _ssh("SSHException", "Server 'x' not found in known_hosts")),
        ("channel", "unavailable retry none", lambda: _ssh("ChannelException", 2, "Connect failed")),
    ]),
    *table("dnspython", [
        ("no such domain", "not_found no none", lambda: _dns("dns.resolver", "NXDOMAIN")),
        ("timeout", "timeout retry none", lambda: _dns("dns.resolver", "LifetimeTimeout", timeout=5, errors=[])),
        ("plain timeout", "timeout retry none", lambda: _dns("dns.exception", "Timeout")),
        ("no servers", "unavailable retry none", lambda: _dns("dns.resolver", "NoNameservers")),
        ("bad name", "invalid_argument no none", lambda: _dns("dns.name", "EmptyLabel")),
    ]),
    *table("playwright", [
        ("timeout", "timeout retry maybe", lambda: _browser("Page.click: Timeout 30000ms exceeded.\nCall log:\n  - waiting", "TimeoutError")),
        ("name", "network retry none", lambda: _browser("Page.goto: net::ERR_NAME_NOT_RESOLVED at https://x.example.test/")),
        ("refused", "network retry none", lambda: _browser("Page.goto: net::ERR_CONNECTION_REFUSED at https://x.example.test/")),
        ("reset", "network retry maybe", lambda: _browser("Page.goto: net::ERR_CONNECTION_RESET at https://x.example.test/")),
        ("certificate", "unavailable no none", lambda: _browser("Page.goto: net::ERR_CERT_DATE_INVALID at https://x.example.test/")),
        ("closed", "unavailable retry maybe", lambda: _browser("Page.click: Target page, context or browser has been closed")),
        ("strict", "invalid_argument no none", lambda: _browser('Locator.click: Error: strict mode violation: locator("a") resolved to 3 elements')),
        ("address", "invalid_argument no none", lambda: _browser("Page.goto: Protocol error (Page.navigate): Cannot navigate to invalid URL")),
        ("crash", "internal no maybe", lambda: _browser("Page.evaluate: Target crashed")),
        ("no browser", "unavailable no none", lambda: _browser("BrowserType.launch: Executable doesn't exist at /x/chrome")),
    ]),
    *table("mcp", [
        ("session", "unavailable retry none", lambda: _mcp(32600, "Session terminated")),
        ("session not found", "unavailable retry none", lambda: _mcp(-32600, "Session not found")),
        ("timeout", "timeout retry maybe", lambda: _mcp(-32001, "Request timed out")),
        ("timeout of 1.x", "timeout retry maybe", lambda: _mcp(408, "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds.")),
        ("closed", "network retry maybe", lambda: _mcp(-32000, "Connection closed")),
        ("parameters", "invalid_argument no none", lambda: _mcp(-32602, "Input validation error: 'n' expected integer")),
        ("unknown tool", "unknown_tool no none", lambda: _mcp(-32602, "Unknown tool: goood")),
        ("method", "not_found no none", lambda: _mcp(-32601, "Method not found")),
        ("resource", "not_found no none", lambda: _mcp(-32002, "Resource not found")),
        ("server", "internal no maybe", lambda: _mcp(-32603, "Internal error")),
        ("server's own code", "internal no maybe", lambda: _mcp(-32050, "disk trouble")),
    ]),
    *table("fastmcp", [
        ("not found", "not_found no none", lambda: _tool("NotFoundError", "Resource 'x' is gone")),
        ("unknown tool", "unknown_tool no none", lambda: _tool("ToolError", "Unknown tool: 'goood'")),
        ("validation", "invalid_argument no none", lambda: _tool("ValidationError", "n must be positive")),
        ("tool failed", "unknown no maybe", lambda: _tool("ToolError", "Error calling tool 'x'")),
    ]),
    *table("tenacity", [
        ("refused", "network retry none", lambda: _retried(ConnectionRefusedError(111, "Connection refused"))),
        ("bug", "internal no maybe", lambda: _retried(ValueError("bad"))),
        ("not found", "not_found no none", lambda: _retried(FileNotFoundError(2, "No such file"))),
    ]),
    *table("pydantic", [
        ("validation in a body", "internal no maybe", _pydantic),
    ]),
]  # fmt: skip
