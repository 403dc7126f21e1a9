"""Reads a docstring: what the tool does, and what each parameter means."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

__all__ = ["Docs", "read_docs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Docs:
    """What a docstring says.

    Args:
        description: Everything before the parameters, and what is returned.
        params: Description by parameter name.
    """

    description: str = ""
    params: dict[str, str] = field(default_factory=dict)


def read_docs(text: str | None) -> Docs:
    """The parts of a docstring in Google, NumPy, reST or Epydoc style.

    A docstring that no style can read is the description as it stands.
    """
    if not text or not text.strip():
        return Docs()
    clean = inspect.cleandoc(text)
    if "\n" not in clean:
        return Docs(description=clean)
    # Imported when there is something to parse: importing failsoft has a budget.
    import docstring_parser

    try:
        parsed = docstring_parser.parse(clean)
    except docstring_parser.ParseError:
        return Docs(description=clean)
    parts = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    returns = parsed.returns
    if returns is not None and returns.description and not returns.is_generator:
        parts.append(f"Returns: {_one_line(returns.description)}")
    params = {
        item.arg_name.lstrip("*"): _one_line(item.description) for item in parsed.params if item.description
    }
    return Docs(description="\n\n".join(parts), params=params)


def _one_line(text: str) -> str:
    return " ".join(text.split())
