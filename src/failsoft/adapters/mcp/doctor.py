"""A look at a server before it is relied on: does it start, how fast is it, what do its tools say, what would hold."""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.effects import hints_of
from failsoft.adapters.mcp.listing import list_all
from failsoft.adapters.mcp.merging import own_info
from failsoft.adapters.mcp.running import make_session
from failsoft.core.annotations import Standing
from failsoft.core.errors import AgentError
from failsoft.tools.lint import lint

if TYPE_CHECKING:
    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.session import Session
    from failsoft.adapters.mcp.wire import Message
    from failsoft.policies import EffectivePolicy
    from failsoft.tools.lint import Finding

__all__ = ["Report", "ToolReport", "examine", "snippet_for", "undeclared"]

_VERSION: Final = "2025-11-25"
_PINGS: Final = 20
_START_S: Final = 60.0
_ANSWER_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReport:
    """One tool of a server.

    Args:
        name: Its name.
        annotations: What the server says of its effects; what it does not say is left out.
        standing: How careful the runtime is with it: `repeatable`, `protected`, `undeclared`; None where it can only
            be passed through.
        policy: What holds for it.
    """

    name: str
    annotations: dict[str, bool]
    standing: str | None
    policy: EffectivePolicy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found of a server.

    Args:
        server: What it calls itself.
        protocol: The version that it chose.
        start_s: Seconds until the handshake was done.
        ping_ms: Median of round trips; None where it knows no ping.
        tools: Its tools.
        findings: What is wrong with them, or might go wrong.
        problems: What went wrong while looking.
    """

    server: dict[str, Any]
    protocol: str | None
    start_s: float
    ping_ms: float | None
    tools: tuple[ToolReport, ...]
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]


class _Nobody:
    """A client that says and hears nothing; requests of the server's are left open."""

    def send(self, line: bytes, message: Message | None) -> None:
        """Heard by nobody."""

    def pause(self, paused: bool) -> None:
        """Nothing is read."""


async def examine(spec: ServerSpec, *, config: Any = "auto") -> Report:
    """Start a server, look at it, end it. None of its tools is called.

    Args:
        spec: The server.
        config: As for `Harness`.

    Raises:
        AgentError: It cannot be started, or does not take the handshake.
        UsageError: The policies for its tools cannot work.
    """
    session = make_session(spec, _Nobody(), store="memory", config=config)
    try:
        began = time.monotonic()
        await session.start()
        hello = await _greet(session)
        start_s = time.monotonic() - began
        problems: list[str] = []
        try:
            listed = await list_all(session.link, "tools/list", "tools", {}, _ANSWER_S)
        except AgentError as exc:
            problems.append(str(exc))
            listed = []
        session.catalogue.take(listed)
        if session.catalogue.problem is not None:
            raise session.catalogue.problem
        return Report(
            server=hello.get("serverInfo") or {},
            protocol=hello.get("protocolVersion"),
            start_s=start_s,
            ping_ms=await _pinged(session),
            tools=_tools(session),
            findings=_findings(session),
            problems=tuple(problems),
        )
    finally:
        await session.aclose()


async def _greet(session: Session) -> Message:
    params = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": own_info()}
    answer = await session.link.ask("initialize", params, _START_S)
    if "error" in answer:
        raise AgentError(
            "unavailable", f"It refuses the handshake: {answer['error']}.", reason="handshake_refused"
        )
    session.link.tell("notifications/initialized")
    result: Message = answer["result"]
    return result


async def _pinged(session: Session) -> float | None:
    times = []
    for _ in range(_PINGS):
        began = time.perf_counter()
        try:
            answer = await session.link.ask("ping", None, _ANSWER_S)
        except AgentError:
            return None
        if answer.get("error", {}).get("code") == wire.METHOD_NOT_FOUND:
            return None
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def _tools(session: Session) -> tuple[ToolReport, ...]:
    harness = session.catalogue.harness
    made = {} if harness is None else {tool.name: tool for tool in harness.tools}
    policies = {} if harness is None else harness.policies()
    return tuple(
        ToolReport(
            name=name,
            annotations=hints_of(definition),
            standing=str(made[name].standing) if name in made else None,
            policy=policies.get(name),
        )
        for name, definition in session.catalogue.definitions.items()
    )


def _findings(session: Session) -> tuple[Finding, ...]:
    harness = session.catalogue.harness
    return () if harness is None else tuple(lint(harness.tools))


def snippet_for(spec: ServerSpec) -> dict[str, Any]:
    """The server's entry for a client's `mcpServers`, with failsoft before it and what the user has said of it."""
    words = ["mcp", "--name", spec.name]
    for option, pattern in _said(spec):
        words += [option, pattern]
    entry: dict[str, Any] = {"command": "failsoft", "args": [*words, "--", *spec.argv]}
    env = dict(spec.env)
    if spec.url is not None:
        entry["args"] = [*words, "--url", spec.url]
        for name, value in spec.headers.items():
            # A secret belongs into no list of processes, and not into what is printed here.
            if "${" not in value:
                variable = re.sub(r"\W", "_", name).upper()
                env[variable], value = "...", f"${{{variable}}}"
            entry["args"] += ["--header", f"{name}: {value}"]
    if env:
        entry["env"] = env
    return {"mcpServers": {spec.name: entry}}


def _said(spec: ServerSpec) -> list[tuple[str, str]]:
    options = {
        ("read_only", True): "--read-only",
        ("read_only", False): "--acts",
        ("idempotent", True): "--idempotent",
        ("destructive", True): "--destructive",
    }
    trust = [] if spec.options.trust == "all" else [("--trust", spec.options.trust)]
    return trust + [
        (options[word, value], pattern)
        for pattern, words in spec.options.tools.items()
        for word, value in words.items()
        if isinstance(value, bool) and (word, value) in options
    ]


def undeclared(report: Report) -> list[str]:
    """Tools of whose effects nothing is known."""
    return [tool.name for tool in report.tools if tool.standing == Standing.UNDECLARED]
