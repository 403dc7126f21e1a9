"""`UNSET`: not said, so the next layer decides. Different from None, which says "off"."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["UNSET", "Unset"]


class Unset(Enum):
    """The type of `UNSET`; an enumeration of one, so that type checkers can tell it apart."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = Unset.UNSET
