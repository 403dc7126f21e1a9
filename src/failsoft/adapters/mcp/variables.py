"""`${NAME}` in what a user writes: from the environment, so that a secret need not stand in a file or on a command line."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["expanded", "expanded_table", "expanded_where_set", "missing"]

# As the clients write it: Claude Code's ${NAME} and ${NAME:-default}, VS Code's and Cursor's ${env:NAME}.
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ASKED: Final = re.compile(r"\$\{(?:input|command):[^}]*\}")


def missing(text: str) -> str | None:
    """The first variable that is neither set nor has a default."""
    for found in _VARIABLE.finditer(text):
        if found[1] not in os.environ and found[2] is None:
            return found[1]
    return None


def expanded(text: str, where: str) -> str:
    """The text with its variables' values.

    Raises:
        UsageError: A variable is not set.
    """
    name = missing(text)
    if name is not None:
        raise UsageError(
            f"{where}: the environment has no {name}\n\n"
            f"hint: set it where failsoft is started, such as in the client's `env`, or write ${{{name}:-default}}"
        )
    asked = _ASKED.search(text)
    if asked is not None:
        raise UsageError(
            f"{where}: {asked[0]} is asked of a person by an editor, which failsoft cannot do\n\n"
            "hint: write ${NAME}, and set NAME in the environment"
        )
    return expanded_where_set(text)


def expanded_where_set(text: str) -> str:
    """The same; variables that are not set stay as they are written."""

    def value(found: re.Match[str]) -> str:
        return os.environ.get(found[1], found[0] if found[2] is None else found[2])

    return _VARIABLE.sub(value, text)


def expanded_table(table: Mapping[str, str], where: str) -> dict[str, str]:
    """A table's values with their variables' values.

    Raises:
        UsageError: A variable is not set.
    """
    return {name: expanded(value, f"{where}: {name}") for name, value in table.items()}
