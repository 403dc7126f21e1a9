"""Operation `execute`: one call whose tool follows a script, watched from outside."""

from __future__ import annotations

import asyncio
import contextvars
import os
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import failsoft.subprocess
from failsoft.core.calls import ToolCall
from failsoft.harness.batch import interrupted_results
from failsoft.harness.harness import Harness
from failsoft.policies import Policy, Retry, Timeout
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen, of_result
from tests.cases.upstream import Upstream, adapter_requests

__all__ = ["run_execute"]

_ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}
_MARK = "FAILSOFT_CASE"


@dataclass(slots=True)
class _Watch:
    """What a scripted tool leaves behind."""

    variables: dict[str, contextvars.ContextVar[Any]] = field(default_factory=dict)
    effects: list[Any] = field(default_factory=list)
    begun: int = 0
    left_at: float | None = None
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)


def _step(watch: _Watch, step: dict[str, Any]) -> tuple[str, Any]:
    """Do what takes no time; `sleep`, `return` or `` with its value."""
    ((verb, rest),) = step.items()
    if verb == "append":
        watch.effects.append(rest)
        return "", None
    if verb == "raise":
        raise build.exception(rest)
    if verb == "return_contextvar":
        return "return", watch.variables[rest].get(None)
    if verb in ("sleep", "return"):
        return verb, build.value(rest)
    raise AssertionError(f"no such step: {verb}")


def _script(spec: dict[str, Any], attempt: int) -> list[dict[str, Any]]:
    if "script_per_attempt" in spec:
        scripts = spec["script_per_attempt"]
        return list(scripts[min(attempt, len(scripts)) - 1])
    return list(spec["script"])


def _body(spec: dict[str, Any], watch: _Watch, upstream: Upstream | None) -> Any:
    async def run_async(**_arguments: Any) -> Any:
        watch.begun += 1
        try:
            for step in _script(spec, watch.begun):
                verb, rest = _step(watch, step)
                if verb == "sleep":
                    await asyncio.sleep(rest)
                elif verb == "return":
                    return rest
            return "done"
        finally:
            watch.left_at = time.monotonic()

    def run_sync(**_arguments: Any) -> Any:
        watch.begun += 1
        try:
            for step in _script(spec, watch.begun):
                verb, rest = _step(watch, step)
                if verb == "sleep":
                    time.sleep(rest)
                elif verb == "return":
                    return rest
            return "done"
        finally:
            watch.left_at = time.monotonic()

    async def run_command(**_arguments: Any) -> Any:
        watch.begun += 1
        env = {**os.environ, _MARK: watch.mark}
        finished = await failsoft.subprocess.run(spec["argv"], env=env)
        return finished.stdout

    async def run_client(**_arguments: Any) -> Any:
        watch.begun += 1
        assert upstream is not None
        return await upstream.request()

    if upstream is not None:
        return run_client
    return {"async": run_async, "sync": run_sync, "subprocess": run_command}[spec.get("mode", "async")]


def _tool(spec: dict[str, Any], watch: _Watch, upstream: Upstream | None) -> Tool[..., Any]:
    """The tool, declared as the case says; see the table of words."""
    steps = [step for script in spec.get("script_per_attempt", [spec.get("script", [])]) for step in script]
    return Tool.from_schema(
        spec["name"],
        _ANYTHING,
        _body(spec, watch, upstream),
        description="A tool.",
        idempotent=spec.get("idempotent"),
        read_only=spec.get("read_only"),
        destructive=spec.get("destructive"),
        atomic=not any("append" in step for step in steps),
    )


def _policy(spec: dict[str, Any]) -> Policy:
    changes: dict[str, Any] = {}
    if "max_attempts" in spec or "first_delay_s" in spec:
        base_s = spec.get("first_delay_s", 0.01)
        jitter = "none" if "first_delay_s" in spec else "full"
        changes["retry"] = Retry(max_attempts=spec.get("max_attempts", 3), base_s=base_s, jitter=jitter)
    if "timeout_s" in spec:
        changes["timeout"] = Timeout(attempt_s=spec["timeout_s"])
    return Policy(**changes)


async def _observed(row: dict[str, Any], watch: _Watch, facts: dict[str, Any]) -> Seen:
    """Run the call beside a heartbeat, and cancel it where the case says so."""
    spec, policy = row["tool"], row.get("policy") or {}
    client = spec.get("inner_client")
    upstream = Upstream(client) if client else None
    tool = _tool(spec, watch, upstream)
    call = row.get("call") or {"id": "c1", "arguments": {}}
    for name, value in (row.get("contextvars") or {}).items():
        watch.variables[name] = contextvars.ContextVar(name)
        watch.variables[name].set(value)
    harness = Harness([tool], policy=_policy(policy), store="memory", builtins=False)
    calls = [ToolCall(call["id"], tool.name, call.get("arguments"))]
    facts["heartbeats"] = 0
    beating = asyncio.create_task(_beat(facts, row.get("heartbeat_s", 0.02)))
    began = time.monotonic()
    task = asyncio.create_task(harness.call_all(calls, deadline_s=policy.get("deadline_s")))
    cancelled_at = None
    if row.get("cancel_outer_after_s") is not None:
        await asyncio.sleep(row["cancel_outer_after_s"])
        cancelled_at = time.monotonic()
        task.cancel()
    try:
        (result,) = await task
    except asyncio.CancelledError as exc:
        facts["outer"] = type(exc).__name__
        (result,) = interrupted_results(exc) or [None]
        if cancelled_at is None or result is None:
            raise
    ended = time.monotonic()
    beating.cancel()
    seen = of_result(result, **facts)
    seen.facts["elapsed_s"] = ended - began
    seen.facts["history_result_for"] = [result.call.id]
    if cancelled_at is not None and watch.left_at is not None:
        seen.facts["cleanup_s"] = watch.left_at - cancelled_at
    if upstream is not None:
        seen.facts["upstream_requests"] = await adapter_requests(client, policy)
        seen.facts["total_budget_respected"] = ended - began <= policy["deadline_s"] + 0.3
    if spec.get("mode") == "subprocess":
        seen.facts["processes_left"] = _processes(watch.mark)
    seen.facts["side_effects"] = len(watch.effects)
    seen.repeatable = _repeatable(spec)
    seen.ran_with = [dict(call.get("arguments") or {})] * watch.begun
    await harness.aclose()
    return seen


def _repeatable(spec: dict[str, Any]) -> bool | None:
    if spec.get("idempotent") is None and spec.get("read_only") is None:
        return None
    return bool(spec.get("idempotent") or spec.get("read_only"))


async def _beat(facts: dict[str, Any], every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        facts["heartbeats"] += 1


def _processes(mark: str) -> list[str]:
    """Command lines of living processes that carry the mark in their environment."""
    time.sleep(0.2)
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def run_execute(row: dict[str, Any]) -> Seen:
    """One scripted call; has an event loop of its own, because Ctrl-C ends a loop."""
    if row.get("platform") == "posix" and os.name != "posix":
        raise build.MissingLibrary("a POSIX system")
    watch, facts = _Watch(), dict[str, Any]()
    try:
        return asyncio.run(_observed(row, watch, facts))
    except build.MissingLibrary:
        raise
    except BaseException as exc:
        if isinstance(exc, AssertionError):
            raise
        return Seen(
            facts={"raises": type(exc).__name__, "outer": type(exc).__name__, "attempts": watch.begun}
        )
