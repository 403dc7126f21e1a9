"""`Harness`: the tools of an application, and the doors through which they are called."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack, cast

from failsoft.core.calls import ToolCall
from failsoft.feedback import Feedback
from failsoft.harness import doubts, stats, watch
from failsoft.harness.batch import run_batch, stop_rule, with_unique_ids
from failsoft.harness.builder import build
from failsoft.harness.closing import end_calls
from failsoft.harness.ending import end, grace_of
from failsoft.harness.executor import execute
from failsoft.harness.listing import tool_list
from failsoft.harness.live import LiveCall
from failsoft.harness.misuse import calls_of, name_of, option_error, run_id_of, seconds_of
from failsoft.harness.options import CallOptions, apply_options
from failsoft.harness.renewing import Renewing
from failsoft.harness.report import failure_result
from failsoft.harness.run import Run
from failsoft.harness.sync_door import run_sync
from failsoft.harness.wrapping import wrapped
from failsoft.policies import Policy
from failsoft.tools import Tool

if TYPE_CHECKING:
    import os
    import random
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from failsoft.classify import Classifier
    from failsoft.core.calls import Progress
    from failsoft.core.clock import Clock
    from failsoft.core.errors import Cancelled
    from failsoft.core.events import Sink
    from failsoft.core.results import ToolResult
    from failsoft.feedback import Redactor
    from failsoft.harness.batch import StopOn
    from failsoft.harness.settings import Settings
    from failsoft.ledger.port import LedgerStore
    from failsoft.ledger.records import Doubt
    from failsoft.policies import EffectivePolicy, RetryBudgetState
    from failsoft.stores.fleet import FleetLink, FleetStore
    from failsoft.stores.journal import Journal

__all__ = ["Harness"]

P = ParamSpec("P")
R = TypeVar("R")


class Harness(Renewing):
    """Runs tools for a model: every call gets one result, and nothing that hurts happens twice.

    Args:
        tools: `Tool`s or plain functions; see `refresh_tools` for those that may change.
        policy: What holds for all tools, on top of the defaults.
        policies: What holds for single tools, by name, on top of what they say themselves. Each policy, and `policy`,
            may be plain data as in a file: `{"retry": 2}`.
        store: `auto`, `memory`, `sqlite:///FILE`, `postgresql://...`, or a store. `auto` is memory until a protected
            tool is there, then the SQLite file `$FAILSOFT_HOME/failsoft.db` or `.failsoft/failsoft.db`; memory in
            virtual time, where another store is refused.
        fleet: `redis://...` (Redis or Valkey) or `memory://NAME`, or a fleet's store: breakers and rates are shared by
            all harnesses of the same name that give the same one. None shares nothing.
        classifier: Turns exceptions into errors; give one with rules of your own.
        feedback: How errors are told to the model.
        redactor: What is hidden from logs and from the model.
        approve: Asked where a tool needs approval: `approve(call, tool)`, sync or async, gives True, False, or None
            for "nobody answered".
        sinks: Take events.
        passthrough: Exception types that are raised through as they are: a host framework's control flow.
        builtins: Whether the model gets the built-in tools where they can be needed.
        clock: Tells the time; for tests.
        rng: Randomness for jitter; for tests.
        name: The harness's name, and the default scope of its calls.
        config: A file with policies; `auto` for the one that `$FAILSOFT_CONFIG` names, else `failsoft.toml` or
            `[tool.failsoft]` of `pyproject.toml` in the working folder, where there is one; None for no file.
            What is said here in code wins over it.
        watch_loop: Whether a tool that blocks the event loop is looked for and named in an event, see `stats()`; only by
            the machine's own clock.

    Raises:
        UsageError: The tools, their policies, the file or the store cannot work; the message says what to change.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]],
        *,
        policy: Policy | Mapping[str, Any] = Policy(),
        policies: Mapping[str, Policy | Mapping[str, Any]] | None = None,
        store: str | LedgerStore = "auto",
        fleet: str | FleetStore | None = None,
        classifier: Classifier | None = None,
        feedback: Feedback = Feedback(),
        redactor: Redactor | None = None,
        approve: Callable[..., Any] | None = None,
        sinks: Sequence[Sink] = (),
        passthrough: Sequence[type[BaseException]] = (),
        builtins: bool = True,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        name: str = "default",
        config: str | os.PathLike[str] | Settings | None = "auto",
        watch_loop: bool = True,
    ) -> None:
        self.name = name
        self._shared, self._runners = build(
            tools,
            policy=policy,
            policies={} if policies is None else policies,
            store=store,
            classifier=classifier,
            feedback=feedback,
            redactor=redactor,
            approve=approve,
            sinks=sinks,
            passthrough=passthrough,
            builtins=builtins,
            clock=clock,
            rng=rng,
            name=name,
            config=config,
        )
        self._source = tools
        self._watches = watch_loop
        if watch_loop:
            watch.prepare(self._shared)
        self._fleet: FleetLink | None = None
        if fleet is not None:
            from failsoft.harness.fleet import join_fleet  # whoever has no fleet does not load it

            self._fleet = join_fleet(self._shared, fleet)
        self._runs: dict[str, Run] = {}
        self._closed = False
        self._monotonic = self._shared.clock.monotonic

    # ---- calling ----

    def call(
        self,
        tool: Tool[..., Any] | Callable[..., Any] | str,
        arguments: Any = None,
        **options: Unpack[CallOptions],
    ) -> Coroutine[Any, Any, ToolResult]:
        """Run one call: await it for its result; never raises for what a tool, a model or the world did.

        Args:
            tool: The tool, its name as the model sent it, or the function that a tool of this harness was made from.
            arguments: Text, bytes, a mapping (which may hold Python values), or None when nothing was sent.
            options: Any of the following, by keyword.
            id: The provider's call id; one is made where none is given.
            run: The run, or its id. Without one only doubts are remembered.
            scope: Whose calls may be confused with whose; default the run's, else the harness's name.
            roles: What the caller may do; see `Tool.roles`.
            approved: A person has approved exactly this call.
            deadline_s: Seconds until there must be a result, everything included.
            occurrence: 2 for a deliberate second identical call, and so on.
            key: The call's identity, instead of its arguments.
            truncated: Whether the output limit cut the call off.
            on_progress: Takes `Progress` records.

        Raises:
            BaseException: The caller's cancel, KeyboardInterrupt, SystemExit, and the types in `passthrough`.
            UsageError: Misuse of the API.
        """
        if isinstance(tool, str):
            name = tool
        else:
            name = tool.name if isinstance(tool, Tool) else name_of(tool, self._shared.registry)
        monotonic = self._monotonic
        call = LiveCall(self._shared, name, arguments, monotonic())
        if options:
            try:
                apply_options(call, self, **options)
            except TypeError as exc:
                if (wrong := option_error(options, CallOptions.__annotations__)) is None:
                    raise
                raise wrong from exc
        return execute(call)

    def find_run(self, run: Run | str, scope: str | None = None) -> Run:
        """The open run of that id; one that only carries the id where none is open."""
        if isinstance(run, Run):
            return run
        return self._runs.get(run_id_of(run)) or Run(self, run, scope)

    async def call_all(
        self,
        calls: Sequence[ToolCall],
        *,
        run: Run | str | None = None,
        scope: str | None = None,
        roles: Iterable[str] = (),
        deadline_s: float | None = None,
        max_parallel: int | None = None,
        stop_on: StopOn | None = None,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> list[ToolResult]:
        """Run the calls of one turn; one result for each, in order. A tool with `parallel=False` runs alone.

        Repeated and missing ids are made unique, see `with_unique_ids`.

        Args:
            calls: As the model asked for them.
            run: The run, or its id.
            scope: Whose calls may be confused with whose.
            roles: What the caller may do.
            deadline_s: Seconds until there must be results, the whole batch included.
            max_parallel: How many run at once; default no limit.
            stop_on: Kinds of errors, or a predicate of a result: after such a result the calls that have not begun are
                answered as not started, kind `cancelled`; those that run go on. A parallel group without
                `max_parallel` begins as a whole.
            on_progress: Takes `Progress` records.

        Raises:
            BaseException: As `call`; `interrupted_results(error)` then has one result for each call.
        """
        end = None if deadline_s is None else self._monotonic() + seconds_of("deadline_s", deadline_s)

        async def run_one(call: ToolCall) -> ToolResult:
            return await self.call(
                call.name,
                call.arguments,
                id=call.id,
                run=run,
                scope=scope,
                roles=roles,
                deadline_s=None if end is None else max(0.0, end - self._monotonic()),
                truncated=call.truncated,
                on_progress=on_progress,
            )

        return await run_batch(
            with_unique_ids(calls_of(calls)),
            run_one,
            self._is_parallel,
            self._refused,
            max_parallel=max_parallel,
            stops=stop_rule(stop_on),
        )

    def _is_parallel(self, call: ToolCall) -> bool:
        found = self._shared.registry.resolve(call.name).tool
        return found is None or found.parallel

    def _refused(self, call: ToolCall, error: Cancelled) -> ToolResult:
        live = LiveCall(self._shared, call.name, call.arguments, self._monotonic())
        live._id = call.id
        return failure_result(live, error)

    def call_sync(
        self,
        tool: Tool[..., Any] | Callable[..., Any] | str,
        arguments: Any = None,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult:
        """`call` for synchronous code; takes the same.

        Args:
            tool, arguments, options: As for `call`.
            loop: A running loop of another thread, for tools whose clients belong to it; default a background loop.

        Raises:
            UsageError: On the thread of that very loop.
        """
        return run_sync(lambda: self.call(tool, arguments, **options), loop=loop)

    def call_all_sync(
        self, calls: Sequence[ToolCall], *, loop: asyncio.AbstractEventLoop | None = None, **options: Any
    ) -> list[ToolResult]:
        """`call_all` for synchronous code; takes the same options."""
        return run_sync(lambda: self.call_all(calls, **options), loop=loop)

    def wrap(self, fn: Callable[P, R]) -> Callable[P, R]:
        """A function of the harness, or its tool, as the same function through the whole path; it raises `AgentError`.

        Raises:
            UsageError: `fn` is no tool of this harness.
        """
        return cast("Callable[P, R]", wrapped(self, fn))

    # ---- runs ----

    def run(self, id: str | None = None, scope: str | None = None) -> Run:
        """A run: `async with harness.run() as run: await run.call(...)`."""
        return Run(self, id, scope)

    def open_run(self, run: Run) -> None:
        """Make a run known by its id, for calls that name it."""
        self._runs[run.id] = run
        if self._shared.recorder is not None:
            self._shared.recorder.run_opened(run.id)

    def close_run(self, run: Run) -> None:
        """Forget a run's live state; what the store keeps of it stays."""
        self._runs.pop(run.id, None)
        if self._shared.recorder is not None:
            self._shared.recorder.run_left(run.id)

    def new_run_budget(self) -> RetryBudgetState | None:
        """A fresh retry budget for a run, by the harness's policy."""
        return self._shared.new_run_budget()

    # ---- looking ----

    def schemas(self, dialect: str) -> list[dict[str, Any]]:
        """The tools as a provider wants them: `anthropic`, `openai`, `openai-strict`, `openai-responses`, `gemini`,
        `mcp`, `lenient`.

        Raises:
            UsageError: For another dialect.
        """
        return tool_list(self._shared, dialect)

    def stats(self) -> stats.HarnessStats:
        """The harness as it stands."""
        return stats.stats_of(self._shared)

    def policies(self) -> dict[str, EffectivePolicy]:
        """What holds for each tool, and where each part of it was said."""
        return {name: plan.policy for name, plan in self._shared.plans.items()}

    @property
    def journal(self) -> Journal | None:
        """The record of runs, calls and attempts; None where the store does not outlive the process."""
        recorder = self._shared.recorder
        return None if recorder is None else recorder.journal

    # ---- doubts ----

    async def doubts(self, run: Run | str | None = None) -> list[Doubt]:
        """The open doubts of this harness's scope, or of a run."""
        run_id = run.id if isinstance(run, Run) else run
        scope = run.scope if isinstance(run, Run) else self.name if run is None else None
        return await self._shared.store.doubts(scope, run_id)

    async def resolve(
        self, doubt_id: str, *, happened: bool, result: Any = None, by: str = "operator"
    ) -> Doubt:
        """Say whether a call in doubt happened.

        Args:
            doubt_id: The doubt.
            happened: True: it took place. False: it certainly did not, so that an identical call may run.
            result: What it gave, where that is known; identical calls of its run get it.
            by: Who says so.

        Raises:
            AgentError: kind `not_found`, or `conflict` where somebody has said otherwise or the body still runs.
        """
        return await doubts.resolve(self._shared, doubt_id, happened=happened, result=result, by=by)

    async def recover(self) -> list[Doubt]:
        """After a crash: turn claims whose owner is gone into doubts, and ask `verify` about every open one.

        Returns:
            The doubts that are still open.
        """
        return await doubts.recover(self._shared)

    # ---- ending ----

    async def stop(self) -> None:
        """Take no more calls, give the running ones the grace, then stop them.

        A call that is stopped has a result for whoever waits for it: kind `cancelled`, reason `shutting_down`.
        """
        self._shared.closing = True
        await end_calls(self._shared, grace_of(self._shared))

    async def aclose(self) -> None:
        """`stop`, settle, and let go of everything: pools, processes, sinks, the store.

        A cancel of `aclose` itself ends the grace, not the settling.
        """
        self._shared.closing = True
        if not self._closed:
            self._closed = True
            await end(self._shared, self._runners, self._fleet)

    def close_sync(self) -> None:
        """`aclose` for synchronous code."""
        run_sync(self.aclose)

    async def __aenter__(self) -> Self:
        self._runners.begin()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Harness({', '.join(tool.name for tool in self.tools)})"
