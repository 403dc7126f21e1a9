"""Writes the tables in docs/reference/policies/ from the code: options with their defaults, and the defaults of a tool.

./run py docs/tools/policy_pages.py            writes the tables between their marks
./run py docs/tools/policy_pages.py --check    fails where a table is not what the code says

A mark is a comment, such as `<!-- options: Retry -->`; its table ends at `<!-- end -->`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docstring_parser

from failsoft import policies
from failsoft.core.annotations import Standing
from failsoft.policies import UNSET, defaults, presets, resolve, stack
from failsoft.policies.outcome import outcome_of

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "policies"
_MARK = re.compile(r"(<!-- (\w+)(?:: (\w+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return (
        "\n"
        + "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines)
        + "\n"
    )


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "needed"
    if value is None or value is UNSET or value in ("", ()):
        return "–"
    return (
        f"`{value}`" if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    )


def options(name: str) -> str:
    """The options of a record, as its docstring and its signature say."""
    record = getattr(policies, name)
    told = {p.arg_name: p.description or "" for p in docstring_parser.parse(record.__doc__ or "").params}
    parameters = inspect.signature(record).parameters
    rows = [(f"`{p}`", _default(parameters[p].default), " ".join(told[p].split())) for p in parameters]
    return _table(("option", "default", "meaning"), rows)


def table(_: str) -> str:
    """What holds for a tool about which nobody has said anything."""
    return _table(("what", "default", "why"), list(defaults.table()))


def nesting(_: str) -> str:
    """The nesting with everything on."""
    everything = policies.Policy(fallback="other_tool", rate="30/minute", bulkhead=4)
    shown = stack.describe(resolve(tool=everything, standing=Standing.REPEATABLE))
    return f"\n```text\n{shown}\n```\n\n"


def outcomes(_: str) -> str:
    """What each kind of failure is to a breaker."""
    from failsoft.core.errors import make_error
    from failsoft.core.kinds import KIND_DEFAULTS

    by: dict[str, list[str]] = {"hard": [], "failure": [], "ignored": []}
    for kind in KIND_DEFAULTS:
        by[outcome_of(make_error(kind))].append(f"`{kind}`")
    return _table(("outcome", "kinds"), [(name, ", ".join(kinds)) for name, kinds in by.items()])


def ready(_: str) -> str:
    """The presets with the first lines of what they say of themselves."""
    rows = []
    for name in presets.__all__:
        text = " ".join((inspect.getdoc(getattr(presets, name)) or "").split())
        rows.append((f"`{name}()`", text))
    return _table(("preset", "for"), rows)


MAKERS: dict[str, Callable[[str], str]] = {
    "options": options,
    "defaults": table,
    "nesting": nesting,
    "outcomes": outcomes,
    "presets": ready,
}


def written(text: str) -> str:
    """The page with every table made anew."""
    return _MARK.sub(lambda found: found[1] + MAKERS[found[2]](found[3] or "") + found[4], text)


def main(check: bool) -> int:
    """Write all pages, or say which ones are not what the code says."""
    stale = []
    for page in sorted(FOLDER.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if before != after:
            stale.append(page.name)
            if not check:
                page.write_text(after, encoding="utf-8")
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'nothing'}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
