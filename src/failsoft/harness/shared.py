"""What all calls of one harness share: tools, policies' states, store, clock, and whom to tell."""

from __future__ import annotations

import datetime
import logging
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.core.events import LEVELS, Event, EventName
from failsoft.core.results import DetailedResult
from failsoft.harness import claim as ledger
from failsoft.harness.hooks import in_thread
from failsoft.harness.live import LiveCall
from failsoft.harness.zombies import Zombies
from failsoft.stores.engine import at_hand
from failsoft.stores.memory import MemoryStore
from failsoft.tools.render import render_value

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from failsoft.classify import Classifier
    from failsoft.core.clock import Clock
    from failsoft.core.errors import AgentError
    from failsoft.core.events import Sink
    from failsoft.core.results import Content, ToolResult
    from failsoft.feedback import Feedback, Redactor
    from failsoft.harness.alarms import Held
    from failsoft.harness.builder import Recipe
    from failsoft.harness.claim import Claim
    from failsoft.harness.plan import Plan
    from failsoft.harness.recorder import Recorder
    from failsoft.ledger.port import LedgerStore
    from failsoft.policies import BreakerChange, RetryBudget, RetryBudgetState
    from failsoft.telemetry import Fanout
    from failsoft.tools import Registry

__all__ = ["Shared"]

log = logging.getLogger("failsoft")


