"""`failsoft mcp --doctor`: what a server is like, and what would hold for its tools."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from failsoft.adapters.mcp.doctor import examine, snippet_for, undeclared
from failsoft.cli.output import note, plain, print_json, print_table, seconds
from failsoft.core.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.doctor import Report, ToolReport

__all__ = ["look"]


def look(specs: Sequence[ServerSpec], config: Any, *, as_json: bool) -> int:
    """Examine each server and print what was found; 1 where one does not work."""
    logger = logging.getLogger("failsoft.mcp")
    before = logger.level
    logger.setLevel(logging.ERROR)  # what the log would warn of is in the report
    try:
        return _look(specs, config, as_json=as_json)
    finally:
        logger.setLevel(before)


def _look(specs: Sequence[ServerSpec], config: Any, *, as_json: bool) -> int:
    found, code = {}, 0
    for spec in specs:
        try:
            report = asyncio.run(examine(spec, config=config))
        except AgentError as exc:
            note(f"{plain(spec.name)}: {plain(' '.join(filter(None, (exc.message, exc.suggestion))))}")
            code = 1
            continue
        code = max(code, int(bool(report.problems)))
        if as_json:
            found[spec.name] = {**_data(report), "snippet": snippet_for(spec)}
        else:
            _print(spec, report)
    if as_json:
        print_json(found)
    return code


def _data(report: Report) -> dict[str, Any]:
    tools = [
        {
            "name": tool.name,
            "annotations": tool.annotations,
            "standing": tool.standing,
            "policy": None if tool.policy is None else tool.policy.to_mapping(),
        }
        for tool in report.tools
    ]
    findings = [asdict(finding) for finding in report.findings]
    return {
        "server": report.server,
        "protocol": report.protocol,
        "start_s": round(report.start_s, 3),
        "ping_ms": None if report.ping_ms is None else round(report.ping_ms, 3),
        "tools": tools,
        "findings": findings,
        "problems": list(report.problems),
    }


def _print(spec: ServerSpec, report: Report) -> None:
    server = report.server
    title = f"{server.get('name', spec.name)} {server.get('version', '')}".strip()
    ping = "no ping" if report.ping_ms is None else f"ping {report.ping_ms:.2f} ms"
    click.echo(
        f"{plain(title)}: protocol {plain(report.protocol)}, started in {seconds(report.start_s)}, {ping}"
    )
    for problem in report.problems:
        click.echo(f"problem: {plain(problem)}")
    click.echo()
    print_table(("tool", "effects as told", "treated as", "time-out", "attempts"), map(_row, report.tools))
    click.echo()
    for finding in report.findings:
        if finding.rule != "undeclared_effects":
            click.echo(
                f"{plain(finding.tool)}: {finding.severity}: {plain(finding.message)} [{finding.rule}]"
            )
    names = undeclared(report)
    if names:
        click.echo(f"Nothing is known of the effects of: {plain(', '.join(names))}.")
        click.echo("They are never repeated after a failure that may have had an effect.")
        click.echo("For those that only look add --read-only TOOL, for those that act --acts TOOL.")
    click.echo("\nFor the client's configuration:\n")
    click.echo(json.dumps(snippet_for(spec), indent=2, ensure_ascii=False))


def _row(tool: ToolReport) -> tuple[str, ...]:
    told = ", ".join(word if value else f"not {word}" for word, value in tool.annotations.items())
    policy = tool.policy
    if policy is None:
        return tool.name, told or "nothing", "passed through", "–", "–"
    attempts = 1 if policy.retry is None or tool.standing != "repeatable" else policy.retry.max_attempts
    return tool.name, told or "nothing", str(tool.standing), seconds(policy.timeout.total_s), str(attempts)
