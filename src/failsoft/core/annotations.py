"""What a tool says of its effects, in MCP's terms, and what follows from it.

Source of the four words: the Model Context Protocol, `ToolAnnotations`.
`None` means "not declared", which is a third state of its own: see `Standing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CATEGORY_ANNOTATIONS", "Annotations", "Standing"]


class Standing(StrEnum):
    """How careful the runtime is with a tool's effects."""

    REPEATABLE = "repeatable"
    PROTECTED = "protected"
    UNDECLARED = "undeclared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Effects as declared: True, False or None (not declared)."""

    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None

    @property
    def standing(self) -> Standing:
        """Repeatable, protected, or undeclared."""
        if self.read_only or self.idempotent:
            return Standing.REPEATABLE
        if self.read_only is False or self.idempotent is False or self.destructive:
            return Standing.PROTECTED
        return Standing.UNDECLARED


CATEGORY_ANNOTATIONS: dict[str, dict[str, bool]] = {
    "query": {"read_only": True},
    "compute": {"read_only": True},
    "write": {"read_only": False},
    "communicate": {"idempotent": False},
    "dangerous": {"destructive": True},
}
