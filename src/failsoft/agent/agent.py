"""`Agent`: a model and a harness, and the doors to run them."""

from __future__ import annotations

import copy
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from failsoft.agent.asking import MODEL_RETRY, Asker
from failsoft.agent.checkpoint import restore
from failsoft.agent.escalation import Answer
from failsoft.agent.limits import Limits
from failsoft.agent.loop import drive
from failsoft.agent.outcome import StopReason
from failsoft.agent.runs import MemoryRuns
from failsoft.agent.streaming import AgentStream
from failsoft.agent.structured import Form
from failsoft.agent.subagents import as_tool
from failsoft.agent.task import Task
from failsoft.agent.transcript import Given, Said, Transcript
from failsoft.agent.watch import Watch
from failsoft.classify import Classifier
from failsoft.core.clock import SystemClock
from failsoft.core.errors import UsageError
from failsoft.core.events import EventName
from failsoft.harness.sync_door import run_sync

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from failsoft.agent.escalation import Case
    from failsoft.agent.outcome import Outcome
    from failsoft.agent.runs import RunStore
    from failsoft.core.clock import Clock
    from failsoft.core.events import Event
    from failsoft.core.turns import Client
    from failsoft.policies import Retry
    from failsoft.tools import Tool

__all__ = ["Agent"]


