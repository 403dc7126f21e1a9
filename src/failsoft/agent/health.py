"""Tells the model once that a tool is down, and once that it may be tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.core.kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.core.results import ToolResult

__all__ = ["Health"]


class Health:
    """Which tools are down, as far as this run has noticed.

    Args:
        now: Monotonic seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._down: dict[str, float] = {}

    def learn(self, results: Sequence[ToolResult]) -> list[str]:
        """Notes for the model about tools that went down or came back."""
        notes = []
        for result in results:
            note = self._learn(result.call.name, result)
            if note:
                notes.append(note)
        now = self._now()
        for name in [name for name, until in self._down.items() if until <= now]:
            del self._down[name]
            notes.append(f"{name} was down; it may be tried again now.")
        return notes

    def _learn(self, name: str, result: ToolResult) -> str:
        error = result.error
        if error is None:
            return f"{name} works again." if self._down.pop(name, None) is not None else ""
        if error.kind != ErrorKind.CIRCUIT_OPEN:
            return ""
        known = name in self._down
        wait_s = error.retry_after_s if error.retry_after_s is not None else float("inf")
        self._down[name] = self._now() + wait_s
        if known:
            return ""
        when = f" for about {wait_s:.0f} s" if wait_s != float("inf") else ""
        return f"{name} is down{when}: calls of it are refused. Use another way meanwhile; you will be told when it is back."
