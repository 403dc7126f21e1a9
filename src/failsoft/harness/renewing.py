"""Tools that may change while a harness lives, such as the list of an MCP server."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.harness import watch
from failsoft.harness.builder import equip
from failsoft.harness.looking import Looking
from failsoft.harness.misuse import tools_of
from failsoft.tools import Registry

if TYPE_CHECKING:
    from failsoft.harness.plan import Plan
    from failsoft.harness.runners import Runners
    from failsoft.stores.fleet import FleetLink

__all__ = ["Renewing"]

log = logging.getLogger("failsoft")


class Renewing(Looking):
    """The part of `Harness` that takes over what has changed in the source of its tools."""

    _source: Any
    _runners: Runners
    _fleet: FleetLink | None
    _watches: bool
    renewals: int = 0
    """How often the tools have changed: what was made of `schemas` holds for one number."""

    async def refresh_tools(self) -> bool:
        """Take over what has changed where the tools come from; an agent asks for it before each of its turns.

        Tools that were handed in as something with `async def refresh() -> bool`, such as `mcp_tools`, may change;
        a plain list does not. What did not change keeps its breaker and its counts; calls under way keep the tool that
        they began with. Tools that cannot work together are logged, and the old ones stay.

        Returns:
            Whether there are other tools now, so that `schemas` is to be asked again; where several work with one
            harness, only the first is told, and `renewals` tells them all.
        """
        refresh = getattr(self._source, "refresh", None)
        # Somebody's list may have a method of that name which means something else.
        if not inspect.iscoroutinefunction(refresh) or not await refresh():
            return False
        shared, before = self._shared, self._shared.plans
        try:
            fresh = equip(shared, Registry(tools_of(self._source)), self._runners)
        except UsageError as exc:
            log.error("the changed tools cannot be used, the old ones stay: %s", exc)  # noqa: TRY400 - the text says it all
            return False
        gone = [plan for name, plan in before.items() if shared.plans.get(name) is not plan]
        shared.retired = [plan for plan in (*shared.retired, *gone) if plan.alarms.armed()]
        self._connect(fresh)
        self.renewals += 1
        return True

    def _connect(self, fresh: list[Plan]) -> None:
        """What the builder of a harness does for its first tools."""
        if self._watches:
            watch.prepare(self._shared)
        if self._fleet is not None:
            from failsoft.harness.fleet import join_plan  # whoever has no fleet does not load it

            for plan in fresh:
                join_plan(plan, self._fleet)
