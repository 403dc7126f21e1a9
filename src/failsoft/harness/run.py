"""A run: one task of an agent, whose calls share an id, a ledger scope and a retry budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from failsoft.core.context import new_id
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.core.calls import Progress, ToolCall
    from failsoft.core.results import ToolResult
    from failsoft.harness.batch import StopOn
    from failsoft.harness.harness import Harness
    from failsoft.harness.options import CallOptions
    from failsoft.policies import RetryBudgetState
    from failsoft.tools import Tool

__all__ = ["Run"]


class Run:
    """Made by `harness.run()`; use it as `async with harness.run() as run: await run.call(...)`.

    Args:
        harness: Whose tools it calls.
        id: Its id; one is made where none is given.
        scope: Whose calls may be confused with whose; the harness's name by default.
    """

    def __init__(self, harness: Harness, id: str | None = None, scope: str | None = None) -> None:
        self.harness = harness
        self.id = id or new_id("run")
        self.scope = scope or harness.name
        self.retry_budget: RetryBudgetState | None = harness.new_run_budget()

    async def call(
        self,
        tool: Tool[..., Any] | Callable[..., Any] | str,
        arguments: Any = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult:
        """`Harness.call` within this run; takes the same options, but for `run`."""
        if "run" in options:
            raise UsageError("a call of a run takes no other run\n\nhint: harness.call(..., run=...)")
        options["run"] = self
        return await self.harness.call(tool, arguments, **options)

    async def call_all(
        self,
        calls: Sequence[ToolCall],
        *,
        roles: Sequence[str] = (),
        deadline_s: float | None = None,
        max_parallel: int | None = None,
        stop_on: StopOn | None = None,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> list[ToolResult]:
        """`Harness.call_all` within this run."""
        return await self.harness.call_all(
            calls,
            run=self,
            roles=roles,
            deadline_s=deadline_s,
            max_parallel=max_parallel,
            stop_on=stop_on,
            on_progress=on_progress,
        )

    async def __aenter__(self) -> Self:
        self.harness.open_run(self)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.harness.close_run(self)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, scope={self.scope!r})"
