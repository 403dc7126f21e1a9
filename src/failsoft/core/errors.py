"""`AgentError`, the one error of a run, and a subclass per kind that tools may raise.

    AgentError
    ├── InvalidArgument   ├── RateLimited    ├── InvalidOutput
    ├── UnknownTool       ├── Overloaded     ├── ModelError
    ├── NotFound          ├── Unavailable    ├── InternalError
    ├── Conflict          ├── NetworkError   ├── BudgetExhausted
    ├── PermissionDenied  ├── ToolTimeout    ├── InDoubt
    ├── QuotaExhausted    ├── CircuitOpen    └── Cancelled

Misuse of the API raises `UsageError` instead: it is for the developer, never for the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner, defaults_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AgentError",
    "BudgetExhausted",
    "Cancelled",
    "CircuitOpen",
    "Conflict",
    "InDoubt",
    "InternalError",
    "InvalidArgument",
    "InvalidOutput",
    "ModelError",
    "NetworkError",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "QuotaExhausted",
    "RateLimited",
    "ToolTimeout",
    "Unavailable",
    "UnknownTool",
    "UsageError",
    "error_class",
    "make_error",
]

_FIELDS = (
    "kind",
    "message",
    "domain",
    "reason",
    "retryable",
    "effect",
    "retry_after_s",
    "suggestion",
    "owner",
    "context",
)


_KINDS = {kind.value: kind for kind in ErrorKind}


class UsageError(Exception):
    """The API was used in a way that cannot work; the message says what was wanted, what came and what to do."""


class AgentError(Exception):
    """A failure of a tool, a model or the runtime, with what its reader needs to act on it.

    All fields are fixed when the error is made; `replace()` gives a changed copy.
    Whatever is not given is taken from the kind (`failsoft.core.kinds.KIND_DEFAULTS`).

    Args:
        kind: What went wrong; an `ErrorKind` or a word of your own.
        message: One sentence for people.
        domain: Where it went wrong.
        reason: Short machine code from an open set, such as `connect_refused`.
        retryable: Whether the same call may succeed later.
        effect: What may have happened: `none`, `possible` or `done`.
        retry_after_s: Seconds to wait at least, where somebody said so.
        suggestion: What the reader could do about it.
        owner: Who can change the outcome.
        context: Free form, type-specific details; JSON-able where possible.

    Raises:
        ValueError: If `retry_after_s` is negative or not finite.
    """

    kind: ErrorKind | str
    message: str
    domain: Domain
    reason: str
    retryable: bool
    effect: Effect
    retry_after_s: float | None
    suggestion: str | None
    owner: Owner
    context: dict[str, Any]
    effect_given: bool
    """Whether `effect` was said by whoever made the error, and not taken from the kind."""

    def __init__(
        self,
        kind: ErrorKind | str,
        message: str = "",
        *,
        domain: Domain | str | None = None,
        reason: str | None = None,
        retryable: bool | None = None,
        effect: Effect | str | None = None,
        retry_after_s: float | None = None,
        suggestion: str | None = None,
        owner: Owner | str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        defaults = defaults_of(kind)
        if retry_after_s is not None and not 0 <= retry_after_s < float("inf"):
            raise ValueError(f"retry_after_s must be a finite number of seconds >= 0, got {retry_after_s!r}")
        fields = self.__dict__
        fields["kind"] = _KINDS.get(kind) or str(kind)
        fields["message"] = message
        fields["domain"] = defaults.domain if domain is None else Domain(domain)
        fields["reason"] = str(kind) if reason is None else reason
        fields["retryable"] = defaults.retryable if retryable is None else retryable
        fields["effect"] = defaults.effect if effect is None else Effect(effect)
        fields["effect_given"] = effect is not None
        fields["retry_after_s"] = retry_after_s
        fields["suggestion"] = suggestion
        fields["owner"] = defaults.owner if owner is None else Owner(owner)
        fields["context"] = dict(context or {})

    def __setattr__(self, name: str, value: object) -> None:
        if name in _FIELDS:
            raise AttributeError(
                f"AgentError.{name} is fixed when the error is made; use error.replace({name}=...)"
            )
        super().__setattr__(name, value)

    def __str__(self) -> str:
        return self.message or str(self.kind)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kind={str(self.kind)!r}, reason={self.reason!r}, message={self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields())

    def fields(self) -> dict[str, Any]:
        """The ten fields by name, the context copied."""
        values = {name: self.__dict__[name] for name in _FIELDS}
        values["context"] = dict(self.context)
        return values

    def replace(self, **changes: Any) -> Self:
        """A copy of the same class with `changes`, keeping cause, context, traceback and notes."""
        unknown = set(changes) - set(_FIELDS)
        if unknown:
            raise TypeError(f"AgentError has no field {sorted(unknown)[0]!r}; fields: {', '.join(_FIELDS)}")
        other = _rebuild(type(self), {**self.fields(), **changes})
        other.__dict__["effect_given"] = self.effect_given or "effect" in changes
        other.__cause__, other.__context__ = self.__cause__, self.__context__
        other.__suppress_context__ = self.__suppress_context__
        other.__traceback__ = self.__traceback__
        for note in getattr(self, "__notes__", ()):
            other.add_note(note)
        return other


E = TypeVar("E", bound=AgentError)


def _rebuild(cls: type[E], fields: Mapping[str, Any]) -> E:
    values = dict(fields)
    error = cls.__new__(cls)
    message = values["message"]
    error.args = (message,)
    AgentError.__init__(error, values.pop("kind"), values.pop("message"), **values)
    return error


class _OfOneKind(AgentError):
    """A subclass whose kind is its class: `NotFound("no such order")`."""

    _kind: ClassVar[ErrorKind]

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(self._kind, message, **fields)


class InvalidArgument(_OfOneKind):
    """The arguments do not fit the tool."""

    _kind = ErrorKind.INVALID_ARGUMENT


class UnknownTool(_OfOneKind):
    """No tool has the name that was asked for."""

    _kind = ErrorKind.UNKNOWN_TOOL


class NotFound(_OfOneKind):
    """The thing asked for does not exist."""

    _kind = ErrorKind.NOT_FOUND


class Conflict(_OfOneKind):
    """The world is in a state that forbids the call; or the same call is still running."""

    _kind = ErrorKind.CONFLICT


class PermissionDenied(_OfOneKind):
    """A rule, a service or a person refused."""

    _kind = ErrorKind.PERMISSION_DENIED


class QuotaExhausted(_OfOneKind):
    """A spending cap or a quota is used up; waiting a little does not help."""

    _kind = ErrorKind.QUOTA_EXHAUSTED


class RateLimited(_OfOneKind):
    """Too many calls; give `retry_after_s` where the service said so."""

    _kind = ErrorKind.RATE_LIMITED


class Overloaded(_OfOneKind):
    """A local limit or queue is full; nothing was sent."""

    _kind = ErrorKind.OVERLOADED


class Unavailable(_OfOneKind):
    """The service cannot answer now."""

    _kind = ErrorKind.UNAVAILABLE


class NetworkError(_OfOneKind):
    """The connection failed."""

    _kind = ErrorKind.NETWORK


class ToolTimeout(_OfOneKind):
    """No answer in time."""

    _kind = ErrorKind.TIMEOUT


class CircuitOpen(_OfOneKind):
    """The breaker refuses calls until `retry_after_s`."""

    _kind = ErrorKind.CIRCUIT_OPEN


class InvalidOutput(_OfOneKind):
    """What came back breaks its schema."""

    _kind = ErrorKind.INVALID_OUTPUT


class ModelError(_OfOneKind):
    """The model refused, ran over its context, or answered garbage."""

    _kind = ErrorKind.MODEL_ERROR


class InternalError(_OfOneKind):
    """A bug in the tool's body, or its worker died."""

    _kind = ErrorKind.INTERNAL


class BudgetExhausted(_OfOneKind):
    """A limit of the run is reached."""

    _kind = ErrorKind.BUDGET_EXHAUSTED


class InDoubt(_OfOneKind):
    """An earlier identical call may have happened and nobody has found out yet."""

    _kind = ErrorKind.IN_DOUBT


class Cancelled(_OfOneKind):
    """The call was cancelled."""

    _kind = ErrorKind.CANCELLED


_CLASSES: dict[str, type[AgentError]] = {cls._kind: cls for cls in _OfOneKind.__subclasses__()}


def error_class(kind: str) -> type[AgentError]:
    """The class of a kind; `AgentError` itself where a kind has none."""
    return _CLASSES.get(kind, AgentError)


def make_error(kind: ErrorKind | str, message: str = "", **fields: Any) -> AgentError:
    """An error of the class that belongs to `kind`, so that `except NotFound` works whoever made it."""
    cls = error_class(kind)
    return cls(kind, message, **fields) if cls is AgentError else cls(message, **fields)
