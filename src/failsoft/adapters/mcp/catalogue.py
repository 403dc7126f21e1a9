"""A server's tools, as it lists them, and the harness that they are called through.

A harness is made anew when the list has changed; calls that are under way keep the one they began with.
"""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failsoft.adapters.mcp.calls import NotYet
from failsoft.adapters.mcp.effects import ServerOptions, effects_of
from failsoft.adapters.mcp.headers import ToolHeaders
from failsoft.core.errors import UsageError
from failsoft.core.events import EventName
from failsoft.feedback import Feedback
from failsoft.harness.builder import HarnessWarning, default_store_url
from failsoft.harness.harness import Harness
from failsoft.stores import open_store
from failsoft.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from failsoft.core.events import Event
    from failsoft.ledger.port import LedgerStore
    from failsoft.policies import BreakerStats

__all__ = ["Catalogue", "make_tools"]

log = logging.getLogger("failsoft.mcp")

_ANY = {"type": "object"}


def make_tools(
    definitions: Iterable[Mapping[str, Any]],
    options: ServerOptions,
    body_of: Callable[[str], Callable[..., Awaitable[Any]]],
) -> list[Tool[..., Any]]:
    """Tools from a server's list. What cannot be made a tool is logged and left out.

    Args:
        definitions: As listed.
        options: What the user says of the server.
        body_of: Makes the function that calls the tool of that name.
    """
    made: dict[str, Tool[..., Any]] = {}
    for definition in definitions:
        name = definition.get("name")
        if isinstance(name, str) and name not in made:
            tool = _make(name, definition, options, body_of(name))
            if tool is not None:
                made[name] = tool
        else:
            log.warning("a tool without a name of its own is left out: %r", name)
    return list(made.values())


def _make(
    name: str, definition: Mapping[str, Any], options: ServerOptions, body: Callable[..., Awaitable[Any]]
) -> Tool[..., Any] | None:
    schema, description = definition.get("inputSchema"), definition.get("description")
    text = description if isinstance(description, str) else ""
    effects = effects_of(definition, options)
    problem: Exception | None = None
    # A schema of somebody else's may break every rule there is; what is wrong with it must not take the tool away.
    for candidate, words in ((schema, effects), (_ANY, effects), (_ANY, {})):
        try:
            tool: Tool[..., Any] = Tool.from_schema(name, candidate, body, description=text, **words)
        except Exception as exc:
            problem = problem or exc
            continue
        if problem is not None:
            dropped = "its schema" if words is effects else "its schema and what is said of its effects"
            log.warning("the tool %s is used without %s: %s", name, dropped, _first_line(problem))
        return tool
    log.warning("the tool %s is passed through as it is: %s", name, _first_line(problem))
    return None


def _first_line(problem: Exception | None) -> str:
    return str(problem).partition("\n")[0]


