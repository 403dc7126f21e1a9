"""Retry: whether to try again after a failure, and after how long.

Two yeses are needed: the failure is retryable, and repeating is harmless (the tool is repeatable, or nothing happened).
The options say only how often and how long; no option can give the second yes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from failsoft.core.errors import UsageError
from failsoft.core.kinds import Effect, ErrorKind
from failsoft.policies import _backoff
from failsoft.policies._checks import count, factor, kind_word, kind_words, nearest, one_of, refuse, seconds

if TYPE_CHECKING:
    from failsoft.core.errors import AgentError

__all__ = ["Retry", "RetryDecision", "StopReason", "decide"]

_log = logging.getLogger("failsoft.policies")

Backoff = Literal["exponential", "fixed", "linear", "decorrelated"]
Jitter = Literal["full", "equal", "none"]
On = Collection[str] | Callable[["AgentError"], bool]
StopReason = Literal[
    "not_retryable",
    "not_repeatable",
    "already_yielded",
    "off",
    "attempts_used",
    "deadline",
    "hint_beyond_deadline",
    "budget",
    "shutting_down",
]

BASE_S = 0.5
CAP_S = 10.0
PER_KIND: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {ErrorKind.RATE_LIMITED.value: MappingProxyType({"base_s": 1.0, "cap_s": 60.0})}
)
_OVERRIDABLE = ("max_attempts", "base_s", "factor", "cap_s", "backoff", "jitter")
# A hint is what everybody else was told too: come a little later, but not so late that a person notices.
_HINT_SPREAD = 0.1
_HINT_SPREAD_MAX_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and how far apart.

    Args:
        max_attempts: Attempts in all, the first one included; 1 turns retries off. Default 3.
        base_s: Wait after the first failure, before jitter; default 0.5.
        factor: Growth from wait to wait, `exponential` only; default 2.
        cap_s: Longest wait, before jitter; default 10.
        backoff: `exponential`, `fixed`, `linear`, `decorrelated`, or a function from the number of the failed
            attempt to seconds.
        jitter: `full` (0 to the wait), `equal` (half to the whole), `none`; `decorrelated` brings its own.
        per_kind: Other values for single kinds: `{"rate_limited": {"base_s": 1, "cap_s": 60}}`, which is the default
            for what `base_s` and `cap_s` leave at theirs: a value that you give holds for every kind.
        on: Which failures are worth another attempt: kinds, or a function of the error.
            Default: what the error says itself (`error.retryable`).

    Raises:
        UsageError: A value cannot work.
    """

    max_attempts: int = 3
    base_s: float = BASE_S
    factor: float = 2.0
    cap_s: float = CAP_S
    backoff: Backoff | Callable[[int], float] = "exponential"
    jitter: Jitter = "full"
    per_kind: Mapping[str, Mapping[str, Any] | Retry] | None = field(default=None, hash=False)
    on: On | None = field(default=None, hash=False)
    kinds: Mapping[str, Retry] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "max_attempts", count("Retry.max_attempts", self.max_attempts))
        put(self, "base_s", seconds("Retry.base_s", self.base_s, zero=True))
        put(self, "factor", factor("Retry.factor", self.factor))
        put(self, "cap_s", seconds("Retry.cap_s", self.cap_s, zero=True))
        one_of("Retry.jitter", self.jitter, ("full", "equal", "none"))
        if not callable(self.backoff):
            one_of("Retry.backoff", self.backoff, ("exponential", "fixed", "linear", "decorrelated"))
        if self.backoff == "decorrelated" and self.jitter != "full":
            raise refuse(
                "Retry.jitter", "left out with backoff='decorrelated'", self.jitter, "it is random by itself"
            )
        if self.on is not None and not callable(self.on):
            put(self, "on", kind_words("Retry.on", self.on))
        put(self, "kinds", MappingProxyType(self._kinds()))

    def __deepcopy__(self, memo: object) -> Retry:
        return self

    def _kinds(self) -> dict[str, Retry]:
        if self.per_kind is not None:
            kinds = {kind_word("Retry.per_kind", kind): values for kind, values in self.per_kind.items()}
            return {kind: self._merged(kind, values) for kind, values in kinds.items()}
        if not isinstance(self.backoff, str):
            return {}
        own = {
            name for name, default in (("base_s", BASE_S), ("cap_s", CAP_S)) if getattr(self, name) != default
        }
        kept = {
            kind: {name: value for name, value in values.items() if name not in own}
            for kind, values in PER_KIND.items()
        }
        return {kind: self._merged(kind, values) for kind, values in kept.items() if values}

    def _merged(self, kind: str, values: Mapping[str, Any] | Retry) -> Retry:
        if isinstance(values, Retry):
            return replace(values, per_kind={})
        if not isinstance(values, Mapping):
            raise refuse(f"Retry.per_kind[{kind!r}]", "a mapping of options, or a Retry", values)
        for name in values:
            if name not in _OVERRIDABLE:
                hint = nearest(str(name), _OVERRIDABLE)
                raise UsageError(f"Retry.per_kind[{kind!r}] has no option {name!r}\n\nhint: {hint}")
        return replace(self, per_kind={}, **values)

    def of_kind(self, kind: str) -> Retry:
        """The options that hold for failures of `kind`."""
        return self.kinds.get(kind, self)

    def overrides(self) -> dict[str, dict[str, Any]]:
        """What is different for single kinds, the default included."""
        return {
            kind: {
                name: getattr(other, name)
                for name in _OVERRIDABLE
                if getattr(other, name) != getattr(self, name)
            }
            for kind, other in self.kinds.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """What to do after a failure.

    Args:
        delay_s: Seconds to wait before the next attempt; 0 when there is none.
        why: Why there is no other attempt; None when there is one.
    """

    delay_s: float = 0.0
    why: StopReason | None = None

    @property
    def go(self) -> bool:
        """Whether to try again."""
        return self.why is None


def decide(
    retry: Retry | None,
    *,
    attempt: int,
    error: AgentError,
    repeatable: bool,
    remaining_s: float,
    rng: _backoff.Rng,
    previous_wait_s: float | None = None,
    yielded: bool = False,
) -> RetryDecision:
    """Whether to try again after attempt number `attempt` (from 1) failed with `error`, and after how long.

    Args:
        retry: The options; None means off.
        attempt: Number of the attempt that failed.
        error: Its failure.
        repeatable: Whether the tool may be repeated after a possible effect.
        remaining_s: Seconds until the call must have ended. A wait that cannot end before is not begun.
        rng: Randomness for the jitter.
        previous_wait_s: The wait before the failed attempt, for `decorrelated`.
        yielded: Whether the body had already handed out an item: then nothing is repeated.

    A hint (`error.retry_after_s`) is a floor, after RFC 9110 section 10.2.3: never below, a little above.
    """
    if error.kind == ErrorKind.CANCELLED or not _worth_it(retry, error):
        return RetryDecision(why="not_retryable")
    if error.effect is not Effect.NONE and not repeatable:
        return RetryDecision(why="not_repeatable")
    if yielded:
        return RetryDecision(why="already_yielded")
    options = None if retry is None else retry.of_kind(error.kind)
    if options is None or options.max_attempts == 1:
        return RetryDecision(why="off")
    if attempt >= options.max_attempts:
        return RetryDecision(why="attempts_used")
    hint_s = error.retry_after_s or 0.0
    if hint_s >= remaining_s and hint_s > 0:
        return RetryDecision(why="hint_beyond_deadline")
    delay_s = _delay(options, attempt, hint_s, remaining_s, rng, previous_wait_s)
    if delay_s >= remaining_s:
        return RetryDecision(why="deadline")
    return RetryDecision(delay_s=delay_s)


def _worth_it(retry: Retry | None, error: AgentError) -> bool:
    on = None if retry is None else retry.on
    if on is None:
        return error.retryable
    if not callable(on):
        return error.kind in on
    try:
        return bool(on(error))
    except Exception:
        _log.exception("Retry.on raised for %r; going by error.retryable", error)
        return error.retryable


def _delay(
    options: Retry,
    attempt: int,
    hint_s: float,
    remaining_s: float,
    rng: _backoff.Rng,
    previous_wait_s: float | None,
) -> float:
    if options.backoff == "decorrelated":
        own_s = _backoff.decorrelated(previous_wait_s, base_s=options.base_s, cap_s=options.cap_s, rng=rng)
    else:
        own_s = _backoff.spread(_nominal(options, attempt), options.jitter, rng)
    if hint_s <= 0 or options.jitter == "none":
        return max(own_s, hint_s)
    floor_s = max(own_s, hint_s)
    room_s = max(0.0, remaining_s - floor_s) / 2
    return floor_s + min(_HINT_SPREAD * hint_s, _HINT_SPREAD_MAX_S, room_s) * rng.random()


def _nominal(options: Retry, attempt: int) -> float:
    values = {"attempt": attempt, "base_s": options.base_s, "factor": options.factor, "cap_s": options.cap_s}
    try:
        return _backoff.nominal(options.backoff, **values)  # type: ignore[arg-type]
    except Exception:
        _log.exception("Retry.backoff raised at attempt %d; waiting exponentially", attempt)
        return _backoff.nominal("exponential", **values)  # type: ignore[arg-type]
