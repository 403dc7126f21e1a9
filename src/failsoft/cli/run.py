"""`failsoft run`: an agent at the command line. Its answer goes to stdout, its steps to stderr."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import click

from failsoft.agent import Agent, StopReason
from failsoft.agent.checkpoint import kept_outcome
from failsoft.cli.output import json_option, note
from failsoft.cli.run_console import ask, step_line
from failsoft.cli.run_parts import (
    DEFAULT_MODEL,
    Job,
    answer_of,
    check_base_url,
    client_of,
    command_to_go_on,
    harness_maker,
    limits_of,
    no_such_run,
    runs_beside,
    servers_of,
)
from failsoft.cli.run_report import end
from failsoft.cli.stored import existing_url, store_option
from failsoft.core.context import new_id
from failsoft.core.errors import UsageError
from failsoft.harness.builder import default_store_file
from failsoft.harness.interrupts import graceful

if TYPE_CHECKING:
    from failsoft.agent import Outcome
    from failsoft.agent.runs import RunStore
    from failsoft.harness.harness import Harness

__all__ = ["command"]


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
    check_base_url(base_url)
    # A single module may have a harness with a store of its own.
    is_kept = resume is not None and (store_url is not None or len(targets) != 1)
    url = existing_url(store_url) if is_kept else store_url or f"sqlite:///{default_store_file()}"
    run_id = resume or new_run or new_id("run")
    job = Job(
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
        model=model or DEFAULT_MODEL,
        api=api,
        base_url=base_url,
        has_tools=bool(targets or commands or urls or configs),
        go_on=""
        if url.startswith("memory")
        else command_to_go_on(
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


async def _run(job: Job) -> int:
    async with AsyncExitStack() as stack:
        tools = None
        if job.servers:
            from failsoft.adapters.mcp import mcp_tools  # runs without servers do not load it

            tools = await stack.enter_async_context(mcp_tools(*job.servers))
        harness = await stack.enter_async_context(job.make_harness(tools))
        await stack.enter_async_context(graceful(harness))
        runs = await stack.enter_async_context(runs_beside(harness, job.store_url))
        known = await runs.load_run(job.run_id)
        if known is None and job.is_resumed:
            raise UsageError(no_such_run(job))
        if known is not None and not job.is_resumed:
            raise UsageError(f"there is a run {job.run_id!r} already\n\nhint: --resume {job.run_id}")
        # It may have been killed before it could print its answer.
        if known is not None and known["stopped"] == StopReason.FINISHED:
            return await _told_again(job, harness, known)
        system = None if tools is None else tools.instructions or None
        return end(job, await _driven(job, harness, runs, system))


async def _told_again(job: Job, harness: Harness, known: dict[str, Any]) -> int:
    """The end of a run that is finished.

    Raises:
        UsageError: It was given an answer to a question that it has not.
    """
    if job.answer is not None:
        raise UsageError(
            f"the run {job.run_id!r} is finished and waits for no answer\n\n"
            f"hint: failsoft run --resume {job.run_id} prints its end; failsoft show {job.run_id} what it did"
        )
    note(f"the run {job.run_id} is finished")
    still_open = [doubt.id for doubt in await harness.doubts(job.run_id)]
    return end(job, kept_outcome(job.run_id, known, still_open))


async def _driven(job: Job, harness: Harness, runs: RunStore, system: str | None) -> Outcome:
    """The run to its end; its steps go to stderr."""
    on_escalate = ask if sys.stdin.isatty() else lambda _: None
    agent = Agent(job.client, harness, system=system, limits=job.limits, runs=runs, on_escalate=on_escalate)
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
        note(f"interrupted; go on with: {job.go_on}" if job.go_on else "interrupted")
        raise
    finally:
        close = getattr(job.client, "aclose", None)
        if close is not None:
            await close()
