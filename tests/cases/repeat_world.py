"""The world of an `idempotency` case: real harnesses over one store, an independent record of effects, and deaths that are real.

`record` is a file with one line for each execution and for each effect, written by the tool's body and by nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failsoft.core.clock import SystemClock
from failsoft.core.context import CallContext, current
from failsoft.core.errors import make_error
from failsoft.core.results import ToolResult
from failsoft.harness.harness import Harness
from failsoft.policies import Policy, Retry, Timeout
from failsoft.stores import open_store
from tests.cases import build
from tests.cases.repeat_forms import Asked, Step
from tests.cases.repeat_tools import key_of_tool, ledger_key, specs_of, tool_of
from tests.cases.repeat_words import Script, first, script_of

__all__ = ["Answer", "World"]

_HELD_S = 30.0
_RETENTION = ("ttl_s", "record_ttl_s", "retention_s", "expires_after_s", "expiry_s", "forget_after_s")


class _Clock(SystemClock):
    """The machine's, but for the time of day."""

    __slots__ = ("ahead_s",)

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def wall(self) -> float:  # type: ignore[override]
        return time.time() + self.ahead_s


@dataclass(slots=True, kw_only=True)
class Answer:
    """What one call came to.

    Args:
        asked: The call.
        result: Its result; None where its process died.
        executions: How often the body was begun for it.
        ledger_key: What the ledger knows it by; None where its arguments cannot be read.
    """

    asked: Asked
    result: ToolResult | None = None
    executions: int = 0
    ledger_key: str | None = None


