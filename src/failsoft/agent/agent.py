"""`Agent`: a model and a harness, and the doors to run them."""

from __future__ import annotations

import copy
import logging
import random
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from failsoft.agent.asking import MODEL_RETRY, Asker
from failsoft.agent.checkpoint import restore
from failsoft.agent.escalation import Answer
from failsoft.agent.limits import Limits
from failsoft.agent.loop import drive, give_up
from failsoft.agent.misuse import check_parts, messages_of
from failsoft.agent.outcome import StopReason
from failsoft.agent.runs import runs_beside
from failsoft.agent.streaming import AgentStream
from failsoft.agent.structured import Form
from failsoft.agent.subagents import as_tool
from failsoft.agent.task import Task
from failsoft.agent.transcript import Given, Said, Transcript
from failsoft.agent.watch import Watch
from failsoft.classify import Classifier
from failsoft.core.clock import SystemClock
from failsoft.core.errors import Conflict, UsageError
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

_log = logging.getLogger("failsoft.agent")


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
        runs: Where runs are kept that may go on later. By default they are in the harness's store where that outlives
            the process (SQLite, PostgreSQL), step by step, and in memory where it does not. `FileRuns(folder)` keeps
            files. With a durable one, a call that waits for an approval pauses the run where nobody can be asked.
        echo_output: Whether the model is shown the wrong parts of a structured answer again.
        clock: Tells the time; for tests. Default the harness's.
        rng: Randomness for waits; for tests.

    Raises:
        UsageError: A part is no such thing.
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
        check_parts(client, harness, limits, output, on_escalate, retry)
        self.client = client
        self.harness = harness
        self.limits = limits
        self.form = Form(output, echo=echo_output) if output is not None else None
        parts = [system, self.form.instructions() if self.form is not None else None]
        self.system = "\n\n".join(part for part in parts if part) or None
        self.on_escalate = on_escalate
        self.retry = retry
        self.runs: RunStore = runs if runs is not None else runs_beside(_shared(harness, "store"))
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
            Conflict: reason `run_taken`: a run of that id is at work already, here or elsewhere.
        """
        return await self._start(prompt, run, scope, roles)

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

        Events: `run_started`, `turn_started`, `text` (`data["text"]`), `turn_finished`, `call_admitted`,
        `attempt_failed`, `retry_scheduled` (before each wait; it has a `tool` where it is not the model that is waited
        for), `fallback_used`, `call_finished`, `call_failed`, `escalated`, `run_finished`; each as it happens.
        What came as text before a `retry_scheduled` of the model does not count: the turn begins anew.
        """
        return AgentStream(lambda listen: self._start(prompt, run, scope, roles, listen))

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
            UsageError: The run is not known here, it is finished, or it waits for no such answer.
            Conflict: reason `run_taken`: somebody else works on it.
        """
        return await self._resume(run, answer, roles)

    def stream_resumed(
        self, run: Any, *, answer: Answer | str | None = None, roles: Sequence[str] = ()
    ) -> AgentStream:
        """`resume`, watched as `stream` is."""
        return AgentStream(lambda listen: self._resume(run, answer, roles, listen))

    async def _start(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        run: Any,
        scope: str | None,
        roles: Sequence[str],
        listen: Callable[[Event], object] | None = None,
    ) -> Outcome:
        transcript = self._begin(prompt)
        async with self._opened(run, scope) as opened:
            # Agents may share a run that is handed in open, or one in memory; then the first one's state is kept.
            may_share = not (isinstance(run, str) and self.runs.durable)
            async with self._held(opened.id, may_share=may_share) as runs:
                task = self._task(opened, transcript, listen=listen, roles=roles)
                task.runs = runs
                return await self._watched(task)

    async def _resume(
        self,
        run: Any,
        answer: Answer | str | None,
        roles: Sequence[str],
        listen: Callable[[Event], object] | None = None,
    ) -> Outcome:
        run_id = run if isinstance(run, str) else getattr(run, "run_id", None) or run.id
        answer = Answer.guide(answer) if isinstance(answer, str) else answer
        async with self._held(run_id):
            state = await self.runs.load_run(run_id)
            if state is None:
                hint = "hint: give the harness a store on disk, or Agent(..., runs=FileRuns(folder))"
                raise UsageError(f"no run {run_id!r} is kept in {self.runs!r}\n\n{hint}")
            _check_answer(run_id, state["stopped"], answer)
            async with self._opened(run_id, state["scope"]) as opened:
                task = self._task(opened, Transcript(), listen=listen, roles=roles)
                restore(task, state)
                if answer is not None and answer.action == "give_up" and not _waits(state):
                    return await give_up(task, answer.text)
                self._take_up(task, state, answer)
                return await self._watched(task)

    async def _watched(self, task: Task) -> Outcome:
        """Drive a task; a listener hears of its calls from the harness, as it happens, where that can be heard."""
        hear = getattr(self.harness, "listen", None)
        if task.listen is None or hear is None:
            return await drive(task)
        task.live = True
        end = hear(task.run.id, task.hear)
        try:
            return await drive(task)
        finally:
            end()

    @asynccontextmanager
    async def _held(self, run_id: str, *, may_share: bool = False) -> AsyncIterator[RunStore | None]:
        """Work on a run alone; gives None where somebody else does and it may be shared: then no state is kept.

        Raises:
            Conflict: Somebody else works on it.
        """
        hold = getattr(self.runs, "held", None)
        async with AsyncExitStack() as stack:
            runs: RunStore | None = self.runs
            try:
                if hold is not None:
                    await stack.enter_async_context(hold(run_id))
            except Conflict:
                if not may_share:
                    raise
                _log.info("two agents work in the run %s; the state of the first one is kept", run_id)
                runs = None
            yield runs

    def _take_up(self, task: Task, state: dict[str, Any], answer: Answer | None) -> None:
        """Give the answer to where the run stopped: to its open question, or else to the model."""
        if _waits(state):
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
        return Transcript([Given(messages_of(prompt), self.client.dialect)])

    def _task(
        self,
        run: Any,
        transcript: Transcript,
        *,
        listen: Callable[[Event], object] | None = None,
        roles: Sequence[str] = (),
    ) -> Task:
        classifier = _shared(self.harness, "classifier") or Classifier()
        watch = Watch(
            self.limits,
            now=self.clock.monotonic,
            polls=lambda name: any(
                tool.name == name and getattr(tool, "poll", False) for tool in self._tools()
            ),
            tool_names=lambda: [tool.name for tool in self._tools()],
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

    def _tools(self) -> Sequence[Tool[..., Any]]:
        """The harness's tools as they are now."""
        found: Sequence[Tool[..., Any]] = getattr(self.harness, "tools", ())
        return found

    def __repr__(self) -> str:
        return f"Agent({self.client!r}, {self.harness!r})"


def _waits(state: Mapping[str, Any]) -> bool:
    return bool(state["stopped"] == StopReason.ESCALATED)


def _check_answer(run_id: str, stopped: str, answer: Answer | None) -> None:
    """Refuse what cannot be done with a run.

    Raises:
        UsageError: It is finished, or the answer is about a call and no call waits for one.
    """
    if stopped == StopReason.FINISHED:
        raise UsageError(
            f"run {run_id!r} is finished\n\nhint: agent.run([*outcome.messages, {{'role': 'user', ...}}])"
        )
    if stopped != StopReason.ESCALATED and answer is not None and answer.action in ("approve", "correct"):
        how = f"it stopped: {stopped}" if stopped else "it was cut off"
        raise UsageError(
            f"run {run_id!r} asks for no approval: {how}\n\nhint: resume it without an answer, or with text"
        )


def _shared(harness: Any, name: str) -> Any:
    """What the harness uses itself, so that both live in the same time and judge failures alike."""
    found = getattr(harness, name, None)
    return found if found is not None else getattr(getattr(harness, "_shared", None), name, None)
