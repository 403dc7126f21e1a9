"""Where bodies run: one pool of each kind a harness, started when the first tool needs it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.isolation.task import TaskRunner
from failsoft.isolation.thread import ThreadRunner

if TYPE_CHECKING:
    from failsoft.core.ports import Runner
    from failsoft.isolation.process import ProcessRunner
    from failsoft.policies import EffectivePolicy
    from failsoft.tools import Tool

__all__ = ["Runners"]


class Runners:
    """The pools of one harness.

    Args:
        name: The harness's name; threads are called after it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.thread: ThreadRunner | None = None
        self.tasks: dict[float, TaskRunner] = {}
        self.processes: dict[int | None, ProcessRunner] = {}

    def runner_for(self, tool: Tool[..., Any], policy: EffectivePolicy) -> Runner | None:
        """The runner of a tool's bodies; None for bodies that run in the caller's task.

        Raises:
            UsageError: The tool cannot run where it should.
        """
        is_async = tool.is_async or tool.is_async_generator
        mode = policy.isolation.mode
        if mode == "auto":
            mode = "inline" if is_async else "thread"
        if mode in ("inline", "task") and not is_async:
            raise UsageError(
                f"tool {tool.name!r} is synchronous and would block the event loop with isolation={mode!r}"
                "\n\nhint: use 'thread' or 'process', or make it async"
            )
        if mode == "thread" and is_async:
            raise UsageError(
                f"tool {tool.name!r} is async and cannot run in a thread\n\nhint: use 'inline', 'task' or 'process'"
            )
        if mode == "inline":
            return None
        if mode == "task":
            return self.tasks.setdefault(policy.timeout.grace_s, TaskRunner(grace_s=policy.timeout.grace_s))
        if mode == "thread":
            if self.thread is None:
                self.thread = ThreadRunner(name=f"failsoft-{self._name}")
            return self.thread
        return self._process(tool, policy)

    def _process(self, tool: Tool[..., Any], policy: EffectivePolicy) -> Runner:
        if sys.platform == "win32":
            raise UsageError(
                f"tool {tool.name!r}: isolation='process' does not work on Windows\n\nhint: use 'thread'"
            )
        from failsoft.isolation.process import ProcessRunner

        memory_mb = policy.isolation.memory_mb
        runner = self.processes.get(memory_mb)
        if runner is None:
            runner = self.processes[memory_mb] = ProcessRunner(memory_mb=memory_mb)
        runner.prepare(tool.fn)
        return runner

    def begin(self) -> None:
        """Have the first worker processes made, without waiting for them."""
        for runner in self.processes.values():
            runner.begin()

    async def aclose(self, grace_s: float) -> None:
        """End every pool; see `Runner.aclose`."""
        everyone: list[Runner] = [*self.tasks.values(), *self.processes.values()]
        if self.thread is not None:
            everyone.append(self.thread)
        await asyncio.gather(*(runner.aclose(grace_s) for runner in everyone))
