"""The state of one call: what the runtime keeps, what a tool may read, and what nested calls inherit.

One object serves as all three, because a call's whole budget of overhead is a few microseconds.
"""

from __future__ import annotations

import itertools
import os
import secrets
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import Progress
from failsoft.core.clock import SystemClock
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.clock import Clock
    from failsoft.core.results import Content, ToolResult

__all__ = ["CallContext", "current", "current_call", "new_id"]

current_call: ContextVar[CallContext | None] = ContextVar("failsoft_call", default=None)

_process = secrets.token_hex(4)
_numbers = itertools.count(1)


def _after_fork() -> None:
    """Two processes that made the same ids would take each other's runs for their own."""
    global _process
    _process = secrets.token_hex(4)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def new_id(prefix: str) -> str:
    """An id that is unique among processes and short enough to read: `call_1f0c9a3b_12`."""
    return f"{prefix}_{_process}_{next(_numbers)}"


def _no_render(result: ToolResult) -> tuple[Content, int]:
    return str(result.value if result.error is None else result.error), 0


class CallContext:
    """What a running tool may know of its call.

    Injected where a parameter is annotated with it; also `failsoft.current()`.

    Args:
        name: The tool's name.
        arguments: The arguments, as sent.
        deadline: Monotonic time at which the call must have ended.
        clock: Tells that time.
    """

    # No __slots__: class-level defaults make a call cheaper to begin than a dozen assignments do.
    run_id: str | None = None
    scope: str = "default"
    truncated: bool
    attempt: int
    idempotency_key: str | None = None
    on_progress: Callable[[Progress], object] | None = None
    started: bool
    yielded: bool = False
    partial: list[Any] | None = None
    _id: str | None = None
    _acted_in: int = 0
    _progressed: Callable[[], object] | None = None
    _renderer: Callable[[ToolResult], tuple[Content, int]] = staticmethod(_no_render)

    def __init__(
        self,
        name: str,
        arguments: Any,
        *,
        deadline: float = float("inf"),
        clock: Clock | None = None,
        id: str | None = None,
        run_id: str | None = None,
        scope: str = "default",
        truncated: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.deadline = deadline
        self.clock: Clock = clock or SystemClock()
        self._id = id
        self.run_id = run_id
        self.scope = scope
        self.truncated = truncated
        self.attempt = 0
        self.started = False
        self.on_progress = on_progress

    @property
    def id(self) -> str:
        """The provider's call id, or one made when first asked for."""
        if self._id is None:
            self._id = new_id("call")
        return self._id

    @property
    def duration_s(self) -> float:
        """Seconds that the call took; 0 while it has not ended."""
        return 0.0

    @property
    def remaining_s(self) -> float:
        """Seconds until the call must have ended; never below 0."""
        return max(0.0, self.deadline - self.clock.monotonic())

    @property
    def has_acted(self) -> bool:
        """Whether the running attempt has said that something may have happened."""
        return self._acted_in == self.attempt > 0

    def acted(self) -> None:
        """Say that something may have happened from here on: a failure after it has a possible effect."""
        self._acted_in = self.attempt

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report a step: goes to `on_progress` and resets the idle time-out."""
        self.report(Progress(done, total, message))

    def report(self, step: Progress) -> None:
        """Hand one progress record on."""
        if self._progressed is not None:
            self._progressed()
        if self.on_progress is not None:
            self.on_progress(step)

    def render(self, result: ToolResult) -> tuple[Content, int]:
        """The content of a result for the model, and how many characters were cut from it."""
        return self._renderer(result)

    def __repr__(self) -> str:
        return f"CallContext({self.name!r}, attempt={self.attempt})"


def current() -> CallContext:
    """The call that is running here: deadline, attempt, idempotency key, `acted()`, `progress()`.

    Raises:
        UsageError: Outside of a call.
    """
    call = current_call.get()
    if call is None:
        raise UsageError("failsoft.current() works only inside a tool that failsoft is running")
    return call