class Shared:
    """The parts of one harness; made by the builder, never changed afterwards but for the tables of live things."""

    def __init__(
        self,
        *,
        name: str,
        clock: Clock,
        rng: random.Random,
        store: LedgerStore,
        classifier: Classifier,
        feedback: Feedback,
        redactor: Redactor,
        events: Fanout,
        approve: Callable[..., Any] | None,
        passthrough: tuple[type[BaseException], ...],
        builtins: bool,
        recorder: Recorder | None = None,
        others: Fanout | None = None,
    ) -> None:
        self.name, self.clock, self.rng, self.store = name, clock, rng, store
        self.classifier, self.feedback, self.redactor, self.events = classifier, feedback, redactor, events
        self.monotonic = clock.monotonic
        # Whether a sink wants to hear of plain successes too; the recorder has a shorter way for them.
        self.wants = events.wants if others is None else others.wants
        self.approve, self.passthrough, self.builtins = approve, passthrough, builtins
        self.recorder = recorder
        self.registry: Registry
        self.recipe: Recipe
        self.plans: dict[str, Plan] = {}
        # Plans of tools that have changed or gone, whose calls may still be under way.
        self.retired: list[Plan] = []
        self.flights: dict[str, Claim] = {}
        self.zombies = Zombies()
        # Memory answers without waiting, so its answers need no time limit of 5 µs.
        self.store_is_at_hand = type(store) is MemoryStore
        self.quick_store = at_hand(store)
        self.held: Held = {}
        self.blocked: dict[str, int] = {}
        self.closing = False
        self.own_sinks: tuple[Sink, ...] = ()
        self.raised: tuple[type[BaseException], ...] = (*passthrough, UsageError)
        self.passing: tuple[type[BaseException], ...] = (ledger.KnownAnswer, *passthrough)
        self.run_budget: RetryBudget | None = None
        self.stop_listening: Callable[[], None] = lambda: None
        self._logged: set[object] = set()

    def new_run_budget(self) -> RetryBudgetState | None:
        """A fresh retry budget for a run."""
        return None if self.run_budget is None else self.run_budget.start()

    # ---- telling ----

    def tell(self, call: LiveCall, name: EventName, **data: Any) -> None:
        """Tell the sinks what happened to a call."""
        self._emit(name, call.plan.name if hasattr(call, "plan") else call.name, call, data)

    def tell_tool(self, tool_name: str, name: EventName, **data: Any) -> None:
        """Tell the sinks what happened to a tool, outside of any call."""
        self._emit(name, tool_name, None, data)

    def tell_store(self, name: EventName, **data: Any) -> None:
        """Tell the sinks of the store; from any thread."""
        self._emit(name, None, None, data)

    def _emit(
        self, name: EventName, tool_name: str | None, call: LiveCall | None, data: dict[str, Any]
    ) -> None:
        if not self.events.wants(LEVELS[name]):
            return
        told = {key: value for key, value in data.items() if value is not None}
        secrets = [] if call is None else _injected(call)
        if secrets:  # the patterns of the fan-out's redactor cannot know them
            told = self.redactor.bound(secrets=secrets).value(told, "operator")
        self.events.emit(
            Event(
                name=name,
                at=self.clock.wall(),
                tool=tool_name,
                call_id=None if call is None else call.id,
                run_id=None if call is None else call.run_id,
                attempt=0 if call is None else call.attempt,
                data=told,
            )
        )

    def breaker_changed(self, change: BreakerChange) -> None:
        """A breaker changed its state."""
        self.tell_tool(
            change.name,
            EventName.BREAKER_CHANGED,
            before=change.before,
            after=change.after,
            reason=change.reason,
            open_s=change.open_s or None,
            key=change.key or None,
        )

    def log_once(self, what: object, message: str, *args: object) -> None:
        """Log a warning, once for each `what`."""
        if what not in self._logged:
            self._logged.add(what)
            log.warning(message, *args)

    async def close_sinks(self) -> None:
        """Let sinks that wait hand over what they have; one that fails is logged."""
        for sink in self.own_sinks:
            close = getattr(sink, "close", None)
            if close is not None:
                try:
                    await in_thread(close)
                except Exception:
                    log.exception("closing the sink %r failed", sink)

    # ---- results ----

    def detailed(self, call: LiveCall, value: Any, attempts: int, **details: Any) -> DetailedResult:
        """A result with something unusual to tell."""
        recorded_at = details.pop("recorded_at", None)
        call.recorded_at = recorded_at
        call.replayed = details.get("replayed", False)
        duration_s = self.clock.monotonic() - call.started_at
        return DetailedResult(value, call, attempts, duration_s, repairs=call.repairs, **details)

    def shared_result(self, call: LiveCall, first: ToolResult) -> DetailedResult:
        """The result of a call that joined another one: the same outcome under its own id."""
        call.degraded_by = first.degraded_by
        call.doubt = first.doubt
        return self.detailed(
            call,
            first.value,
            0,
            error=first.error,
            degraded=first.degraded,
            degraded_by=first.degraded_by,
            late=first.late,
            doubt=first.doubt,
            joined=True,
        )

    def clean(self, call: LiveCall, error: AgentError) -> AgentError:
        """The error without secrets; its cause stays."""
        return self.redactor.for_call(call.arguments, secrets=_injected(call)).error(error, "operator")

    def render(self, call: LiveCall, result: ToolResult) -> tuple[Content, int]:
        """What the model reads of a result, and how many characters were cut from it."""
        plan = getattr(call, "plan", None)
        if result.error is not None:
            text = self.feedback.render(
                result.error,
                call=result.call,
                tool=None if plan is None else plan.tool,
                attempts=result.attempts,
                redactor=self.redactor.bound(secrets=_injected(call)),
            )
            return text, 0
        rendered = render_value(result.value, max_chars=None if plan is None else plan.max_chars)
        content = rendered.content
        if rendered.full is not None and self.builtins:
            handle = self.store.put_blob_soon(call.scope, call.run_id, rendered.full)
            start = len(rendered.full) - rendered.cut
            content = _appended(content, f"\n[read on with read_more(handle={handle!r}, start={start})]")
        return _with_notes(_notes(call, result), content), rendered.cut

    # ---- doubts ----

    def doubt_options(self, doubt_id: str, resolvable_by: str) -> list[str]:
        """What may be done about a doubt, in words for the model."""
        if resolvable_by == "human":
            return [
                f"Only a person can resolve it: failsoft doubts resolve {doubt_id} --happened | --did-not-happen"
            ]
        if self.builtins:
            return [
                f"Check with another tool, then call resolve_doubt(doubt={doubt_id!r}, happened=..., evidence=...)."
            ]
        return [f"failsoft doubts resolve {doubt_id} --happened | --did-not-happen"]

    def doubt_context(self, call: LiveCall) -> dict[str, Any]:
        """What an error says of the doubt that its call has opened."""
        assert call.doubt is not None
        if call.runs_on:
            options = ["It is still running. Ask again later; do not repeat it."]
        else:
            options = self.doubt_options(call.doubt, call.plan.tool.doubts)
        return {"doubt": call.doubt, "options": options}

    async def call_again(self, outer: LiveCall, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run another tool on behalf of a call, within its run, rights and time."""
        from failsoft.harness.executor import execute

        inner = LiveCall(self, name, arguments, self.clock.monotonic())
        inner.run, inner.run_id, inner.scope = outer.run, outer.run_id, outer.scope
        inner.roles, inner.on_progress = outer.roles, outer.on_progress
        return await execute(inner)


def _injected(call: LiveCall) -> list[str]:
    """Values that the model did not send and must not see."""
    plan = getattr(call, "plan", None)
    values = getattr(call, "values", None)
    if plan is None or values is None:
        return []
    return [value for name in plan.hidden if isinstance(value := values.get(name), str)]


def _notes(call: LiveCall, result: ToolResult) -> str:
    """What the model must know beside the value."""
    notes = []
    if result.replayed:
        when = "" if call.recorded_at is None else f" at {_clock_time(call.recorded_at)}"
        again = f" To do it a second time on purpose: repeat_call(..., occurrence={call.occurrence + 1})."
        notes.append(
            f"[already done{when}: {call.plan.name} was not run again; this is the recorded result."
            f"{again if call.shared.builtins else ''}]"
        )
    if result.joined and result.error is None:
        again = (
            " To do it a second time on purpose: repeat_call(..., occurrence=2)."
            if call.shared.builtins
            else ""
        )
        notes.append(
            f"[run once: an identical call of {call.plan.name} was at work, and this is its result.{again}]"
        )
    if result.degraded:
        age = f", {call.degraded_age_s:.0f} s old" if call.degraded_age_s is not None else ""
        notes.append(f"[degraded: {call.plan.name} failed; this answer is from {result.degraded_by}{age}]")
    return "\n".join(notes)


def _clock_time(epoch_s: float) -> str:
    return datetime.datetime.fromtimestamp(epoch_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _with_notes(notes: str, content: Content) -> Content:
    if not notes:
        return content
    if isinstance(content, str):
        return f"{notes}\n{content}"
    return [{"type": "text", "text": notes}, *content]


def _appended(content: Content, text: str) -> Content:
    return content + text if isinstance(content, str) else [*content, {"type": "text", "text": text.strip()}]
