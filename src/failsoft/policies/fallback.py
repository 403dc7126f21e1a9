"""Fallback: what to answer with when a call has failed, in order, and what must never be covered up.

A possible effect of a tool that is not read-only is a doubt, and a doubt stays on the result: no constant, old value or
function may hide it. Another tool may take over when nothing happened, or when repeating is harmless.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from failsoft.core.errors import UsageError
from failsoft.core.kinds import Effect, ErrorKind
from failsoft.policies._checks import count, kind_words, refuse, seconds
from failsoft.policies.unset import UNSET, Unset

if TYPE_CHECKING:
    from collections.abc import Hashable

    from failsoft.core.errors import AgentError

__all__ = [
    "Fallback",
    "LastGoodState",
    "Remembered",
    "Step",
    "UseFunction",
    "UseLastGood",
    "UseTool",
    "UseValue",
    "plan",
]

# A failure that only the model, a person or nobody can change is not mended by asking somewhere else, and a refusal
# is not to be walked around.
DEFAULT_ON: Final = frozenset(
    {
        ErrorKind.QUOTA_EXHAUSTED.value,
        ErrorKind.RATE_LIMITED.value,
        ErrorKind.OVERLOADED.value,
        ErrorKind.UNAVAILABLE.value,
        ErrorKind.NETWORK.value,
        ErrorKind.TIMEOUT.value,
        ErrorKind.CIRCUIT_OPEN.value,
        ErrorKind.INVALID_OUTPUT.value,
        ErrorKind.MODEL_ERROR.value,
        ErrorKind.INTERNAL.value,
        ErrorKind.UNKNOWN.value,
    }
)
_NEVER: Final = frozenset(
    {ErrorKind.CANCELLED.value, ErrorKind.IN_DOUBT.value, ErrorKind.PERMISSION_DENIED.value}
)


@dataclass(frozen=True, slots=True)
class UseTool:
    """Ask another tool with the same arguments.

    Args:
        name: The tool's name.
    """

    name: str

    @property
    def word(self) -> str:
        """What `degraded_by` says."""
        return self.name


@dataclass(frozen=True, slots=True)
class UseLastGood:
    """Answer with the last good value for the same arguments.

    Args:
        max_age_s: How old it may be.
    """

    max_age_s: float
    word: str = field(default="last_good", init=False, repr=False)

    def __post_init__(self) -> None:
        seconds("UseLastGood.max_age_s", self.max_age_s)


@dataclass(frozen=True, slots=True)
class UseFunction:
    """Answer with what a function makes of the arguments; it may be async.

    Args:
        function: Called with the tool's arguments by keyword.
    """

    function: Callable[..., Any]
    word: str = field(default="function", init=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise refuse("UseFunction.function", "a function of the tool's arguments", self.function)


@dataclass(frozen=True, slots=True)
class UseValue:
    """Answer with a constant.

    Args:
        value: The answer.
    """

    value: Any
    word: str = field(default="value", init=False, repr=False)


Step = UseTool | UseLastGood | UseFunction | UseValue


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Fallback:
    """Answers in the order of trying.

    Args:
        tool: Another tool's name, or several.
        last_good_max_age_s: How old the last good value for the same arguments may be.
        function: A function of the arguments.
        value: A constant.
        steps: The order in full, instead of the four above, which stand in the order given here.
        on: Kinds that are worth a fallback. Default: the world's failures, not the model's and not a refusal.
        max_remembered: Last good values that are kept; default 256.

    Raises:
        UsageError: Nothing to fall back on, or something behind a constant, which never fails.
    """

    steps: tuple[Step, ...]
    on: frozenset[str]
    max_remembered: int

    def __init__(
        self,
        *,
        tool: str | Sequence[str] | None = None,
        last_good_max_age_s: float | None = None,
        function: Callable[..., Any] | None = None,
        value: Any = UNSET,
        steps: Sequence[Step] = (),
        on: Collection[str] | None = None,
        max_remembered: int = 256,
    ) -> None:
        short = _steps(tool, last_good_max_age_s, function, value)
        if short and steps:
            hint = "put everything into steps, in the order of trying"
            raise refuse("Fallback.steps", "left out beside tool, last good, function and value", steps, hint)
        chosen = short or tuple(steps)
        if not chosen:
            raise UsageError(
                "Fallback needs something to fall back on\n\nhint: tool=, last_good_max_age_s=, function=, value="
            )
        for step in chosen:
            if not isinstance(step, Step):
                raise refuse("Fallback.steps", "UseTool, UseLastGood, UseFunction or UseValue", step)
        for step in chosen[:-1]:
            if isinstance(step, UseValue):
                raise refuse(
                    "Fallback.steps", "ended by its constant", chosen, "a constant never fails; put it last"
                )
        kinds = DEFAULT_ON if on is None else kind_words("Fallback.on", on)
        if kinds & _NEVER:
            raise refuse(
                "Fallback.on", "free of " + ", ".join(sorted(_NEVER)), sorted(kinds), "these must stand"
            )
        put = object.__setattr__
        put(self, "steps", chosen)
        put(self, "on", kinds)
        put(self, "max_remembered", count("Fallback.max_remembered", max_remembered))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the other tools."""
        return tuple(step.name for step in self.steps if isinstance(step, UseTool))

    @property
    def remembers(self) -> bool:
        """Whether good values must be kept."""
        return any(isinstance(step, UseLastGood) for step in self.steps)

    def start(self) -> LastGoodState:
        """A fresh memory of good values."""
        return LastGoodState(self.max_remembered)


