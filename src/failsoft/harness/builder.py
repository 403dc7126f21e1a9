"""Build a harness's parts: check everything that can be known before the first call, then freeze it."""

from __future__ import annotations

import os
import random
import typing
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from failsoft.classify import Classifier
from failsoft.core.annotations import Standing
from failsoft.core.clock import SystemClock
from failsoft.core.errors import AgentError, UsageError
from failsoft.feedback import Feedback, Redactor
from failsoft.harness import virtual
from failsoft.harness.builtins import REPEAT_CALL, builtin_tools
from failsoft.harness.drain import drained, drained_async, may_stream, whole_async
from failsoft.harness.gates import Gates
from failsoft.harness.hearing import hear_of
from failsoft.harness.misuse import policies_of, policy_of, tools_of
from failsoft.harness.plan import Plan
from failsoft.harness.recorder import recorder_for
from failsoft.harness.runners import Runners
from failsoft.harness.settings import load_settings
from failsoft.harness.shared import Shared
from failsoft.policies import (
    DEFAULTS,
    BreakerRegistry,
    BreakerSite,
    Policy,
    RetryBudget,
    new_state,
    resolve_layers,
    stack,
)
from failsoft.stores import open_store
from failsoft.telemetry import Fanout, LogSink, configure_from_env
from failsoft.tools import Registry, undeclared_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from failsoft.core.clock import Clock
    from failsoft.core.events import Sink
    from failsoft.harness.settings import Settings
    from failsoft.ledger.port import LedgerStore
    from failsoft.policies import EffectivePolicy
    from failsoft.tools import Tool

