"""Isolation: where a body runs; the room of that name does the running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from failsoft.policies._checks import count, one_of, refuse

__all__ = ["MODES", "Isolation"]

MODES: Final = ("auto", "inline", "task", "thread", "process")


@dataclass(frozen=True, slots=True)
class Isolation:
    """Where, and with how much.

    Args:
        mode: `auto` (inline for async bodies, a thread for others), `inline`, `task`, `thread` or `process`.
        memory_mb: Limit of one process; default none.

    Raises:
        UsageError: A word that is none of these, or a memory limit without a process.
    """

    mode: str = "auto"
    memory_mb: int | None = None

    def __post_init__(self) -> None:
        one_of("Isolation.mode", self.mode, MODES)
        if self.memory_mb is not None:
            count("Isolation.memory_mb", self.memory_mb)
            if self.mode != "process":
                hint = "only a process has a memory of its own"
                raise refuse("Isolation.memory_mb", "left out unless mode='process'", self.memory_mb, hint)
