"""The live state of one call, as the runtime sees it: what `CallContext` shows to a tool, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.core.calls import Attempt
from failsoft.core.context import CallContext
from failsoft.harness.alarms import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.calls import Repair
    from failsoft.core.clock import Clock
    from failsoft.core.errors import AgentError
    from failsoft.core.results import Content, ToolResult
    from failsoft.harness.claim import Claim
    from failsoft.harness.plan import Plan
    from failsoft.harness.run import Run
    from failsoft.harness.shared import Shared

__all__ = ["LiveCall"]

_NEVER = float("inf")


class LiveCall(CallContext, Alarm):
    """All state of one call; dies with it. Class-level values are what a plain call never has to set."""

    plan: Plan
    _scope: str | None = None
    values: dict[str, Any]
    ended_at: float
    run: Run | None = None
    roles: frozenset[str] = frozenset()
    approved: bool = False
    occurrence: int = 1
    key: str | None = None
    repairs: tuple[Repair, ...] = ()
    history: tuple[Attempt, ...] = ()
    claim: Claim | None = None
    outer: CallContext | None = None
    outcome: ToolResult | AgentError | None = None
    covered: AgentError | None = None
    redirected: Any = None
    deadline: float
    hard_deadline: float = float("inf")
    runs_on: bool = False
    late: bool = False
    notable: bool
    recorded_at: float | None = None
    degraded_age_s: float | None = None
    tries: int = 0
    may_have_acted: bool = False
    degraded_by: str | None = None
    replayed: bool = False
    doubt: str | None = None
    queued_s: float = 0.0
    permit: int
    slot: Callable[[], object] | None = None
    slot_left: Callable[[], object] | None = None

    def __init__(self, shared: Shared, name: str, arguments: Any, now: float) -> None:
        self.shared = shared
        self.name = name
        self.arguments = arguments
        self.started_at = now
        # Whatever every call sets or reads is set here: a value of the class that an instance overrides is looked up the
        # slow way each time, on 3.13 20 ns instead of 2.
        self.deadline = _NEVER
        self.attempt = self.permit = 0
        self.truncated = self.started = self.notable = self.fired = False
        self.task = None

    def render(self, result: ToolResult) -> tuple[Content, int]:
        """The content of a result for the model, and how many characters were cut from it."""
        return self.shared.render(self, result)

    @property
    def duration_s(self) -> float:
        """Seconds from the call's beginning to the end of its last attempt."""
        return self.ended_at - self.started_at

    @property
    def scope(self) -> str:
        """Whose calls may be confused with whose: what was said, else the harness's name."""
        return self._scope or self.shared.name

    @scope.setter
    def scope(self, scope: str) -> None:
        self._scope = scope

    @property
    def read_only(self) -> bool:
        """Whether the tool changes nothing; False while it is not known which tool it is."""
        plan = getattr(self, "plan", None)
        return plan is not None and plan.read_only

    @property
    def grace_s(self) -> float:
        """Seconds for settling after a cancel."""
        plan = getattr(self, "plan", None)
        return 1.0 if plan is None else plan.grace_s

    @property
    def clock(self) -> Clock:  # type: ignore[override]
        """The harness's clock."""
        return self.shared.clock

    def release(self) -> None:
        """Give the bulkhead's place back, where there is one."""
        slot, self.slot = self.slot, None
        if slot is not None:
            slot()

    def note_attempt(self, error: AgentError | None, duration_s: float, wait_s: float) -> None:
        """Write one attempt into the history."""
        clean = None if error is None else self.shared.clean(self, error)
        attempt = Attempt(
            number=self.attempt,
            tool=self.plan.name,
            queued_s=self.queued_s,
            duration_s=duration_s,
            error=clean,
            wait_s=wait_s,
        )
        self.history += (attempt,)
        self.notable = True
        self.queued_s = 0.0