def _steps(
    tool: str | Sequence[str] | None, age_s: float | None, function: Callable[..., Any] | None, value: Any
) -> tuple[Step, ...]:
    given: Any = tool
    if given is not None and not isinstance(given, str | list | tuple | set | frozenset):
        raise refuse("Fallback.tool", "another tool's name, or several in order", given)
    names = () if tool is None else (tool,) if isinstance(tool, str) else tuple(tool)
    steps: list[Step] = [UseTool(name) for name in names]
    if age_s is not None:
        steps.append(UseLastGood(age_s))
    if function is not None:
        steps.append(UseFunction(function))
    if not isinstance(value, Unset):
        steps.append(UseValue(value))
    return tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A value that was good once.

    Args:
        value: The value.
        age_s: How long ago.
    """

    value: Any
    age_s: float


class LastGoodState:
    """The last good values by arguments, the least recently made dropped first; safe for threads."""

    __slots__ = ("_lock", "_values", "max_remembered")

    def __init__(self, max_remembered: int = 256) -> None:
        self.max_remembered = max_remembered
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def remember(self, key: Hashable, value: Any, now: float) -> None:
        """Keep `value` as the last good one for `key`, such as a fingerprint of the arguments."""
        with self._lock:
            self._values[key] = (now, value)
            self._values.move_to_end(key)
            if len(self._values) > self.max_remembered:
                self._values.popitem(last=False)

    def recall(self, key: Hashable, now: float, max_age_s: float) -> Remembered | None:
        """The last good value for `key`, unless it is older than `max_age_s`."""
        with self._lock:
            made, value = self._values.get(key, (None, None))
        if made is None:
            return None
        age_s = max(0.0, now - made)
        return Remembered(value=value, age_s=age_s) if age_s <= max_age_s else None

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"LastGoodState({len(self._values)}/{self.max_remembered})"


def plan(
    fallback: Fallback | None, error: AgentError, *, read_only: bool, repeatable: bool, yielded: bool = False
) -> tuple[Step, ...]:
    """The steps that may be tried after `error`, in order; empty when the error must stand.

    Args:
        fallback: The options; None means off.
        error: The failure of the call, after its retries.
        read_only: Whether the tool changes nothing.
        repeatable: Whether the tool may be repeated after a possible effect.
        yielded: Whether the body had handed out an item: then the caller has begun to use the true answer.
    """
    if fallback is None or yielded or error.kind not in fallback.on:
        return ()
    nothing_happened = error.effect is Effect.NONE
    other_tool = nothing_happened or repeatable or read_only
    stand_in = nothing_happened or read_only
    return tuple(step for step in fallback.steps if (other_tool if isinstance(step, UseTool) else stand_in))
