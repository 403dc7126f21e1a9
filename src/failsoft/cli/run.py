"""`failsoft run`: an agent at the command line. Its answer goes to stdout, its steps to stderr."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from failsoft.agent import Agent
from failsoft.cli.output import clean, json_option, note, plain, print_json
from failsoft.cli.run_console import ask, question_lines, step_line
from failsoft.cli.run_parts import (
    DEFAULT_MODEL,
    answer_of,
    client_of,
    command_to_go_on,
    harness_maker,
    limits_of,
    runs_beside,
    servers_of,
)
from failsoft.cli.stored import store_option
from failsoft.core.context import new_id
from failsoft.core.errors import UsageError
from failsoft.harness.builder import default_store_file
from failsoft.harness.interrupts import graceful

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.adapters.mcp import McpTools
    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.agent import Answer, Limits, Outcome
    from failsoft.agent.runs import RunStore
    from failsoft.harness.harness import Harness

__all__ = ["command"]

_FINISHED, _WAITING, _INTERRUPTED = "finished", "escalated", "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    question: str
    client: Any
    make_harness: Callable[[McpTools | None], Harness]
    servers: tuple[ServerSpec, ...]
    store_url: str
    limits: Limits
    roles: tuple[str, ...]
    run_id: str
    is_resumed: bool
    answer: Answer | None
    go_on: str
    as_json: bool


@click.command("run")
@click.argument("question", default="")
@click.option(
    "--tools",
    "targets",
    multiple=True,
    metavar="MODULE[:NAME]",
    help="A module with tools, or a harness or tool in it; can be given more than once.",
)
@click.option(
    "--mcp",
    "commands",
    multiple=True,
    metavar="CMD",
    help="The command line of an MCP server whose tools are used too; can be given more than once.",
)
@click.option(
    "--mcp-url",
    "urls",
    multiple=True,
    metavar="URL",
    help="The same for a server behind a URL; can be given more than once.",
)
@click.option(
    "--mcp-config",
    "configs",
    multiple=True,
    metavar="FILE",
    help="The servers of an mcp.json, with what is said of them there; can be given more than once.",
)
@click.option(
    "--model",
    envvar="FAILSOFT_MODEL",
    show_envvar=True,
    help=f"The model's name. Default: {DEFAULT_MODEL} for the Messages API.",
)
@click.option(
    "--base-url",
    envvar="FAILSOFT_BASE_URL",
    show_envvar=True,
    help="Another endpoint that speaks the same API.",
)
@click.option(
    "--api",
    type=click.Choice(["anthropic", "openai", "responses"]),
    default="anthropic",
    envvar="FAILSOFT_API",
    show_envvar=True,
    show_default=True,
    help="What the endpoint speaks: Messages, Chat Completions or Responses.",
)
@click.option(
    "--limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="A limit of the run, such as max_turns=10, wall_s=60, tokens=50000; can be given more than once.",
)
@click.option("--role", "roles", multiple=True, help="What the one who asks may do; more than once.")
@click.option("--id", "new_run", metavar="RUN", help="The new run's id. Default: one is made.")
@click.option("--resume", metavar="RUN", help="Go on with a run that waits, stopped or was cut off.")
@click.option("--answer", metavar="TEXT", help="With --resume: tell the model something.")
@click.option(
    "--approve",
    is_flag=False,
    flag_value="any",
    metavar="[CODE]",
    help="With --resume: run the call in question as it is; with its CODE only if it is still that one.",
)
@click.option("--give-up", is_flag=True, help="With --resume: end the run.")
@store_option
@json_option
def command(
    question: str,
    targets: tuple[str, ...],
    commands: tuple[str, ...],
    urls: tuple[str, ...],
    configs: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    api: str,
    limits: tuple[str, ...],
    roles: tuple[str, ...],
    new_run: str | None,
    resume: str | None,
    answer: str | None,
    approve: str | None,
    give_up: bool,
    store_url: str | None,
    as_json: bool,
) -> int:
    """Let a model answer QUESTION (`-` for standard input) with the help of tools.

    Where a person is needed it asks at the terminal; where there is none, the run is stored, the command to go on is
    printed, and the exit code is 3. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY.
    """
    if resume is None and (answer is not None or approve is not None or give_up):
        raise click.UsageError("--answer, --approve and --give-up are for a run: --resume RUN")
    if sum((answer is not None, approve is not None, give_up)) > 1:
        raise click.UsageError("one answer at a time: --answer, --approve or --give-up")
    text = sys.stdin.read() if question == "-" else question
    if (resume is None) != bool(text.strip()) or (resume is not None and new_run is not None):
        raise click.UsageError("give a question, or --resume RUN")
    url = store_url or f"sqlite:///{default_store_file()}"
    run_id = resume or new_run or new_id("run")
    job = _Job(
        question=text,
        client=client_of(api, model, base_url),
        make_harness=harness_maker(targets, url),
        servers=servers_of(commands, urls, configs),
        store_url=url,
        limits=limits_of(limits),
        roles=roles,
        run_id=run_id,
        is_resumed=resume is not None,
        answer=answer_of(answer, approve, give_up),
        go_on=command_to_go_on(
            run_id,
            tools=targets,
            mcp=commands,
            mcp_url=urls,
            mcp_config=configs,
            model=model,
            base_url=base_url,
            store=store_url,
            api=None if api == "anthropic" else api,
            limits=limits,
            role=roles,
        ),
        as_json=as_json,
    )
    return asyncio.run(_run(job))


async def _run(job: _Job) -> int:
    async with AsyncExitStack() as stack:
        tools = None
        if job.servers:
            from failsoft.adapters.mcp import mcp_tools  # runs without servers do not load it

            tools = await stack.enter_async_context(mcp_tools(*job.servers))
        harness = await stack.enter_async_context(job.make_harness(tools))
        await stack.enter_async_context(graceful(harness))
        runs = await stack.enter_async_context(runs_beside(harness, job.store_url))
        known = await runs.load_run(job.run_id) if job.answer is None else None
        if known is not None and not job.is_resumed:
            raise UsageError(f"there is a run {job.run_id!r} already\n\nhint: --resume {job.run_id}")
        # It may have been killed before it could print its answer.
        if known is not None and known["stopped"] == _FINISHED:
            note(f"the run {job.run_id} is finished")
            _print(job, {"run_id": job.run_id, "stop_reason": _FINISHED, "text": known["text"]})
            return 0
        return _end(job, await _driven(job, harness, runs))


async def _driven(job: _Job, harness: Harness, runs: RunStore) -> Outcome:
    """The run to its end; its steps go to stderr."""
    on_escalate = ask if sys.stdin.isatty() else lambda _: None
    agent = Agent(job.client, harness, limits=job.limits, runs=runs, on_escalate=on_escalate)
    if job.is_resumed:
        stream = agent.stream_resumed(job.run_id, answer=job.answer, roles=job.roles)
    else:
        note(f"run {job.run_id}")
        stream = agent.stream(job.question, run=job.run_id, roles=job.roles)
    try:
        async with stream:
            async for event in stream:
                line = step_line(event)
                if line:
                    note(line)
            return stream.outcome
    except asyncio.CancelledError:
        note(f"interrupted; go on with: {job.go_on}")
        raise
    finally:
        close = getattr(job.client, "aclose", None)
        if close is not None:
            await close()


def _end(job: _Job, outcome: Outcome) -> int:
    _print(job, _as_data(job, outcome))
    if outcome.finished:
        for line in outcome.summary().splitlines()[1:] if outcome.doubts else ():
            note(clean(line))
        return 0
    if outcome.stop_reason == _WAITING and outcome.case is not None:
        for line in question_lines(outcome.case):
            note(line)
        note(f"waiting for a person; go on with one of:\n  {job.go_on} --answer TEXT")
        if outcome.case.call is not None:
            note(f"  {job.go_on} --approve {outcome.case.code}")
        note(f"  {job.go_on} --give-up")
        return 3
    note(clean(outcome.summary()))
    if outcome.stop_reason == _INTERRUPTED:
        return 1
    note(f"to go on with it: {job.go_on} [--answer TEXT]")
    return 1


def _print(job: _Job, data: dict[str, Any]) -> None:
    if job.as_json:
        print_json(data)
    elif data["text"]:
        # Lines stay; what could command a terminal goes.
        click.echo("\n".join(plain(line.expandtabs()) for line in data["text"].split("\n")))


def _as_data(job: _Job, outcome: Outcome) -> dict[str, Any]:
    case, usage = outcome.case, outcome.usage
    return {
        "run_id": outcome.run_id,
        "stop_reason": str(outcome.stop_reason),
        "text": outcome.text,
        "detail": clean(outcome.detail),
        "turns": outcome.turns,
        "calls": [
            {"tool": one.call.name, "ok": one.ok, "attempts": one.attempts, "doubt": one.doubt}
            for one in outcome.calls
        ],
        "errors": [
            {"kind": str(error.kind), "reason": error.reason, "message": clean(error.message)}
            for error in outcome.errors
        ],
        "doubts": list(outcome.doubts),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        | {"total_tokens": usage.total_tokens, "requests": usage.requests},
        "waits_for": None
        if case is None or outcome.stop_reason != _WAITING
        else {
            "question": clean(case.question),
            "code": case.code,
            "tool": None if case.call is None else case.call.name,
            "arguments": None if case.call is None else case.call.arguments,
            "go_on": job.go_on,
        },
    }
