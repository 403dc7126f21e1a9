"""What a task suite must give: tools over a state that can be begun afresh, ground-truth calls, and what they must leave.

Calls that fail in the plain replay of the ground truth are left out, because nobody says what must come of them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.chaos.faults import Transport

__all__ = ["Look", "Step", "Task", "World", "WorldTool", "load_worlds", "plain"]


@dataclass(frozen=True, kw_only=True)
class WorldTool:
    """One tool of a task.

    Args:
        name: Its name.
        description: For the model.
        schema: JSON Schema of its arguments.
        read_only: Whether it changes nothing.
        idempotent: Whether doing it twice leaves what doing it once leaves.
        fn: Makes one request; takes the arguments as keywords, gives text, raises what an HTTP client raises.
    """

    name: str
    description: str
    schema: dict[str, Any]
    read_only: bool
    idempotent: bool
    fn: Callable[..., Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How to find out whether a step has happened.

    Args:
        tool: The tool that reads what the step changes.
        arguments: Its arguments.
        before: What it answers before the step; None where it is refused.
        after: What it answers after it; None where it is refused.
    """

    tool: str
    arguments: dict[str, Any]
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One ground-truth call.

    Args:
        name: The tool.
        arguments: Its arguments.
        writes: Whether it changes anything.
        effect: The step as it is counted.
        idempotent: Whether doing it twice leaves what doing it once leaves.
        look: How to find out whether it has happened; None where nothing shows it.
    """

    name: str
    arguments: dict[str, Any]
    writes: bool
    effect: str = ""
    idempotent: bool = False
    look: Look | None = None


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task: its calls, and what differs from the beginning when all of them were done once."""

    id: str
    domain: str
    steps: tuple[Step, ...]
    final: dict[str, Any]


class World(ABC):
    """One domain: its tools over a state that can be begun afresh.

    Args:
        suite: Whose it is, such as `tau2`.
        domain: Its name there.
    """

    def __init__(self, suite: str, domain: str) -> None:
        self.suite, self.domain = suite, domain
        self.done: list[str] = []
        self.transport: Transport | None = None
        self.tools: dict[str, WorldTool] = {}

    def offer(self, name: str, description: str, schema: dict[str, Any], read_only: bool, idem: bool) -> None:
        """Add a tool; its body sends through the transport of the task that runs."""

        async def send(**arguments: Any) -> str:
            assert self.transport is not None
            return await self.transport.send(name, arguments)

        self.tools[name] = WorldTool(
            name=name,
            description=description,
            schema=schema,
            read_only=read_only,
            idempotent=idem or read_only,
            fn=send,
        )

    def restart(self) -> None:
        """The state as it was at the beginning."""
        self.done = []
        self.begin()

    def act(self, name: str, arguments: dict[str, Any]) -> str:
        """Run a tool of the domain; its answer as text.

        Raises:
            ValueError: The domain says no.
        """
        try:
            answer = self.use(name, arguments)
        except Exception as exc:
            raise ValueError(str(exc) or type(exc).__name__) from exc
        if not self.tools[name].read_only:
            self.done.append(self.effect(name, arguments))
        return answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True, default=str)

    def effect(self, name: str, arguments: dict[str, Any]) -> str:
        """A call as it is counted: the same for all ways to write the same arguments."""
        return f"{name} {json.dumps(self.meant(name, arguments), sort_keys=True, default=str)}"

    def meant(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the domain takes them."""
        return arguments

    @abstractmethod
    def begin(self) -> None:
        """Put the state back."""

    @abstractmethod
    def use(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool; its answer as plain data. Raises what the domain raises."""

    @abstractmethod
    def changes(self) -> dict[str, Any]:
        """What differs from the beginning."""

    @abstractmethod
    def look_of(self, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The call that shows what a call changes, if there is one."""

    @abstractmethod
    def tasks(self) -> list[Task]:
        """The domain's tasks that make at least one call."""

    def task(self, id_: str, calls: Iterable[tuple[str, dict[str, Any]]]) -> Task:
        """A task from its calls: they are made once, to see what they leave."""
        self.restart()
        steps = [self._step(name, arguments) for name, arguments in calls]
        kept = tuple(step for step in steps if step is not None)
        name = f"{self.suite}:{self.domain}:{id_}"
        return Task(id=name, domain=self.domain, steps=kept, final=self.changes())

    def _step(self, name: str, arguments: dict[str, Any]) -> Step | None:
        tool = self.tools[name]
        shown = self.look_of(name, arguments) if not tool.read_only else None
        changed = self.changes()
        before = self._seen(shown)
        try:
            self.act(name, arguments)
        except ValueError:
            return None
        if tool.read_only and self.changes() != changed:
            raise AssertionError(f"{name} of {self.domain} is called read-only here, and changed something")
        after = self._seen(shown)
        look = None
        if shown is not None and before != after:
            look = Look(tool=shown[0], arguments=shown[1], before=before, after=after)
        return Step(
            name=name,
            arguments=arguments,
            writes=not tool.read_only,
            effect=self.effect(name, arguments),
            idempotent=tool.idempotent,
            look=look,
        )

    def _seen(self, shown: tuple[str, dict[str, Any]] | None) -> str | None:
        if shown is None:
            return None
        try:
            return self.act(*shown)
        except ValueError:
            return None


def plain(value: Any) -> Any:
    """Plain data from a domain's records."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def load_worlds() -> list[World]:
    """All domains; their suites are fetched where they are not there."""
    from bench.chaos.agentdojo import load_agentdojo
    from bench.chaos.tau2 import load_tau2

    return [*load_tau2(), *load_agentdojo()]
