"""All state of one run of an agent; policies, tools and clients are shared, this is not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from failsoft.agent.health import Health
from failsoft.agent.outcome import Outcome, StopReason, distinct_errors
from failsoft.agent.transcript import Said, Transcript, Turned
from failsoft.core.events import LEVELS, Event, EventName
from failsoft.core.turns import ModelRequest, TurnEnd, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.agent.asking import Asker
    from failsoft.agent.escalation import Answer, Case
    from failsoft.agent.limits import Limits
    from failsoft.agent.runs import RunStore
    from failsoft.agent.structured import Form
    from failsoft.agent.watch import Watch
    from failsoft.core.calls import ToolCall
    from failsoft.core.clock import Clock
    from failsoft.core.errors import AgentError
    from failsoft.core.results import ToolResult
    from failsoft.core.turns import ModelTurn

__all__ = ["Stop", "Task", "named"]


# What a listener hears of calls as it happens, and under which name.
_HEARD = {
    EventName.ATTEMPT_FAILED: EventName.ATTEMPT_FAILED,
    EventName.RETRY_SCHEDULED: EventName.RETRY_SCHEDULED,
    EventName.FALLBACK_USED: EventName.FALLBACK_USED,
    EventName.CALL_FINISHED: EventName.CALL_FINISHED,
    EventName.CALL_FAILED: EventName.CALL_FAILED,
    EventName.CALL_REFUSED: EventName.CALL_FAILED,
}
_ENDS = (EventName.CALL_FINISHED, EventName.CALL_FAILED)


class Stop(Exception):
    """The run ends here."""

    def __init__(self, reason: StopReason, detail: str = "", case: Case | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.case = case


@dataclass(slots=True, kw_only=True)
class Task:
    """One run.

    Args:
        run: The harness's run, whose `call_all` runs the calls.
        harness: Knows the tools.
        asker: Asks the model.
        limits: How far it may go.
        watch: Notices circles.
        clock: Tells the time.
        system: What the model is to be.
        form: The structured answer that is wanted.
        on_escalate: Asks a person.
        roles: What the one who asks may do.
        listen: Takes every event of this run, pieces of text included; the client streams where it is given.
        runs: Keeps the run's state, so that it may go on later.
        answer: What a person has said meanwhile, for the question that the run stopped at.
        asked: That question.
        live: What happens to calls is told by the harness as it happens.
        underway: Ids of the calls whose end the listener has not heard.
        taken_up: Ids of the calls that were open when the run was cut off.
        events: The harness's sinks, for what concerns operators.
        transcript: The conversation so far.
    """

    run: Any
    harness: Any
    asker: Asker
    limits: Limits
    watch: Watch
    clock: Clock
    system: str | None = None
    form: Form | None = None
    on_escalate: Callable[[Case], Any] | None = None
    roles: tuple[str, ...] = ()
    listen: Callable[[Event], object] | None = None
    events: Any = None
    runs: RunStore | None = None
    answer: Answer | None = None
    asked: Case | None = None
    live: bool = False
    underway: set[str] = field(default_factory=set)
    taken_up: frozenset[str] = frozenset()
    transcript: Transcript = field(default_factory=Transcript)
    turns: int = 0
    repairs: int = 0
    usage: Usage = field(default_factory=Usage)
    results: list[ToolResult] = field(default_factory=list)
    model_errors: list[AgentError] = field(default_factory=list)
    text: str = ""
    kept_text: str = ""
    note: str = ""
    output: Any = None
    pending: dict[str, ToolResult] = field(default_factory=dict)
    tools: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    renewals: int = 0
    started_at: float = 0.0
    max_turns: int = 0
    health: Health = field(init=False)

    def __post_init__(self) -> None:
        self.health = Health(self.clock.monotonic)
        self.started_at = self.clock.monotonic()
        self.max_turns = self.limits.max_turns

    def remaining_s(self) -> float:
        """Seconds until the run must have ended."""
        if self.limits.wall_s is None:
            return float("inf")
        return max(0.0, self.started_at + self.limits.wall_s - self.clock.monotonic())

    def request(self) -> ModelRequest:
        """The next request to the model."""
        dialect = self.asker.client.dialect
        tool_dialect = getattr(self.asker.client, "tool_dialect", dialect)
        messages, tools = self.render(dialect, tool_dialect)
        left_s = self.remaining_s()
        return ModelRequest(
            dialect=dialect,
            tool_dialect=tool_dialect,
            messages=messages,
            tools=tools,
            system=self.system,
            withhold_tools=self.turns >= self.max_turns - 1,
            timeout_s=None if left_s == float("inf") else left_s,
            run_id=self.run.id,
            on_text=None if self.listen is None else self._on_text,
            render=self.render,
        )

    async def renew_tools(self) -> None:
        """Take over tools that have changed, such as those of an MCP server: before a turn, never within one."""
        renew = getattr(self.harness, "refresh_tools", None)
        if renew is None:
            return
        await renew()
        # Another run of the same harness may have taken them over.
        if self.harness.renewals != self.renewals:
            self.renewals = self.harness.renewals
            self.tools.clear()

    def render(self, dialect: str, tool_dialect: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Messages and tools in their dialects. The list of tools is made once, and again where tools have changed:
        prompt caches live on it.
        """
        tools = self.tools.get(tool_dialect)
        if tools is None:
            tools = self.tools[tool_dialect] = self.harness.schemas(tool_dialect)
        return self.transcript.wire(dialect), tools

    def count(self, turn: ModelTurn) -> None:
        """Take an answer into the books."""
        self.turns += 1
        self.usage += turn.usage
        if turn.text and turn.end is not TurnEnd.PAUSED:
            self.text = self.kept_text + turn.text

    def say(self, text: str) -> None:
        """Tell the model something, as soon as its calls are answered."""
        last = self.transcript.entries[-1] if self.transcript.entries else None
        if isinstance(last, Turned) and last.turn.calls:
            self.note = text
        else:
            self.transcript.add(Said(text))

    def tell(self, name: EventName, call: ToolCall | None = None, **data: Any) -> None:
        """Hand an event to the listener, and to the harness's sinks where it is not theirs already."""
        wanted = self.events is not None and call is None and self.events.wants(LEVELS[name])
        if self.listen is None and not wanted:
            return
        event = Event(
            name=name,
            at=self.clock.wall(),
            tool=None if call is None else call.name,
            call_id=None if call is None else call.id,
            run_id=self.run.id,
            data=data,
        )
        if self.listen is not None:
            self.listen(event)
        if wanted:
            self.events.emit(event)

    def version_of(self, tool_name: str) -> str:
        """The declared version of a tool; empty where there is none of that name."""
        tools = getattr(self.harness, "tools", ())
        return next((str(tool.version) for tool in tools if tool.name == tool_name), "")

    def begin(self, call: ToolCall) -> None:
        """A call is handed to the harness."""
        if self.listen is not None:
            self.underway.add(call.id)
        self.tell(EventName.CALL_ADMITTED, call)

    def hear(self, event: Event) -> None:
        """Hand on what the harness tells of a call of this run while it runs."""
        name = _HEARD.get(event.name)
        if self.listen is None or name is None or event.call_id not in self.underway:
            return
        if name in _ENDS:
            self.underway.discard(event.call_id)
        self.listen(event if name is event.name else replace(event, name=name))

    def end(self, call: ToolCall, result: ToolResult) -> None:
        """Tell how a call ended, where the harness has not."""
        if self.listen is None or call.id not in self.underway:
            return
        self.underway.discard(call.id)
        for attempt in () if self.live else result.history:
            if attempt.error is not None:
                kind, message = str(attempt.error.kind), str(attempt.error)
                self.tell(EventName.ATTEMPT_FAILED, call, number=attempt.number, kind=kind, message=message)
        error = result.error
        if error is None:
            self.tell(
                EventName.CALL_FINISHED, call, duration_s=result.duration_s, degraded_by=result.degraded_by
            )
        else:
            self.tell(
                EventName.CALL_FAILED, call, kind=str(error.kind), reason=error.reason, message=str(error)
            )

    def _on_text(self, text: str) -> None:
        assert self.listen is not None
        self.listen(Event(name=EventName.TEXT, at=self.clock.wall(), run_id=self.run.id, data={"text": text}))

    def outcome(
        self,
        reason: StopReason,
        detail: str = "",
        *,
        output: Any = None,
        case: Case | None = None,
        doubts: Sequence[str] | None = None,
    ) -> Outcome:
        """How the run stands, as its end; `doubts` are those that are still open, where that is known."""
        met = dict.fromkeys(result.doubt for result in self.results if result.doubt is not None)
        return Outcome(
            text=self.text,
            output=output,
            stop_reason=reason,
            messages=tuple(self.transcript.wire(self.asker.client.dialect)),
            calls=tuple(self.results),
            errors=self.errors(),
            doubts=tuple(met) if doubts is None else tuple(doubt for doubt in met if doubt in doubts),
            usage=self.usage,
            run_id=self.run.id,
            turns=self.turns,
            detail=detail,
            case=case,
        )

    def errors(self) -> tuple[AgentError, ...]:
        """Each failure so far once; a call's names its tool."""
        return distinct_errors(
            [named(r, r.error) for r in self.results if r.error is not None] + self.model_errors
        )


def named(result: ToolResult, error: AgentError) -> AgentError:
    """The error of a call, with its tool."""
    if "tool" in error.context:
        return error
    return error.replace(context={**error.context, "tool": result.call.name})