class Agent:
    """Runs tasks: the model asks for calls, the harness runs them, until there is an answer or a reason to stop.

    Safe to share: all state of a run lives in the run.

    Args:
        client: Whom to ask: `AnthropicClient`, `OpenAIClient`, `FallbackClient`, `CallableClient`, or your own.
        harness: The tools.
        limits: How far a run may go.
        system: What the model is to be.
        output: A pydantic model that the final answer must fit; then `outcome.output` is an instance of it.
        on_escalate: Asked when a limit is reached or an approval is open: `on_escalate(case)`, sync or async, gives an
            `Answer`, text as guidance, or None for "nobody can answer now".
        retry: How model requests are repeated; None turns it off. Tool calls have their own policies.
        runs: Where runs are kept that may go on later: `FileRuns(folder)` outlives the process and keeps every step;
            by default stopped runs are kept in memory. With a durable one, a call that waits for an approval pauses
            the run where nobody can be asked.
        echo_output: Whether the model is shown the wrong parts of a structured answer again.
        clock: Tells the time; for tests. Default the harness's.
        rng: Randomness for waits; for tests.
    """

    def __init__(
        self,
        client: Client,
        harness: Any,
        *,
        limits: Limits = Limits(),
        system: str | None = None,
        output: type[BaseModel] | None = None,
        on_escalate: Callable[[Case], Any] | None = None,
        retry: Retry | None = MODEL_RETRY,
        runs: RunStore | None = None,
        echo_output: bool = True,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.client = client
        self.harness = harness
        self.limits = limits
        self.form = Form(output, echo=echo_output) if output is not None else None
        parts = [system, self.form.instructions() if self.form is not None else None]
        self.system = "\n\n".join(part for part in parts if part) or None
        self.on_escalate = on_escalate
        self.retry = retry
        self.runs: RunStore = runs if runs is not None else MemoryRuns()
        self.clock = clock or _shared(harness, "clock") or SystemClock()
        self.rng = rng or random.Random()

    async def run(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        run: Any = None,
        scope: str | None = None,
        roles: Sequence[str] = (),
    ) -> Outcome:
        """Do one task and return how it ended; never raises for what a model, a tool or the world did.

        Args:
            prompt: The task; or the messages of a conversation in the client's dialect, the last one the user's.
            run: A run of the harness, or an id for it. Calls in one run are remembered together.
            scope: Whose calls may be confused with whose; one per tenant.
            roles: What the one who asks may do; tools with other `roles` are refused.

        Raises:
            asyncio.CancelledError: The caller's own; `interrupted_outcome(error)` tells how the run stood.
            UsageError: Misuse of the API.
        """
        async with self._opened(run, scope) as opened:
            return await drive(self._task(opened, self._begin(prompt), roles=roles))

    def run_sync(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        run: Any = None,
        scope: str | None = None,
        roles: Sequence[str] = (),
    ) -> Outcome:
        """`run` for synchronous code.

        Raises:
            UsageError: On the thread of the background loop itself.
        """
        return run_sync(lambda: self.run(prompt, run=run, scope=scope, roles=roles))

    def stream(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        run: Any = None,
        scope: str | None = None,
        roles: Sequence[str] = (),
    ) -> AgentStream:
        """`run`, watched: `async for event in agent.stream("...")`; the model's text comes in pieces.

        Events: `run_started`, `turn_started`, `text` (`data["text"]`), `retry_scheduled` (of the model), `turn_finished`,
        `call_admitted`, `attempt_failed`, `call_finished`, `call_failed`, `escalated`, `run_finished`.
        What came as text before a `retry_scheduled` of the same turn does not count: the turn begins anew.
        """

        async def start(listen: Callable[[Event], object]) -> Outcome:
            async with self._opened(run, scope) as opened:
                return await drive(self._task(opened, self._begin(prompt), listen=listen, roles=roles))

        return AgentStream(start)

    async def resume(
        self, run: Any, *, answer: Answer | str | None = None, roles: Sequence[str] = ()
    ) -> Outcome:
        """Go on with a run that stopped, waits for a person, or was cut off; also in another process.

        Calls that have their result are not run again; of those that had none yet, the harness's ledger knows what has
        happened already. Counts of limits begin anew, and a run out of turns gets as many again.

        Args:
            run: The run's id, or the `Outcome` that it ended with.
            answer: What a person says: an `Answer`, or text as guidance for the model.
            roles: As for `run`; they are not kept with the run.

        Raises:
            UsageError: The run is not known here, or it is finished.
        """
        run_id = run if isinstance(run, str) else getattr(run, "run_id", None) or run.id
        state = await self.runs.load_run(run_id)
        if state is None:
            raise UsageError(
                f"no run {run_id!r} is kept in {self.runs!r}\n\nhint: Agent(..., runs=FileRuns(folder))"
            )
        if state["stopped"] == StopReason.FINISHED:
            raise UsageError(
                f"run {run_id!r} is finished\n\nhint: agent.run([*outcome.messages, {{'role': 'user', ...}}])"
            )
        async with self._opened(run_id, state["scope"]) as opened:
            task = self._task(opened, Transcript(), roles=roles)
            restore(task, state)
            self._take_up(task, state, Answer.guide(answer) if isinstance(answer, str) else answer)
            return await drive(task)

    def _take_up(self, task: Task, state: dict[str, Any], answer: Answer | None) -> None:
        """Give the answer to where the run stopped: to its open question, or else to the model."""
        if state["stopped"] == StopReason.ESCALATED:
            task.answer = answer
            return
        if state["stopped"]:
            task.watch.forgive()
            task.repairs = 0
            task.max_turns = max(task.max_turns, task.turns + self.limits.max_turns)
        if answer is not None and answer.text:
            task.say(answer.text)

    def as_tool(self, name: str, description: str, **options: Any) -> Tool[..., Any]:
        """This agent as a tool of another one's harness: it takes a task in words and gives the answer.

        Its time and tokens are bounded by what the outer call and run have left, its usage counts there too, and
        whatever goes wrong inside is one error outside, with the effect that it may have had.

        Args:
            name: The tool's name.
            description: For the outer model: what the agent can do.
            options: As for `tool(...)`. It is read-only by itself where all its tools are declared so.
        """
        return as_tool(self, name, description, **options)

    def within(self, limits: Limits) -> Agent:
        """The same agent with other limits."""
        other = copy.copy(self)
        other.limits = limits
        return other

    @asynccontextmanager
    async def _opened(self, run: Any, scope: str | None) -> AsyncIterator[Any]:
        """The run to work in: the one handed in, which stays open, or one of our own."""
        if run is not None and not isinstance(run, str):
            yield run
            return
        async with self.harness.run(run, scope) as opened:
            yield opened

    def _begin(self, prompt: str | Sequence[Mapping[str, Any]]) -> Transcript:
        if isinstance(prompt, str):
            if not prompt.strip():
                raise UsageError("the prompt is empty\n\nhint: agent.run('what to do')")
            return Transcript([Said(prompt)])
        messages = tuple(prompt)
        if not messages:
            raise UsageError("the conversation is empty\n\nhint: agent.run('what to do')")
        return Transcript([Given(messages, self.client.dialect)])

    def _task(
        self,
        run: Any,
        transcript: Transcript,
        *,
        listen: Callable[[Event], object] | None = None,
        roles: Sequence[str] = (),
    ) -> Task:
        classifier = _shared(self.harness, "classifier") or Classifier()
        tools = {tool.name: tool for tool in getattr(self.harness, "tools", ())}
        watch = Watch(
            self.limits,
            now=self.clock.monotonic,
            polls=lambda name: name in tools and bool(getattr(tools[name], "poll", False)),
            tool_names=lambda: list(tools),
        )
        asker = Asker(
            client=self.client,
            retry=self.retry,
            classifier=classifier,
            clock=self.clock,
            rng=self.rng,
            tell=lambda attempt, error, wait_s: task.tell(
                EventName.RETRY_SCHEDULED,
                attempt=attempt,
                kind=str(error.kind),
                wait_s=wait_s,
                message=str(error),
            ),
        )
        task = Task(
            run=run,
            harness=self.harness,
            asker=asker,
            limits=self.limits,
            watch=watch,
            clock=self.clock,
            system=self.system,
            form=self.form,
            on_escalate=self.on_escalate,
            listen=listen,
            roles=tuple(roles),
            runs=self.runs,
            events=_shared(self.harness, "events"),
            transcript=transcript,
        )
        return task

    def __repr__(self) -> str:
        return f"Agent({self.client!r}, {self.harness!r})"


def _shared(harness: Any, name: str) -> Any:
    """What the harness uses itself, so that both live in the same time and judge failures alike."""
    found = getattr(harness, name, None)
    return found if found is not None else getattr(getattr(harness, "_shared", None), name, None)
