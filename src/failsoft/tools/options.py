"""What is declared of a tool beside its function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from failsoft.core.annotations import CATEGORY_ANNOTATIONS, Annotations
from failsoft.core.errors import UsageError
from failsoft.policies import UNSET, Isolation, Policy, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from failsoft.policies import Breaker, Bulkhead, Fallback, Output, Rate, Retry, RetryBudget

__all__ = ["EFFECT_WORDS", "ForeignKeywords", "IsolationMode", "Options", "ToolKeywords"]

IsolationMode = Literal["auto", "inline", "task", "thread", "process"]

_POLICY_WORDS = (
    "timeout",
    "retry",
    "retry_budget",
    "breaker",
    "bulkhead",
    "rate",
    "fallback",
    "output",
    "when_open",
)
EFFECT_WORDS = ("read_only", "idempotent", "destructive", "open_world")
_unset: Any = UNSET


class ForeignKeywords(TypedDict, total=False):
    """The keywords of `Tool.from_schema`, for type checkers; defaults and meaning are those of `Options`."""

    version: str
    read_only: bool | None
    idempotent: bool | None
    destructive: bool | None
    open_world: bool | None
    atomic: bool
    category: str | None
    roles: Iterable[str]
    approval: str | Callable[..., Any]
    timeout_s: float | None
    timeout: Timeout | float | Sequence[float]
    retry: Retry | int | None
    retry_budget: RetryBudget | float | None
    breaker: Breaker | None
    bulkhead: Bulkhead | int | None
    rate: Rate | str | None
    fallback: Fallback | str | None
    output: Output | int | None
    when_open: Literal["offer", "describe", "withhold"]
    isolation: IsolationMode | Isolation
    parallel: bool
    poll: bool
    identity: Iterable[str] | None
    verify: Callable[..., Any] | None
    verify_after_s: float | None
    doubts: Literal["model", "human"] | None
    idempotency_key: str | None
    key_ttl_s: float
    error_from_result: Callable[[Any], Any] | None
    returns: Any


class ToolKeywords(ForeignKeywords, total=False):
    """The keywords of `tool`, for type checkers; defaults and meaning are those of `Options`."""

    name: str | None
    description: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A tool's declaration.

    Args:
        name: What the model calls it; default the function's name.
        description: What the model reads of it; default the docstring.
        version: Counted into the ledger's record; raise it when the meaning of the arguments changes.
        read_only: Changes nothing in the world.
        idempotent: A second identical call has no further effect.
        destructive: May delete or overwrite.
        open_world: Reaches outside, such as the network.
        atomic: The body makes one outside request, so a proof that it was not carried out proves everything.
        category: A free word; the well-known ones stand for annotations that are not given.
        roles: Who may call it; empty: everybody.
        approval: `never`, `always`, or a predicate.
        timeout_s: Seconds for one attempt; short for `timeout=Timeout(attempt_s=...)`.
        timeout, retry, retry_budget, breaker, bulkhead, rate, fallback, output, when_open: As in `Policy`;
            None turns one off, left out leaves it to the harness.
        isolation: Where the body runs; a word, or `Isolation(mode, memory_mb)`.
        parallel: Whether it may run beside other calls of one turn.
        poll: Asks for the state of something; identical calls with identical results are then no stall.
        identity: Names of the parameters that make two calls the same; default all visible ones.
        verify: Asked about a call in doubt: did it happen?
        verify_after_s: Seconds to wait before `verify` is asked first.
        doubts: Who may resolve a doubt; default `human` where destructive, else `model`.
        idempotency_key: Name of the parameter that takes a key; hidden from the model.
        key_ttl_s: Seconds for which the other side remembers a key.
        error_from_result: Tells an error in disguise from a result.
        returns: Type or JSON Schema that the result is checked against.
    """

    name: str | None = None
    description: str | None = None
    version: str = "1"
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    atomic: bool = False
    category: str | None = None
    roles: frozenset[str] = frozenset()
    approval: str | Callable[..., Any] = "never"
    timeout_s: float | None = None
    timeout: Timeout | float | Sequence[float] = _unset
    retry: Retry | int | None = _unset
    retry_budget: RetryBudget | float | None = _unset
    breaker: Breaker | None = _unset
    bulkhead: Bulkhead | int | None = _unset
    rate: Rate | str | None = _unset
    fallback: Fallback | str | None = _unset
    output: Output | int | None = _unset
    when_open: Literal["offer", "describe", "withhold"] = _unset
    isolation: IsolationMode | Isolation = "auto"
    parallel: bool = True
    poll: bool = False
    identity: tuple[str, ...] | None = None
    verify: Callable[..., Any] | None = None
    verify_after_s: float | None = None
    doubts: Literal["model", "human"] | None = None
    idempotency_key: str | None = None
    key_ttl_s: float = 82_800
    error_from_result: Callable[[Any], Any] | None = None
    returns: Any = None

    def annotations(self) -> Annotations:
        """The effects as declared, the category's words filling what was not given."""
        implied = CATEGORY_ANNOTATIONS.get(self.category or "", {})
        words = {}
        for word in EFFECT_WORDS:
            given = getattr(self, word)
            words[word] = implied.get(word) if given is None else given
        return Annotations(**words)

    @property
    def isolation_mode(self) -> IsolationMode:
        """Where the body runs, as a word."""
        mode: Any = self.isolation.mode if isinstance(self.isolation, Isolation) else self.isolation
        made: IsolationMode = mode
        return made

    def policy(self) -> Policy:
        """The policies that were given; all others stay unset.

        Raises:
            UsageError: A value cannot work.
        """
        given: dict[str, Any] = {
            word: getattr(self, word) for word in _POLICY_WORDS if getattr(self, word) is not UNSET
        }
        if self.timeout_s is not None:
            given["timeout"] = Timeout(attempt_s=self.timeout_s)
        if self.isolation != "auto":
            given["isolation"] = self.isolation
        try:
            return Policy(**given)
        except UsageError as exc:
            raise UsageError(f"tool {self.name!r}: {exc}") from exc
