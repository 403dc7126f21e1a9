"""AgentDojo's four suites as worlds, without its injections: `agentdojo` 0.1.35, version v1.2.2 of the suites.

Its clients of language models are not imported: the package that would import them is given without running it.
Time stands still for its records, and the log of visited pages is not compared: reading a page twice leaves nothing.
"""

from __future__ import annotations

import copy
import datetime
import importlib
import sys
import types
from typing import Any

from bench.chaos.fetch import fetched
from bench.chaos.world import Task, World, plain

__all__ = ["load_agentdojo"]

VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")
# What each tool that changes something is: True where doing it twice leaves what doing it once leaves.
_WRITES = {
    "add_calendar_event_participants": False,
    "add_user_to_channel": False,
    "append_to_file": False,
    "cancel_calendar_event": False,
    "create_calendar_event": False,
    "create_file": False,
    "delete_email": False,
    "delete_file": False,
    "get_unread_emails": True,
    "invite_user_to_slack": False,
    "post_webpage": True,
    "remove_user_from_slack": False,
    "reschedule_calendar_event": False,
    "reserve_car_rental": False,
    "reserve_hotel": False,
    "reserve_restaurant": False,
    "schedule_transaction": False,
    "send_channel_message": False,
    "send_direct_message": False,
    "send_email": False,
    "send_money": False,
    "share_file": True,
    "update_password": True,
    "update_scheduled_transaction": True,
    "update_user_info": True,
}
# What shows a change: a tool, and for each of its arguments the argument of the call that it is taken from.
_LOOKS: dict[str, tuple[str, dict[str, str]]] = {
    "add_calendar_event_participants": ("search_calendar_events", {}),
    "add_user_to_channel": ("get_users_in_channel", {"channel": "channel"}),
    "append_to_file": ("get_file_by_id", {"file_id": "file_id"}),
    "cancel_calendar_event": ("get_sent_emails", {}),
    "create_calendar_event": ("get_day_calendar_events", {"day": "start_time"}),
    "create_file": ("search_files_by_filename", {"filename": "filename"}),
    "delete_email": ("get_received_emails", {}),
    "delete_file": ("get_file_by_id", {"file_id": "file_id"}),
    "invite_user_to_slack": ("read_inbox", {"user": "user"}),
    "post_webpage": ("get_webpage", {"url": "url"}),
    "remove_user_from_slack": ("read_inbox", {"user": "user"}),
    "reschedule_calendar_event": ("get_sent_emails", {}),
    "schedule_transaction": ("get_scheduled_transactions", {}),
    "send_channel_message": ("read_channel_messages", {"channel": "channel"}),
    "send_direct_message": ("read_inbox", {"user": "recipient"}),
    "send_email": ("get_sent_emails", {}),
    "send_money": ("get_most_recent_transactions", {}),
    "share_file": ("get_file_by_id", {"file_id": "file_id"}),
    "update_scheduled_transaction": ("get_scheduled_transactions", {}),
    "update_user_info": ("get_user_info", {}),
}
_FIXED = {"search_calendar_events": {"query": ""}, "get_most_recent_transactions": {"n": 100}}
_UNCOMPARED = {"web": {"web_requests"}}


class DojoWorld(World):
    """One suite of AgentDojo; only the parts of its environment that a call writes to are copied.

    Args:
        suite: As AgentDojo gives it.
    """

    def __init__(self, suite: Any) -> None:
        super().__init__("agentdojo", suite.name)
        self._functions = {function.name: function for function in suite.tools}
        self._pristine = suite.load_and_inject_default_environment({})
        self._parts = {name: self._dumped(self._pristine, name) for name in type(self._pristine).model_fields}
        self._raw_tasks = suite.user_tasks
        for name, function in self._functions.items():
            schema = function.parameters.model_json_schema()
            self.offer(name, function.description, schema, name not in _WRITES, _WRITES.get(name, False))
        self.restart()

    def begin(self) -> None:
        """The environment as it was at the beginning."""
        self._environment = self._pristine.model_copy()
        self._own: set[str] = set()

    def use(self, name: str, arguments: dict[str, Any]) -> Any:
        """Check the arguments and run the function, as AgentDojo's own runtime does."""
        function = self._functions[name]
        given = function.parameters.model_validate(arguments).model_dump()
        needed = {key: depends.env_dependency for key, depends in function.dependencies.items()}
        for part in needed.values():
            if part not in self._own and (name in _WRITES or part in _UNCOMPARED):
                self._own.add(part)
                setattr(self._environment, part, copy.deepcopy(getattr(self._pristine, part)))
        return plain(
            function.run(**given, **{key: getattr(self._environment, at) for key, at in needed.items()})
        )

    def meant(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """As the function's parameters read them; as they are where they cannot be read."""
        try:
            read = self._functions[name].parameters.model_validate(arguments).model_dump(mode="json")
        except ValueError:
            return arguments
        return {key: read[key] for key in arguments if key in read}

    def changes(self) -> dict[str, Any]:
        """Parts of the environment that differ from the beginning."""
        found = {part: self._dumped(self._environment, part) for part in sorted(self._own)}
        return {part: now for part, now in found.items() if now != self._parts[part]}

    def look_of(self, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The tool that shows what a call changes."""
        if name not in _LOOKS or _LOOKS[name][0] not in self._functions:
            return None
        tool, taken = _LOOKS[name]
        asked = {key: arguments[at] for key, at in taken.items()} | _FIXED.get(tool, {})
        if "day" in asked:
            asked["day"] = str(asked["day"])[:10]
        return tool, asked

    def tasks(self) -> list[Task]:
        """The suite's user tasks."""
        found = []
        for id_, raw in self._raw_tasks.items():
            calls = raw.ground_truth(self._pristine.model_copy(deep=True))
            found.append(self.task(id_, [(call.function, dict(call.args)) for call in calls]))
        return [task for task in found if task.steps]

    @staticmethod
    def _dumped(environment: Any, part: str) -> Any:
        return getattr(environment, part).model_dump(mode="json", exclude=_UNCOMPARED.get(part))


class _StandingTime(datetime.datetime):
    """A clock that stands still, for records that note when they were made."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return datetime.datetime(2024, 6, 1, 12, tzinfo=tz)


def load_agentdojo() -> list[World]:
    """The four suites."""
    folder = fetched("agentdojo")
    package = types.ModuleType("agentdojo.agent_pipeline")
    package.__path__ = [str(folder / "agent_pipeline")]
    unused = types.ModuleType("agentdojo.agent_pipeline.ground_truth_pipeline")
    unused.GroundTruthPipeline = None  # type: ignore[attr-defined]
    sys.modules.update({package.__name__: package, unused.__name__: unused})
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(VERSION)
    standing = types.SimpleNamespace(datetime=_StandingTime)
    for name in ("email_client", "cloud_drive_client"):
        importlib.import_module(f"agentdojo.default_suites.v1.tools.{name}").datetime = standing  # type: ignore[attr-defined]
    return [DojoWorld(suites[name]) for name in SUITES]
