"""The tools of MCP servers for a harness of one's own: started, listed, called and ended.

async with mcp_tools("npx -y some-server /data") as tools, Harness(tools) as harness: ...
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.effects import ServerOptions
from failsoft.adapters.mcp.running import label_of
from failsoft.adapters.mcp.toolserver import ToolServer
from failsoft.core.errors import UsageError
from failsoft.harness.builtins import BUILTIN_NAMES
from failsoft.tools import Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

__all__ = ["McpTools", "mcp_tools", "spec_for"]

log = logging.getLogger("failsoft.mcp")

_JOINT = "__"
_HINT = "hint: mcp_tools('npx -y some-server /data'), mcp_tools('https://example.com/mcp')"


class McpTools(Sequence[Tool[..., Any]]):
    """Tools of servers, and tools of one's own beside them: `tools.plus(own)`.

    A list for `Harness(...)`, that stays right: what a server changes in its list is taken over by
    `harness.refresh_tools()`, which an agent asks for before each of its turns.
    A tool whose name is used twice is called `server__name`; tools of one's own keep theirs.
    """

    def __init__(self, servers: Sequence[ToolServer], own: Sequence[Tool[..., Any]] = ()) -> None:
        self._servers, self._own = tuple(servers), tuple(own)
        self._versions: tuple[int, ...] = ()
        self._tools: tuple[Tool[..., Any], ...] = ()
        self._take()

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers' names."""
        return tuple(server.spec.name for server in self._servers)

    @property
    def instructions(self) -> str:
        """What the servers say of how they are to be used, for an agent's `system`; empty where they say nothing."""
        told = [(server.spec.name, server.instructions) for server in self._servers if server.instructions]
        return "\n\n".join(f"{name}: {text}" for name, text in told)

    async def refresh(self) -> bool:
        """Read the lists of those servers again that have told of a change, or were started again.

        Returns:
            Whether there are other tools now.
        """
        await asyncio.gather(*(server.renew() for server in self._servers))
        return self._take()

    def _take(self) -> bool:
        versions = tuple(server.version for server in self._servers)
        if versions == self._versions:
            return False
        before, self._versions, self._tools = self._tools, versions, (*self._named(), *self._own)
        return before != self._tools

    def _named(self) -> list[Tool[..., Any]]:
        """Every server's tools, under names that tell them apart."""
        taken = {tool.name for tool in self._own} | BUILTIN_NAMES
        used = Counter(tool.name for server in self._servers for tool in server.tools)
        found: list[Tool[..., Any]] = []
        for server in self._servers:
            for tool in server.tools:
                clashes = used[tool.name] > 1 or tool.name in taken
                name = f"{server.spec.name}{_JOINT}{tool.name}" if clashes else tool.name
                if name in taken:
                    log.warning("the tool %s of %s is left out: its name is taken", name, server.spec.name)
                    continue
                taken.add(name)
                found.append(server.named(tool, name))
        return found

    def plus(self, *own: Tool[..., Any] | Callable[..., Any]) -> McpTools:
        """The same with tools of one's own, as one list that stays right; `[*tools, own]` would not follow changes."""
        made = [each if isinstance(each, Tool) else Tool.from_function(each) for each in own]
        return McpTools(self._servers, (*self._own, *made))

    @overload
    def __getitem__(self, place: int) -> Tool[..., Any]: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Tool[..., Any], ...]: ...

    def __getitem__(self, place: int | slice) -> Tool[..., Any] | tuple[Tool[..., Any], ...]:
        return self._tools[place]

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"McpTools({', '.join(tool.name for tool in self._tools)})"


@asynccontextmanager
async def mcp_tools(
    *servers: str | Sequence[str] | ServerSpec,
    options: ServerOptions = ServerOptions(),
    env: Mapping[str, str] | None = None,
    start_s: float = 60.0,
) -> AsyncIterator[McpTools]:
    """Start MCP servers, give their tools, and end them with everything that they have started.

    Calls go through the harness that the tools are given to. Annotations and `options` say what a tool does; a server
    that ends is started again; a call that was under way then has an effect that is possible, where the tool acts.

    Args:
        servers: Each a command line, as text (split like a shell does, and run without one) or as a list; a URL; or a
            `ServerSpec`, such as `load_servers("mcp.json")` gives.
        options: What is said of the tools of servers that are no `ServerSpec`.
        env: Added to the environment of such servers.
        start_s: Seconds for a server to start and to list its tools; one that is installed first needs many.

    Raises:
        AgentError: A server cannot be used; the message says which and why.
        UsageError: There is none, or a command line that is none.
    """
    specs = _distinct([spec_for(server, options, env) for server in servers])
    made = [ToolServer(spec) for spec in specs]
    try:
        await _start(made, start_s)
        yield McpTools(made)
    finally:
        await asyncio.gather(*(server.aclose() for server in made))


async def _start(servers: Sequence[ToolServer], start_s: float) -> None:
    """Start all at once; the first that cannot be used ends the waiting for the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(server.start(start_s))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures


def spec_for(
    server: str | Sequence[str] | ServerSpec,
    options: ServerOptions = ServerOptions(),
    env: Mapping[str, str] | None = None,
) -> ServerSpec:
    """A server from a command line, as text or as a list, or from a URL; a `ServerSpec` is one already.

    Raises:
        UsageError: It is none of them.
    """
    if isinstance(server, ServerSpec):
        return server
    if isinstance(server, str) and server.startswith(("http://", "https://")):
        return ServerSpec(name=label_of((server,)), url=server, options=options)
    argv = _words(server)
    return ServerSpec(name=label_of(argv), argv=argv, env=env or {}, options=options)


def _words(command: Any) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            words: Sequence[Any] = shlex.split(command)
        except ValueError as exc:
            raise UsageError(
                f"an MCP server is a command line or a URL, got {command!r}: {exc}\n\n{_HINT}"
            ) from exc
    else:
        words = command if isinstance(command, Sequence) and not isinstance(command, bytes) else ()
    if not words or not all(isinstance(word, str) for word in words):
        raise UsageError(f"an MCP server is a command line or a URL, got {command!r}\n\n{_HINT}")
    return tuple(words)


def _distinct(specs: list[ServerSpec]) -> list[ServerSpec]:
    """Names that tell the servers apart, also where one is started twice."""
    if not specs:
        raise UsageError(f"mcp_tools wants a server, got none\n\n{_HINT}")
    used: Counter[str] = Counter()
    made = []
    for spec in specs:
        used[spec.name] += 1
        again = used[spec.name] > 1
        made.append(replace(spec, name=f"{spec.name}-{used[spec.name]}") if again else spec)
    return made
