"""The closed vocabularies of a failure: what, where, whose, and what it may have done.

Every enumeration is a `StrEnum`, so comparing with the plain word works: `error.kind == "timeout"`.
Kinds are an open set: `AgentError("my_kind", ...)` is legal and behaves like `unknown` where it says nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIND_DEFAULTS", "Domain", "Effect", "ErrorKind", "KindDefaults", "Owner", "defaults_of"]


class ErrorKind(StrEnum):
    """What went wrong."""

    INVALID_ARGUMENT = "invalid_argument"
    UNKNOWN_TOOL = "unknown_tool"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    PERMISSION_DENIED = "permission_denied"
    QUOTA_EXHAUSTED = "quota_exhausted"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    NETWORK = "network"
    TIMEOUT = "timeout"
    CIRCUIT_OPEN = "circuit_open"
    INVALID_OUTPUT = "invalid_output"
    MODEL_ERROR = "model_error"
    INTERNAL = "internal"
    BUDGET_EXHAUSTED = "budget_exhausted"
    IN_DOUBT = "in_doubt"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Domain(StrEnum):
    """Where it went wrong."""

    TOOL = "tool"
    MODEL = "model"
    ROUTING = "routing"
    POLICY = "policy"
    RUNTIME = "runtime"
    NETWORK = "network"
    OUTPUT = "output"


class Owner(StrEnum):
    """Who can change the outcome: the runtime retries, the model gets feedback, a human gets an escalation."""

    RUNTIME = "runtime"
    MODEL = "model"
    HUMAN = "human"
    NOBODY = "nobody"


class Effect(StrEnum):
    """What the failed call may have done to the world."""

    NONE = "none"
    POSSIBLE = "possible"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDefaults:
    """What a kind means where the error itself does not say."""

    domain: Domain
    retryable: bool
    effect: Effect
    owner: Owner


def _row(domain: Domain, retryable: bool, effect: Effect, owner: Owner) -> KindDefaults:
    return KindDefaults(domain=domain, retryable=retryable, effect=effect, owner=owner)


_NO, _YES = False, True

KIND_DEFAULTS: Final[Mapping[str, KindDefaults]] = MappingProxyType(
    {
        ErrorKind.INVALID_ARGUMENT: _row(Domain.TOOL, _NO, Effect.NONE, Owner.MODEL),
        ErrorKind.UNKNOWN_TOOL: _row(Domain.ROUTING, _NO, Effect.NONE, Owner.MODEL),
        ErrorKind.NOT_FOUND: _row(Domain.TOOL, _NO, Effect.NONE, Owner.MODEL),
        ErrorKind.CONFLICT: _row(Domain.TOOL, _NO, Effect.NONE, Owner.MODEL),
        ErrorKind.PERMISSION_DENIED: _row(Domain.POLICY, _NO, Effect.NONE, Owner.HUMAN),
        ErrorKind.QUOTA_EXHAUSTED: _row(Domain.TOOL, _NO, Effect.NONE, Owner.HUMAN),
        ErrorKind.RATE_LIMITED: _row(Domain.TOOL, _YES, Effect.NONE, Owner.RUNTIME),
        ErrorKind.OVERLOADED: _row(Domain.RUNTIME, _YES, Effect.NONE, Owner.RUNTIME),
        ErrorKind.UNAVAILABLE: _row(Domain.TOOL, _YES, Effect.POSSIBLE, Owner.RUNTIME),
        ErrorKind.NETWORK: _row(Domain.NETWORK, _YES, Effect.POSSIBLE, Owner.RUNTIME),
        ErrorKind.TIMEOUT: _row(Domain.RUNTIME, _YES, Effect.POSSIBLE, Owner.RUNTIME),
        ErrorKind.CIRCUIT_OPEN: _row(Domain.RUNTIME, _NO, Effect.NONE, Owner.MODEL),
        ErrorKind.INVALID_OUTPUT: _row(Domain.OUTPUT, _NO, Effect.DONE, Owner.MODEL),
        ErrorKind.MODEL_ERROR: _row(Domain.MODEL, _NO, Effect.NONE, Owner.RUNTIME),
        ErrorKind.INTERNAL: _row(Domain.TOOL, _NO, Effect.POSSIBLE, Owner.MODEL),
        ErrorKind.BUDGET_EXHAUSTED: _row(Domain.POLICY, _NO, Effect.NONE, Owner.HUMAN),
        ErrorKind.IN_DOUBT: _row(Domain.TOOL, _NO, Effect.POSSIBLE, Owner.MODEL),
        ErrorKind.CANCELLED: _row(Domain.RUNTIME, _NO, Effect.POSSIBLE, Owner.NOBODY),
        ErrorKind.UNKNOWN: _row(Domain.TOOL, _NO, Effect.POSSIBLE, Owner.MODEL),
    }
)


def defaults_of(kind: str) -> KindDefaults:
    """The defaults of a kind; those of `unknown` for a kind that failsoft does not know."""
    return KIND_DEFAULTS.get(kind) or KIND_DEFAULTS[ErrorKind.UNKNOWN]