@dataclass(slots=True)
class World:
    """One life of a case over one store.

    Args:
        row: The case's input.
        url: The store's.
        folder: For the record.
        names: Tools that calls name.
    """

    row: Mapping[str, Any]
    url: str
    folder: Path
    names: tuple[str, ...] = ()
    clock: _Clock = field(default_factory=_Clock)
    answers: list[Answer] = field(default_factory=list)
    doubts: int = 0
    took_s: float = 0.0
    _harnesses: dict[str, Harness] = field(default_factory=dict)
    _calls: dict[str, Asked] = field(default_factory=dict)
    _held: dict[str, tuple[asyncio.Task[None], asyncio.Future[list[Script]]]] = field(default_factory=dict)
    _memory: Any = None
    _is_slow: bool = False

    def live(self, steps: list[Step]) -> None:
        """Go through all steps."""
        with asyncio.Runner() as runner:
            for step in steps:
                calls = step.calls
                if step.verb == "calls" and any(self._dies(asked) for asked in calls):
                    for asked in calls:
                        self._in_child(asked)
                    self._harnesses.clear()
                else:
                    runner.run(self._step(step))
            runner.run(self._end())

    async def _step(self, step: Step) -> None:
        if step.verb == "advance":
            self.clock.ahead_s += step.value
            retention_s = first({**self.row, **(self.row.get("policy") or {})}, _RETENTION)
            if retention_s is not None:  # nothing is forgotten by itself
                await self._harness("main").store.prune(retention_s)
        elif step.verb == "restart":
            await self._close()
        elif step.verb == "resolve":
            harness = self._harness("main")
            await harness.store.recover()
            for doubt in await harness.doubts():
                await harness.resolve(doubt.id, happened=step.value)
        elif step.verb == "finish":
            task, ending = self._held.pop(step.value[0])
            ending.set_result(step.value[1])
            await task
        elif step.calls and step.calls[0].is_held:
            await self._begin(step.calls[0])
        else:
            self._is_slow = len(step.calls) > 1
            places = [self._place(asked) for asked in step.calls]
            await asyncio.gather(
                *(self._call(asked, place) for asked, place in zip(step.calls, places, strict=True))
            )

    async def _end(self) -> None:
        for task, ending in self._held.values():
            ending.set_result(script_of("ok"))
            await task
        harness = self._harness("main")
        await harness.store.recover()
        self.doubts = len(await harness.store.doubts())
        await self._close()

    async def _close(self) -> None:
        for harness in self._harnesses.values():
            await harness.aclose()
        self._harnesses.clear()

    # ---- calls ----

    def _place(self, asked: Asked) -> Answer:
        self.answers.append(Answer(asked=asked))
        return self.answers[-1]

    async def _call(self, asked: Asked, answer: Answer, call_id: str = "") -> None:
        harness = self._harness(asked.worker)
        call_id = call_id or f"{asked.label}.{len(self._calls)}"
        self._calls[call_id] = asked
        name = asked.name or self.tools()[0]["name"]
        answer.ledger_key = ledger_key(harness, name, asked)
        options: dict[str, Any] = {"id": call_id, "run": asked.run, "scope": asked.scope, "key": asked.key}
        calling = asyncio.ensure_future(
            harness.call(name, build.value(asked.arguments), occurrence=asked.occurrence, **options)
        )
        if asked.cancel_after_s is not None:
            await asyncio.sleep(asked.cancel_after_s)
            calling.cancel()
        try:
            answer.result = await calling
        except asyncio.CancelledError as exc:
            answer.result = getattr(exc, "failsoft_result", None)
            if asked.cancel_after_s is None:
                raise
        answer.executions = sum(line["call"] == call_id for line in self.lines("run"))

    async def _begin(self, asked: Asked) -> None:
        ending: asyncio.Future[list[Script]] = asyncio.get_running_loop().create_future()
        answer = self._place(asked)
        task = asyncio.ensure_future(self._call(asked, answer))
        self._held[asked.label] = (task, ending)
        until = time.monotonic() + 0.3
        before = len(self.lines("run"))
        while len(self.lines("run")) == before and not task.done() and time.monotonic() < until:
            await asyncio.sleep(0.005)

    def _dies(self, asked: Asked) -> bool:
        scripts = self._scripts(asked, 1)
        return any("crash" in step for script in scripts for step in script)

    def _in_child(self, asked: Asked) -> None:
        """In a process that is killed where the script says so; the store lets go of its file before the fork."""
        answer = self._place(asked)
        call_id = f"{asked.label}.{len(self._calls)}"
        self._calls[call_id] = asked
        with warnings.catch_warnings():
            # Of threads that the child does not have: the store's, which begins anew there.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            try:
                self._harnesses.clear()
                asyncio.run(self._call(asked, answer, call_id))
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        answer.executions = sum(line["call"] == call_id for line in self.lines("run"))

    # ---- the record ----

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """What bodies have written: `run` for each execution, `effect` for each effect."""
        file = self.folder / "record"
        if not file.exists():
            return []
        return [
            line for line in map(json.loads, file.read_text("utf-8").splitlines()) if line["kind"] == kind
        ]

    def _write(self, **line: Any) -> None:
        file = os.open(self.folder / "record", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, json.dumps(line, default=str).encode() + b"\n")
        finally:
            os.close(file)

    # ---- tools ----

    def tools(self) -> list[dict[str, Any]]:
        """The tools of the case."""
        return specs_of(self.row, self.names)

    def _harness(self, worker: str) -> Harness:
        if worker not in self._harnesses:
            if self.url == "memory":
                self._memory = self._memory or open_store("memory", wall=self.clock.wall)
            store = self._memory or open_store(self.url, wall=self.clock.wall)
            tools = [tool_of(self.row, spec, self._body(spec, key_of_tool(spec))) for spec in self.tools()]
            self._harnesses[worker] = Harness(
                tools, policy=self._policy(), store=store, clock=self.clock, builtins=False, name="shop"
            )
        return self._harnesses[worker]

    def _policy(self) -> Policy:
        spec = {**self.row, **(self.row.get("policy") or {})}
        lease_s = first(spec, ("timeout_s", "attempt_timeout_s", "lease_s", "in_progress_s"))
        if lease_s is None:
            lease_s = _HELD_S if self._held or self._may_be_held() else 0.3
        retry = Retry(max_attempts=int(spec.get("max_attempts", 3)), base_s=spec.get("first_delay_s", 0.01))
        return Policy(
            retry=retry,
            timeout=Timeout(attempt_s=lease_s, total_s=lease_s if "lease_s" in spec else max(5.0, lease_s)),
            breaker=None,
        )

    def _may_be_held(self) -> bool:
        return any(word in json.dumps(self.row, default=str) for word in ("begin", "start", "finish"))

    def _scripts(self, asked: Asked, execution: int) -> list[Script]:
        if asked.does is not None:
            return asked.does
        spec = next((one for one in self.tools() if one["name"] == asked.name), self.tools()[0])
        if "script_per_attempt" in spec:
            return [script for one in spec["script_per_attempt"] for script in script_of(one)]
        given = first(spec, ("script", "behaviour", "behavior", "outcome", "result", "does"))
        outcomes = first(spec, ("outcomes", "results", "attempts"), self.row.get("attempts"))
        if outcomes is not None:  # one for each execution, whoever asked for it
            scripts = [script_of(one)[0] for one in outcomes]
            return [scripts[min(execution, len(scripts)) - 1]]
        return script_of("ok" if given is None else given)

    def _body(self, spec: dict[str, Any], key: str | None) -> Any:
        async def body(**arguments: Any) -> Any:
            call = current()
            asked = self._calls[call.id]
            passed = arguments.get(key) if key else None
            self._write(kind="run", call=call.id, tool=spec["name"], key=passed, arguments=arguments)
            scripts = self._scripts(asked, len(self.lines("run")))
            if self._is_slow:
                await asyncio.sleep(0.05)
            if asked.is_held:
                scripts = await self._held[asked.label][1]
            for step in scripts[min(call.attempt, len(scripts)) - 1]:
                ((verb, rest),) = step.items()
                if verb == "return":
                    return build.value(rest)
                await self._act(verb, rest, call, passed)
            return passed if spec.get("returns") == "key" else "done"

        return body

    async def _act(self, verb: str, rest: Any, call: CallContext, passed: str | None) -> None:
        if verb == "append":
            call.acted()
            known = {line["key"] for line in self.lines("effect")} if passed is not None else set()
            if passed is None or passed not in known:  # the outside world knows its keys
                self._write(kind="effect", call=call.id, tool=call.name, key=passed, value=rest)
        elif verb == "sleep":
            await asyncio.sleep(rest)
        elif verb == "hang":
            await asyncio.sleep(3600)
        elif verb == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        elif verb == "fail":
            raise make_error("conflict", str(rest), effect="none")
        elif verb == "raise":
            raise build.exception(rest)
        elif verb == "status":
            request = {"$http_request": ["POST", "https://api.example.test/"]}
            response = {"$http_response": {"status": rest, "headers": {}, "body": "", "method": "POST"}}
            if rest >= 400:
                kwargs = {"request": request, "response": response}
                raise build.exception(
                    {"class": "httpx.HTTPStatusError", "args": [str(rest)], "kwargs": kwargs}
                )
