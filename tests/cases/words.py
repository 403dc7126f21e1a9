"""The neutral words of case files in failsoft's terms: the one table of the runner.

| neutral | failsoft |
| --- | --- |
| `kind` | `KINDS` below: a kind, and where one kind covers more, its reasons |
| `retry: true` | retried whatever the tool is: a retryable failure that had no effect |
| `retry: "if_idempotent"` | retried for repeatable tools, and not for others |
| `retry: false` | retried for no tool |
| a tool with `idempotent: true / false` | the same annotation |
| a scripted tool without side effects in its script | `atomic=True`: its body makes one outside request |
| a tool whose calls are only compared (`loop`) | `read_only=True` |
| `loop` | the agent's limits: `budget_exhausted` with the limit as its reason |
| `outcome_unknown` | any kind with effect `possible` and an open doubt, or `in_doubt` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from failsoft.core.kinds import Effect, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.errors import AgentError

__all__ = ["DIALECTS", "KINDS", "UnknownWord", "is_kind"]


class UnknownWord(Exception):
    """A case uses a word that this table does not have."""


# A kind alone, or a kind with the reasons that the neutral word means.
KINDS: Final[Mapping[str, tuple[tuple[ErrorKind, tuple[str, ...]], ...]]] = {
    "invalid_arguments": ((ErrorKind.INVALID_ARGUMENT, ()),),
    "truncated_arguments": ((ErrorKind.INVALID_ARGUMENT, ("truncated",)),),
    "bad_request": ((ErrorKind.INVALID_ARGUMENT, ()),),
    "unknown_tool": ((ErrorKind.UNKNOWN_TOOL, ()),),
    "rate_limit": ((ErrorKind.RATE_LIMITED, ()),),
    # `overloaded` of failsoft is its own full queue; a service's is `unavailable` and says so in its reason.
    "overloaded": ((ErrorKind.OVERLOADED, ()), (ErrorKind.UNAVAILABLE, ("overloaded",))),
    "unavailable": ((ErrorKind.UNAVAILABLE, ()),),
    "network": ((ErrorKind.NETWORK, ()),),
    "timeout": ((ErrorKind.TIMEOUT, ()),),
    "conflict": ((ErrorKind.CONFLICT, ()), (ErrorKind.UNAVAILABLE, ("database_locked",))),
    "quota": ((ErrorKind.QUOTA_EXHAUSTED, ()),),
    "auth": ((ErrorKind.PERMISSION_DENIED, ()),),
    "forbidden": ((ErrorKind.PERMISSION_DENIED, ()),),
    "not_found": ((ErrorKind.NOT_FOUND, ()),),
    "too_large": (
        (ErrorKind.MODEL_ERROR, ("context_overflow",)),
        (ErrorKind.INVALID_ARGUMENT, ("too_large",)),
    ),
    "config": (
        (ErrorKind.UNAVAILABLE, ("certificate_invalid", "host_key_invalid", "not_configured", "tls_failed")),
    ),
    "cancelled": ((ErrorKind.CANCELLED, ()), (ErrorKind.INTERNAL, ("leaked_cancellation",))),
    "circuit_open": ((ErrorKind.CIRCUIT_OPEN, ()),),
    "loop": ((ErrorKind.BUDGET_EXHAUSTED, ("same_call", "stalled", "unknown_tool")),),
    "internal": ((ErrorKind.INTERNAL, ()), (ErrorKind.UNKNOWN, ())),
}

# Providers that a case may name, and the dialect that one would use for them.
DIALECTS: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai_chat": "openai",
    "openai_strict": "openai-strict",
    "openai_responses": "openai-responses",
    "deepseek": "openai",
    "gemini": "gemini",
    "google": "gemini",
    "mcp": "mcp",
    "lenient": "lenient",
}


def is_kind(error: AgentError | None, word: str, *, doubt: str | None = None) -> bool:
    """Whether an error, or its absence, is what a neutral word means.

    Args:
        error: What came; None for a success.
        word: The neutral word.
        doubt: The doubt that the call opened, if any.

    Raises:
        UnknownWord: The table does not have it.
    """
    if word == "ok":
        return error is None
    if word == "outcome_unknown":
        if error is None:
            return False
        return error.kind == ErrorKind.IN_DOUBT or (error.effect is Effect.POSSIBLE and doubt is not None)
    if word not in KINDS:
        raise UnknownWord(word)
    return error is not None and any(
        error.kind == kind and (not reasons or error.reason in reasons) for kind, reasons in KINDS[word]
    )
