"""`Policy`: what is said about a tool's calls, each thing set, off (None) or left to the next layer (UNSET)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from failsoft.policies._checks import one_of, refuse
from failsoft.policies.breaker import Breaker
from failsoft.policies.budget import RetryBudget
from failsoft.policies.bulkhead import Bulkhead
from failsoft.policies.fallback import Fallback
from failsoft.policies.isolation import Isolation
from failsoft.policies.output import Output
from failsoft.policies.rate import Rate
from failsoft.policies.retry import Retry
from failsoft.policies.timeout import Timeout
from failsoft.policies.unset import UNSET, Unset

__all__ = ["PARTS", "WHEN_OPEN", "EffectivePolicy", "Policy", "WhenOpen"]

WhenOpen = Literal["offer", "describe", "withhold"]
WHEN_OPEN: Final = ("offer", "describe", "withhold")

# part → (its record, how a plain value becomes one, in words what a plain value is)
_SHORT: Final[dict[str, tuple[type, Callable[[Any], Any] | None, str]]] = {
    "timeout": (Timeout, lambda value: Timeout(attempt_s=value), "seconds of one attempt"),
    "retry": (Retry, lambda value: Retry(max_attempts=value), "the number of attempts"),
    "retry_budget": (RetryBudget, lambda value: RetryBudget(ratio=value), "the share of retries"),
    "breaker": (Breaker, None, ""),
    "bulkhead": (Bulkhead, Bulkhead, "the number of bodies at once"),
    "rate": (Rate, Rate, "words such as '30/minute'"),
    "fallback": (Fallback, lambda value: Fallback(tool=value), "another tool's name"),
    "isolation": (Isolation, Isolation, "a word such as 'process'"),
    "output": (Output, lambda value: Output(max_chars=value), "the number of characters"),
}
PARTS: Final = (*_SHORT, "when_open")
_NEEDED: Final = ("timeout", "isolation", "when_open")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is said about calls, in one layer: the defaults, a harness, or a tool.

    Each part is a record of options, None for off, or UNSET for whatever the next layer says; a part that is given
    replaces that of the next layer whole. Plain values stand for the commonest record: `Policy(timeout=5, retry=2,
    rate="30/minute", bulkhead=4, fallback="other_tool", isolation="process", output=5000)`.

    Args:
        timeout: Limits in time; cannot be off.
        retry: Attempts and the waits between them.
        retry_budget: The share of retries, per tool and per run.
        breaker: When to stop calling for a while.
        bulkhead: Bodies at once.
        rate: Calls in a time.
        fallback: Answers for when a call has failed.
        isolation: Where the body runs; cannot be off.
        output: How much text the model gets at once.
        when_open: What the model sees of a tool while its breaker is open: `offer`, `describe` or `withhold`.
        source: Where these values come from, for the reader; default by the layer: `harness` or `tool`.

    Raises:
        UsageError: A value cannot work.
    """

    timeout: Timeout | float | Sequence[float] | Unset = UNSET
    retry: Retry | int | Unset | None = UNSET
    retry_budget: RetryBudget | float | Unset | None = UNSET
    breaker: Breaker | Unset | None = UNSET
    bulkhead: Bulkhead | int | Unset | None = UNSET
    rate: Rate | str | Unset | None = UNSET
    fallback: Fallback | str | Unset | None = UNSET
    isolation: Isolation | str | Unset = UNSET
    output: Output | int | Unset | None = UNSET
    when_open: WhenOpen | Unset = UNSET
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name, (record, make, short) in _SHORT.items():
            value = getattr(self, name)
            if not isinstance(value, Unset):
                object.__setattr__(self, name, _coerce(name, value, record, make, short))
        if not isinstance(self.when_open, Unset):
            one_of("Policy.when_open", self.when_open, WHEN_OPEN)

    @property
    def said(self) -> tuple[str, ...]:
        """The parts that this layer says something about."""
        return tuple(name for name in PARTS if not isinstance(getattr(self, name), Unset))

    def over(self, other: Policy) -> Policy:
        """This layer on top of another: what this one does not say is taken from `other`."""
        parts = {name: getattr(self if name in self.said else other, name) for name in PARTS}
        return Policy(**parts, source=self.source or other.source)

    @staticmethod
    def from_mapping(values: Mapping[str, Any], where: str = "failsoft.toml") -> Policy:
        """A policy from plain data, such as a table of a TOML file; `false` turns a part off.

        Raises:
            UsageError: An unknown word, with the nearest known ones, or a value that cannot work, with its place.
        """
        from failsoft.policies.mapping import policy_from  # it knows this class

        return policy_from(values, where)


def _coerce(name: str, value: Any, record: type, make: Callable[[Any], Any] | None, short: str) -> Any:
    if isinstance(value, record):
        return value
    if value is None or value is False:
        if name in _NEEDED:
            hint = "give long limits instead" if name == "timeout" else "'auto' chooses"
            raise refuse(f"Policy.{name}", "set: it cannot be off", value, hint)
        return None
    plain = isinstance(value, int | float | str) or (
        name in ("timeout", "fallback") and isinstance(value, list | tuple)
    )
    if make is None or value is True or not plain:
        also = f", {short}" if short else ""
        off = "" if name in _NEEDED else ", None (off)"
        article = "an" if record.__name__[0] in "IO" else "a"
        raise refuse(f"Policy.{name}", f"{article} {record.__name__}{also}{off} or UNSET", value)
    return make(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePolicy:
    """What holds for one tool, every part decided.

    Args:
        timeout: As in `Policy`, and so on.
        origin: Where each part comes from: `default`, `harness`, `tool`, or the source that a policy names.
    """

    timeout: Timeout
    retry: Retry | None
    retry_budget: RetryBudget | None
    breaker: Breaker | None
    bulkhead: Bulkhead | None
    rate: Rate | None
    fallback: Fallback | None
    isolation: Isolation
    output: Output | None
    when_open: WhenOpen
    origin: Mapping[str, str] = field(compare=False, hash=False)

    def __deepcopy__(self, memo: object) -> EffectivePolicy:
        return self

    @property
    def probe_lease_s(self) -> float:
        """How long a probe of the breaker may hold its permit: waits, the longest attempt and the grace."""
        waits = self.bulkhead is not None or self.rate is not None
        longest = self.timeout.total_s if waits else self.timeout.longest_attempt_s
        return longest + self.timeout.grace_s

    def to_mapping(self) -> dict[str, Any]:
        """Plain data by part, for showing; functions by their names."""
        return {name: _plain(getattr(self, name)) for name in PARTS}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        items = [_plain(item) for item in value]
        return sorted(items) if isinstance(value, set | frozenset) else items
    if hasattr(value, "__dataclass_fields__"):
        plain = {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.repr}
        return plain | {"per_kind": _plain(value.overrides())} if isinstance(value, Retry) else plain
    if callable(value):
        return getattr(value, "__qualname__", repr(value))
    return value
