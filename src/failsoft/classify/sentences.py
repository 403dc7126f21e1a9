"""One plain sentence per reason, for failures whose own text is empty or not fit to be shown."""

from __future__ import annotations

from typing import Final

__all__ = ["REASONS", "sentence"]

REASONS: Final[dict[str, str]] = {
    # the request was never sent
    "connect_refused": "The connection was refused; nothing was sent.",
    "connect_failed": "The connection could not be made; nothing was sent.",
    "connect_timeout": "The connection timed out before anything was sent.",
    "dns_failed": "The host name could not be resolved; nothing was sent.",
    "host_unreachable": "The host could not be reached; nothing was sent.",
    "pool_timeout": "No free connection came within the time limit; nothing was sent.",
    "proxy_failed": "The proxy could not be reached; nothing was sent.",
    "tls_failed": "The secure connection could not be set up; nothing was sent.",
    "certificate_invalid": "The server's certificate could not be verified; nothing was sent.",
    "too_many_open": "Too many files or connections are open here; nothing was sent.",
    # it may have been sent
    "connection_lost": "The connection broke before the answer came.",
    "connection_reset": "The connection was reset before the answer came.",
    "connection_closed": "The connection was closed before the answer came.",
    "read_timeout": "The request timed out while waiting for the answer.",
    "write_timeout": "The request timed out while it was being sent.",
    "request_timeout": "The request timed out.",
    "lock_timeout": "A lock was not obtained within the time limit; nothing was changed.",
    "statement_timeout": "The statement was stopped by the database's time limit.",
    "bad_protocol": "The other side broke the protocol before the answer came.",
    "too_many_redirects": "The service redirected too many times.",
    "unreadable_answer": "The answer could not be read.",
    # the service said so
    "rate_limited": "Too many requests in a short time.",
    "quota_exhausted": "The account has no quota left; waiting a little will not help.",
    "daily_quota": "The quota of the day is used up; waiting a little will not help.",
    "payment_required": "The account has to be paid or topped up first; waiting will not help.",
    "storage_full": "There is no storage left.",
    "disk_full": "There is no space left on the disk.",
    "overloaded": "The service is overloaded right now.",
    "starting_up": "The service is starting up or shutting down.",
    "too_early": "The service asked to send the request again a little later.",
    "unauthenticated": "The service did not accept the credentials (authentication failed).",
    "forbidden": "The service refused access.",
    "proxy_auth": "The proxy asks for a login.",
    "legal": "The service refused access for legal reasons.",
    "method_not_allowed": "The service does not allow this method here.",
    "not_implemented": "The service does not support this request.",
    "too_large": "The request is too large for the service.",
    "gone": "The thing asked for is no longer there.",
    "precondition_failed": "The thing has changed since it was read.",
    "locked": "The thing is locked right now.",
    "context_overflow": "The input is too long for the model's context.",
    "content_filter": "The provider's content filter stopped the request.",
    "refusal": "The model refused to answer.",
    "cut_stream": "The model's answer broke off before its end.",
    "card_declined": "The payment was declined.",
    "redirect": "The service redirected the request elsewhere and the redirect was not followed.",
    # databases
    "database_locked": "The database is locked by another writer; nothing was changed.",
    "lock_not_available": "The lock was not obtained; nothing was changed.",
    "serialization_failure": "The transaction met another one and was rolled back; nothing was changed.",
    "deadlock": "The transaction met a deadlock and was rolled back; nothing was changed.",
    "already_exists": "It already exists.",
    "not_primary": "The database node does not accept writes right now.",
    "read_only": "It is read-only.",
    # MCP
    "session_lost": "The session with the tool server is over; it has to connect again.",
    # the tool itself
    "tool_validation_error": "Data inside the tool does not fit the tool's own schema.",
    "memory_limit": "The tool ran out of memory.",
    "worker_died": "The process that ran the tool died.",
    "tool_exited": "The tool tried to end the whole program.",
    "recursion": "The tool called itself too deeply.",
    "process_failed": "A command that the tool ran has failed.",
    "process_killed": "A command that the tool ran was killed.",
    "missing_module": "A module that the tool needs is not installed.",
    "cancelled": "The call was cancelled.",
    "interrupted": "The call was interrupted.",
}

_KINDS: Final[dict[str, str]] = {
    "invalid_argument": "The request was not accepted as it was written.",
    "unknown_tool": "There is no tool of that name.",
    "not_found": "The thing asked for was not found.",
    "conflict": "The request conflicts with the present state.",
    "permission_denied": "Access was refused.",
    "quota_exhausted": REASONS["quota_exhausted"],
    "rate_limited": REASONS["rate_limited"],
    "overloaded": "Too much is running here right now; nothing was begun.",
    "unavailable": "The service is not available right now.",
    "network": "The connection failed.",
    "timeout": "The request timed out.",
    "circuit_open": "Calls are paused after many failures.",
    "invalid_output": "The answer does not have the form that was expected.",
    "model_error": "The model gave no usable answer.",
    "internal": "The tool failed inside.",
    "budget_exhausted": "A limit of the run is reached.",
    "in_doubt": "An earlier identical call may have happened.",
    "cancelled": "The call was cancelled.",
    "unknown": "The tool failed and did not say why.",
}


def sentence(reason: str, kind: str) -> str:
    """The sentence of a reason, or else of its kind."""
    return REASONS.get(reason) or _KINDS.get(kind) or _KINDS["unknown"]