class Catalogue:
    """See the module.

    Args:
        scope: The harness's name, which is the scope of its ledger.
        options: What the user says of the server.
        body_of: Makes the function that calls the tool of that name.
        store: As for `Harness`; `auto` falls back to a file in the home folder where the working folder is read-only.
        config: As for `Harness`.
        feedback: How errors are told.
        shown_changed: Told when a tool's breaker has changed what is to be shown of it.
    """

    def __init__(
        self,
        scope: str,
        options: ServerOptions,
        body_of: Callable[[str], Callable[..., Awaitable[Any]]],
        *,
        store: str | LedgerStore = "auto",
        config: Any = "auto",
        feedback: Feedback = Feedback(),
        shown_changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.scope, self.options = scope, options
        self.definitions: dict[str, Mapping[str, Any]] = {}
        self.harness: Harness | None = None
        self.problem: UsageError | None = None
        self.foreign: set[str] = set()
        self.stale = True
        self._body_of = body_of
        self._store, self._config, self._feedback = store, config, feedback
        self._idle: set[str] = set()
        self._shown: dict[str, str] = {}
        self._old: list[Harness] = []
        self._shown_changed = shown_changed
        self._loop: asyncio.AbstractEventLoop | None = None
        self.headers = ToolHeaders()

    def take(self, definitions: Iterable[Any]) -> bool:
        """Use this whole list from now on; whether it differs from the one before."""
        listed: dict[str, Mapping[str, Any]] = {
            str(each.get("name")): each for each in definitions if isinstance(each, dict) and "name" in each
        }
        self.stale = False
        if self.harness is not None and listed == self.definitions:
            return False
        self.definitions, self.headers = listed, ToolHeaders()
        self.headers.learn({"result": {"tools": list(listed.values())}})
        tools = make_tools(listed.values(), self.options, self._body_of)
        self.foreign = set(listed) - {tool.name for tool in tools}
        if self._store == "auto":
            self._store = writable_store_url(tools)
        if isinstance(self._store, str):
            self._store = open_store(self._store)
        try:
            made = self._build(tools)
        except UsageError as exc:
            log.error("the tools of %s cannot be used: %s", self.scope, exc)  # noqa: TRY400 - the text says it all
            self.problem = exc
            return True
        if self.harness is not None:
            self._old.append(self.harness)
        self.harness, self.problem = made, None
        policies = made.policies()
        self._idle = {name for name, policy in policies.items() if policy.timeout.idle_s is not None}
        self._shown = {
            name: policy.when_open for name, policy in policies.items() if policy.when_open != "offer"
        }
        return True

    def _hear(self, event: Event) -> None:
        """A breaker that opens or closes changes the list where the policy wants it seen; a rest that is over does too."""
        if event.name is not EventName.BREAKER_CHANGED or self._loop is None or event.tool not in self._shown:
            return
        self._loop.call_soon_threadsafe(self._shown_changed)
        open_s = event.data.get("open_s")
        if isinstance(open_s, int | float):
            self._loop.call_soon_threadsafe(self._loop.call_later, open_s, self._shown_changed)

    def _build(self, tools: list[Tool[..., Any]]) -> Harness:
        self._loop = asyncio.get_running_loop()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HarnessWarning)
            made = Harness(
                tools,
                store=self._store,
                builtins=False,
                passthrough=(NotYet,),
                sinks=(self._hear,),
                name=self.scope,
                config=self._config,
                feedback=self._feedback,
            )
        for warning in caught:
            log.info("%s: %s", self.scope, warning.message)
        return made

    def waits_idle(self, name: str) -> bool:
        """Whether progress keeps a call of this tool alive, so that it is to be asked for."""
        return name in self._idle

    def open_breakers(self) -> dict[str, str]:
        """Tools whose breaker is open and whose policy wants that to be seen in the list: `describe` or `withhold`."""
        if self.harness is None or not self._shown:
            return {}
        return {
            tool.name: self._shown[tool.name]
            for tool in self.harness.stats().tools
            if tool.name in self._shown and any(map(_is_down, tool.breakers))
        }

    async def aclose(self) -> None:
        """Write what is to be written and let go of the store."""
        for harness in self._old:
            if harness.journal is not None:
                await harness.journal.close()
        if self.harness is not None:
            await self.harness.aclose()


def _is_down(breaker: BreakerStats) -> bool:
    """Whether it lets nobody through now; one whose rest is over waits for a call, so its tool must be seen."""
    return str(breaker.state) == "open" and breaker.retry_after_s != 0


def writable_store_url(tools: Iterable[Tool[..., Any]]) -> str:
    """Where the ledger is kept: as `Harness` does it, or in the home folder where that cannot be written.

    Desktop clients start servers in the root folder.
    """
    url = default_store_url(tools)
    if not url.startswith("sqlite:///") or os.environ.get("FAILSOFT_HOME"):
        return url
    folder = Path(url.removeprefix("sqlite:///")).parent
    if os.access(folder if folder.exists() else folder.parent, os.W_OK) and folder.parent != Path("/"):
        return url
    home = Path.home() / ".failsoft" / "failsoft.db"
    log.warning("the working folder is not used for the ledger, which is %s", home)
    return f"sqlite:///{home}"