__all__ = ["HarnessWarning", "Recipe", "build", "default_store_file", "default_store_url", "equip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What holds for tools, whichever there are: what a harness was told, kept for tools that change.

    Args:
        policy: For all tools.
        by_tool: For single ones.
        settings: The same from a file.
        builtins: Whether the built-in tools were wanted.
    """

    policy: Policy
    by_tool: Mapping[str, Policy]
    settings: Settings
    builtins: bool


class HarnessWarning(UserWarning):
    """Something about the tools of a harness that works, but probably not as meant."""


def build(
    tools: Iterable[Tool[..., Any] | Callable[..., Any]],
    *,
    policy: Policy | Mapping[str, Any],
    policies: Mapping[str, Policy | Mapping[str, Any]],
    store: str | LedgerStore,
    classifier: Classifier | None,
    feedback: Feedback,
    redactor: Redactor | None,
    approve: Callable[..., Any] | None,
    sinks: Sequence[Sink],
    passthrough: Sequence[type[BaseException]],
    builtins: bool,
    clock: Clock | None,
    rng: random.Random | None,
    name: str,
    config: str | os.PathLike[str] | Settings | None,
) -> tuple[Shared, Runners]:
    """Everything that the calls of one harness share, checked.

    Raises:
        UsageError: Two tools of one name, a policy that contradicts a tool's effects, an override of an unknown tool,
            a store that cannot be, a configuration file that cannot work.
    """
    own = Registry(tools_of(tools))
    policy, by_tool = policy_of("policy", policy), policies_of(policies)
    settings = load_settings(config)
    clock = clock or SystemClock()
    configure_from_env()
    cleaner = redactor or Redactor()
    is_virtual = virtual.is_virtual(clock)
    kept = _store("memory" if is_virtual and store == "auto" else store, own, clock)
    if is_virtual:
        virtual.check_store(kept)
    recorder = recorder_for(kept, clock)
    others = Fanout((LogSink(), *sinks), cleaner)
    shared = Shared(
        name=name,
        clock=clock,
        rng=rng or random.Random(),
        store=kept,
        classifier=classifier or Classifier(),
        feedback=feedback,
        redactor=cleaner,
        events=others if recorder is None else Fanout((LogSink(), *sinks, recorder), cleaner),
        recorder=recorder,
        others=others,
        approve=approve,
        passthrough=tuple(passthrough),
        builtins=builtins,
    )
    shared.own_sinks = tuple(sinks)
    shared.stop_listening = hear_of(shared)
    shared.recipe = Recipe(policy=policy, by_tool=by_tool, settings=settings, builtins=builtins)
    general = policy.over(settings.policy).over(DEFAULTS)
    budget = general.retry_budget
    shared.run_budget = budget if isinstance(budget, RetryBudget) else None
    runners = Runners(name)
    equip(shared, own, runners)
    notes = virtual.notes(shared.plans.values()) if is_virtual else []
    for note in (*notes, undeclared_hint(own), *_misspelt(own, settings)):
        if note:
            warnings.warn(note, HarnessWarning, stacklevel=3)
    return shared, runners


def equip(shared: Shared, own: Registry, runners: Runners) -> list[Plan]:
    """Give a harness its tools, each made ready; those that it has already keep their state.

    Returns:
        The plans that are new.

    Raises:
        UsageError: As `build`; then nothing has changed.
    """
    recipe, known = shared.recipe, shared.plans
    with_builtins = recipe.builtins and any(_can_come_into_doubt(tool) for tool in own)
    registry = Registry([*own, *(builtin_tools() if with_builtins else ())])
    # A tool that was named at build may be gone by now.
    by_tool = {name: one for name, one in recipe.by_tool.items() if name in registry or not known}
    effective = _effective(registry, own, recipe.policy, by_tool, recipe.settings)
    plans, fresh = dict[str, Plan](), list[Plan]()
    for tool in registry:
        plan = known.get(tool.name)
        if plan is None or plan.tool is not tool:
            plan = _plan(shared, tool, effective[tool.name], runners, with_builtins=with_builtins)
            fresh.append(plan)
        plans[tool.name] = plan
    # In this order a call of another thread finds a plan for every tool that it finds.
    shared.plans = {**known, **plans}
    shared.registry, shared.builtins = registry, with_builtins
    shared.plans = plans
    return fresh


def _can_come_into_doubt(tool: Tool[..., Any]) -> bool:
    return tool.standing is not Standing.REPEATABLE or tool.idempotency_key is not None


def default_store_url(tools: Iterable[Tool[..., Any]]) -> str:
    """What `store="auto"` means: memory until a protected tool is there, then a SQLite file.

    The file is `$FAILSOFT_HOME/failsoft.db`, or `.failsoft/failsoft.db` in the working folder.
    """
    if not any(tool.standing is Standing.PROTECTED for tool in tools):
        return "memory"
    return f"sqlite:///{default_store_file()}"


def default_store_file() -> Path:
    """The file of `store="auto"`, whether it is there or not."""
    home = os.environ.get("FAILSOFT_HOME")
    folder = Path(home) if home else Path.cwd() / ".failsoft"
    return folder.absolute() / "failsoft.db"


def _store(store: str | LedgerStore, tools: Registry, clock: Clock) -> LedgerStore:
    if not isinstance(store, str):
        return store
    return open_store(default_store_url(tools) if store == "auto" else store, wall=clock.wall)


def _effective(
    tools: Registry, own: Registry, policy: Policy, policies: Mapping[str, Policy], settings: Settings
) -> dict[str, EffectivePolicy]:
    """The policy of every tool, checked against its effects and against the other tools.

    What is said of one tool wins over what is said of all; in each of the two, what the harness's maker says in code
    wins over the file, and the file over the tool's own maker and over the defaults. What is said of all tools is
    about the world, and leaves the built-in ones alone: they only talk to the store.
    """
    nothing = Policy()
    for unknown in policies:
        if unknown not in tools:
            known = ", ".join(tool.name for tool in tools)
            raise UsageError(f"policies names {unknown!r}, which is no tool\n\nhint: the tools are: {known}")
    checked: dict[str, tuple[EffectivePolicy, stack.ToolFacts]] = {}
    for tool in tools:
        general = (("file", settings.policy), ("harness", policy)) if tool.name in own else ()
        layers = (
            ("default", DEFAULTS),
            *general,
            ("tool", tool.policy),
            ("file", settings.tools.get(tool.name, nothing)),
            ("harness", policies.get(tool.name, nothing)),
        )
        standing = Standing.REPEATABLE if tool.idempotency_key is not None else tool.standing
        facts = stack.ToolFacts(
            name=tool.name, annotations=tool.annotations, streams=tool.is_generator or tool.is_async_generator
        )
        checked[tool.name] = (resolve_layers(layers, standing=standing), facts)
    stack.check_all(checked)
    return {name: effective for name, (effective, _) in checked.items()}


def _plan(
    shared: Shared, tool: Tool[..., Any], policy: EffectivePolicy, runners: Runners, *, with_builtins: bool
) -> Plan:
    """One tool made ready: states of its policies, where its body runs, how its results are checked."""
    plan = Plan(tool, policy, shared.clock)
    plan.passing = shared.passing
    if policy.breaker is not None:
        site = BreakerSite(
            policy.breaker,
            rng=shared.rng,
            name=tool.name,
            lease_s=policy.probe_lease_s,
            listener=shared.breaker_changed,
        )
        if policy.breaker.key is None:
            plan.breaker = new_state(site)
        else:
            plan.breakers = BreakerRegistry(site)
    retries = policy.retry is not None and policy.retry.max_attempts > 1
    if policy.retry_budget is not None and retries:
        plan.budget = policy.retry_budget.start()
    rate = policy.rate.start() if policy.rate is not None else None
    bulkhead = policy.bulkhead.start() if policy.bulkhead is not None else None
    if rate is not None or bulkhead is not None:
        plan.gates, plan.waits = Gates(rate, bulkhead), True
    if policy.fallback is not None and policy.fallback.remembers:
        plan.last_good = policy.fallback.start()
    if tool.name == REPEAT_CALL and with_builtins:
        plan.redirects, plan.plain = True, False
    plan.runner = runners.runner_for(tool, policy)
    if policy.isolation.mode == "process":
        pass  # a worker drains by itself and tells of each item; what drains here could not be imported there
    elif tool.is_async_generator:
        plan.body = drained_async(tool.fn)
    elif not tool.is_async:
        plan.body = drained(tool.fn)
    elif may_stream(tool.__wrapped__):
        plan.body = whole_async(tool.fn)
    plan.accept = _acceptance(tool)
    plan.revive = _revival(tool)
    return plan


def _acceptance(tool: Tool[..., Any]) -> Callable[[Any], Any] | None:
    """The checks of a result, or None where there are none."""
    finder, checks = tool.error_from_result, tool.returns is not None
    if finder is None:
        return tool.check_result if checks else None

    def accept(value: Any) -> Any:
        found = finder(value)
        if isinstance(found, AgentError):
            raise found
        if found is not None and not isinstance(found, bool):
            raise UsageError(f"error_from_result of {tool.name!r} gives an AgentError or None, got {found!r}")
        return tool.check_result(value) if checks else value

    return accept


def _revival(tool: Tool[..., Any]) -> Callable[[Any], Any] | None:
    """How a recorded JSON value becomes the type that the tool's function promises, where it promises one."""
    try:
        hint = typing.get_type_hints(tool.__wrapped__).get("return")
        adapter: TypeAdapter[Any] = TypeAdapter(typing.cast("Any", hint))
    except Exception:  # no promise, or a type that pydantic cannot check: replayed as plain JSON
        return None

    def revive(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValueError:
            return value

    return revive


def _misspelt(own: Registry, settings: Settings) -> list[str]:
    return [
        f"{settings.file} has a table for {written!r}, which is no tool here; did you mean {meant!r}?"
        for written, meant in settings.misspelt(tool.name for tool in own).items()
    ]
