"""`failsoft run`: from its options to the parts of a run."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from failsoft.agent import Answer, AnthropicClient, Limits, OpenAIClient, StoreRuns
from failsoft.cli.loading import build_harness, load_harness, load_tools, names_harness
from failsoft.cli.output import clean, note
from failsoft.core.annotations import Standing
from failsoft.core.errors import UsageError
from failsoft.harness.builtins import BUILTIN_NAMES
from failsoft.stores import open_store
from failsoft.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from failsoft.adapters.mcp import McpTools
    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.agent.runs import RunStore
    from failsoft.harness.harness import Harness

__all__ = [
    "DEFAULT_MODEL",
    "Job",
    "answer_of",
    "check_base_url",
    "client_of",
    "command_to_go_on",
    "harness_maker",
    "limits_of",
    "no_such_run",
    "runs_beside",
    "servers_of",
]

DEFAULT_MODEL = "claude-sonnet-5-5"
_DECLARED = '"failsoft": {"tools": {"NAME": {"read_only": true}}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run as it was asked for.

    Args:
        question: What the model is asked; empty for a run that goes on.
        client: Asks the model.
        make_harness: Makes the harness, with the tools of servers where there are some.
        servers: MCP servers to start.
        store_url: Where the run is kept.
        limits: How far it may go.
        roles: What the one who asks may do.
        run_id: Its id.
        is_resumed: Whether it goes on.
        answer: What a person says to it.
        model, api, base_url: Whom the client asks.
        has_tools: Whether any tools were named.
        go_on: The command that goes on with it; empty where it cannot.
        as_json: Whether to print JSON.
    """

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
    model: str
    api: str
    base_url: str | None
    has_tools: bool
    go_on: str
    as_json: bool


def check_base_url(url: str | None) -> None:
    """Refuse what is no address before a run begins.

    Raises:
        UsageError: It has no scheme.
    """
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url is a URL, got {url!r}\n\nhint: --base-url http://127.0.0.1:11434/v1")


def no_such_run(job: Job) -> str:
    """What is said of a run that is not kept."""
    where = clean(job.store_url)
    return (
        f"there is no run {job.run_id!r} to go on with in {where}\n\n"
        "hint: `failsoft runs` lists the runs; --store URL names another store"
    )


def client_of(api: str, model: str | None, base_url: str | None) -> Any:
    """The model's client.

    Raises:
        UsageError: A model has to be named.
    """
    if api == "anthropic":
        return AnthropicClient(model or DEFAULT_MODEL, base_url=base_url)
    if model is None:
        raise UsageError(f"--api {api} needs --model\n\nhint: --model NAME, or $FAILSOFT_MODEL")
    return OpenAIClient(model, api="chat" if api == "openai" else "responses", base_url=base_url)


def servers_of(
    commands: Sequence[str], urls: Sequence[str], configs: Sequence[str]
) -> tuple[ServerSpec, ...]:
    """The MCP servers that are named.

    Raises:
        UsageError: A command line or a file that is none.
    """
    if not (commands or urls or configs):
        return ()
    from failsoft.adapters.mcp.config import load_servers  # runs without servers do not load them
    from failsoft.adapters.mcp.tools import spec_for

    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"--mcp-url is a URL, got {url!r}\n\nhint: --mcp-url https://example.com/mcp")
    named = [spec_for(each) for each in (*commands, *urls)]
    return (*named, *(spec for file in configs for spec in load_servers(file)))


def harness_maker(targets: Sequence[str], store_url: str) -> Callable[[McpTools | None], Harness]:
    """What makes the harness once the servers' tools are known; the modules are loaded now.

    Raises:
        UsageError: A module that cannot be loaded, or has no tools.
    """
    own = {
        tool.name: tool for target in targets for tool in load_tools(target) if tool.name not in BUILTIN_NAMES
    }

    def make(served: McpTools | None) -> Harness:
        if served is not None:
            for target in filter(names_harness, targets):
                note(
                    f"note: beside MCP servers, {target} lends its tools; its policies and its store are not used"
                )
            made = build_harness(served.plus(*own.values()), store=store_url)
            if any(tool.standing is Standing.UNDECLARED for tool in served):
                note(f"note: of a server's tools it is said in a file, --mcp-config: {_DECLARED}")
            return made
        if len(targets) == 1:  # a harness that is there is used with all that it was told
            return load_harness(targets[0], store=store_url)
        return build_harness(own.values(), store=store_url)

    return make


@asynccontextmanager
async def runs_beside(harness: Harness, store_url: str) -> AsyncIterator[RunStore]:
    """Where runs are kept: in the harness's store, or beside it where that one is gone with the process."""
    own: Any = harness.store
    if hasattr(own, "hold_run") and not isinstance(own, MemoryStore):
        yield StoreRuns(own)
        return
    store = open_store(store_url)
    try:
        yield StoreRuns(store)
    finally:
        await store.close()


def limits_of(given: Sequence[str]) -> Limits:
    """Limits from `NAME=VALUE`.

    Raises:
        UsageError: A name or a value that is none.
    """
    names = {field.name for field in fields(Limits)}
    values: dict[str, Any] = {}
    for one in given:
        name, _, value = one.partition("=")
        if name not in names:
            raise UsageError(
                f"there is no limit {name!r}\n\nhint: the limits are: {', '.join(sorted(names))}"
            )
        try:
            values[name] = float(value) if name == "wall_s" else int(value)
        except ValueError as exc:
            raise UsageError(f"--limits {name}= wants a number, got {value!r}") from exc
    return Limits(**values)


def answer_of(text: str | None, approve: str | None, give_up: bool) -> Answer | None:
    """What a person says to a run that waits."""
    if approve is not None:
        return Answer.approve("" if approve == "any" else approve)
    if give_up:
        return Answer.give_up()
    return None if text is None else Answer.guide(text)


def command_to_go_on(run_id: str, **options: str | Sequence[str] | None) -> str:
    """The command that goes on with the run, from the same folder.

    Args:
        run_id: The run.
        options: Those that the run was begun with, by their names with underscores.
    """
    words = ["failsoft", "run", "--resume", run_id]
    for name, given in options.items():
        option = f"--{name.replace('_', '-')}"
        for value in (given,) if isinstance(given, str) else given or ():
            # A password in a URL or a command line is not repeated on a screen.
            words += [option, value if clean(value) == value else f"{option[2:].upper()}-AS-BEFORE"]
    return shlex.join(words)
