"""What is declared of a tool beside its function, checked when the tool is built."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from failsoft.core.annotations import CATEGORY_ANNOTATIONS, Annotations
from failsoft.core.errors import UsageError
from failsoft.policies import UNSET, Isolation, Policy, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from failsoft.policies import Breaker, Bulkhead, Fallback, Output, Rate, Retry, RetryBudget

__all__ = ["ForeignKeywords", "IsolationMode", "Options", "ToolKeywords", "make_options"]

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
_EFFECT_WORDS = ("read_only", "idempotent", "destructive", "open_world")
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
        for word in _EFFECT_WORDS:
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


def make_options(given: dict[str, Any], base: Options | None = None) -> Options:
    """Options from keywords, or `base` with changes, checked.

    Raises:
        UsageError: For an unknown keyword, a wrong value or a contradiction.
    """
    known = [field.name for field in dataclasses.fields(Options)]
    for word in given:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keywords: {', '.join(known)}"
            raise UsageError(f"a tool takes no keyword {word!r}\n\nhint: {hint}")
    values = dict(given)
    if "roles" in values:
        values["roles"] = frozenset(_words(values["roles"], "roles"))
    if values.get("identity") is not None:
        values["identity"] = tuple(_words(values["identity"], "identity"))
    options = Options(**values) if base is None else dataclasses.replace(base, **values)
    for check in (_check_name, _check_effects, _check_words, _check_numbers, _check_callables):
        check(options)
    return options


def _words(value: Any, what: str) -> list[str]:
    words = [value] if isinstance(value, str) else list(value)
    for word in words:
        if not isinstance(word, str) or not word:
            raise UsageError(f"{what}: wanted words, got {word!r}")
    return words


def _fail(options: Options, text: str, hint: str) -> UsageError:
    return UsageError(f"tool {options.name or '(unnamed)'!r}: {text}\n\nhint: {hint}")


def _check_name(options: Options) -> None:
    name: Any = options.name
    if name is None:
        return
    if not isinstance(name, str) or not 1 <= len(name) <= 256:
        raise UsageError(f"a tool's name is a text of 1 to 256 characters, got {name!r}\n\nhint: give name=")
    if not name.isprintable() or name.strip() != name or any(sign in name for sign in "<>\"'`"):
        raise UsageError(
            f"a tool's name is printable and has no quotes, angle brackets or blanks around it, got {name!r}"
            "\n\nhint: give name="
        )


def _check_effects(options: Options) -> None:
    for word in (*_EFFECT_WORDS, "atomic", "parallel", "poll"):
        value = getattr(options, word)
        if not (isinstance(value, bool) or (value is None and word in _EFFECT_WORDS)):
            raise _fail(
                options, f"{word} is True or False, got {value!r}", f"say {word}=True or leave it out"
            )
    effects = options.annotations()
    source = (
        f" (category {options.category!r} counts too)" if options.category in CATEGORY_ANNOTATIONS else ""
    )
    if effects.read_only and effects.destructive:
        raise _fail(options, f"read_only and destructive contradict each other{source}", "drop one of them")
    if effects.read_only and effects.idempotent is False:
        raise _fail(
            options,
            f"read_only=True and idempotent=False contradict each other{source}: what changes nothing "
            "can be repeated",
            "drop one of them",
        )


def _check_words(options: Options) -> None:
    modes = get_args(IsolationMode)
    if options.isolation_mode not in modes:
        raise _fail(options, f"isolation has no {options.isolation!r}", f"one of: {', '.join(modes)}")
    if options.doubts not in (None, "model", "human"):
        raise _fail(options, f"doubts has no {options.doubts!r}", "who may resolve them: 'model' or 'human'")
    if options.approval not in ("never", "always") and not callable(options.approval):
        raise _fail(
            options,
            f"approval is 'never', 'always' or a predicate, got {options.approval!r}",
            "a predicate is a function of the arguments that returns True where a person must agree",
        )
    for word in ("version", "category", "description", "idempotency_key"):
        value = getattr(options, word)
        if not (isinstance(value, str) or (value is None and word != "version")):
            raise _fail(options, f"{word} is a text, got {value!r}", f"give {word} as a text")


def _check_numbers(options: Options) -> None:
    for word in ("timeout_s", "verify_after_s", "key_ttl_s"):
        value = getattr(options, word)
        if value is None and word != "key_ttl_s":
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0 or (value == 0 and word != "verify_after_s"):
            raise _fail(options, f"{word} is a positive number of seconds, got {value!r}", "such as 3 or 0.5")
    timeout: Any = options.timeout
    if options.timeout_s is not None and timeout is not UNSET:
        raise _fail(
            options,
            "timeout_s and timeout say the same thing twice",
            "timeout=Timeout(attempt_s=..., total_s=...) alone",
        )


def _check_callables(options: Options) -> None:
    for word in ("verify", "error_from_result"):
        value = getattr(options, word)
        if value is not None and not callable(value):
            raise _fail(
                options, f"{word} is a function, got {value!r}", f"hand in the function itself: {word}=fn"
            )
    if options.verify_after_s is not None and options.verify is None:
        raise _fail(options, "verify_after_s without verify", "give verify= too, or drop verify_after_s")
    returns = options.returns
    if returns is not None and not isinstance(returns, dict) and inspect.isroutine(returns):
        raise _fail(
            options, f"returns is a type or a JSON Schema, got {returns!r}", "such as returns=Weather"
        )
