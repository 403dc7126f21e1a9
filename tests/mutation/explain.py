"""Why a mutant may live: reading `survivors.toml`, and finding the entry that fits a survivor.

A mutant's number changes with every edit of its function, so an entry names the function and a part of the change.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

FILE = Path(__file__).with_name("survivors.toml")
CLASSES = ("equal", "wording", "speed", "unreachable")
_NAME = re.compile(r"\.x(?:ǁ(\w+)ǁ|_)(\w+)__mutmut_\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One entry.

    Args:
        file: The source file's name without `.py`.
        function: Its function or `Class.method`; `*` stands for any letters.
        change: Parts of the change, one of which must occur in it; none fits every change of the function.
        kind: One of `CLASSES`.
        why: One sentence.
    """

    file: str
    function: str
    change: tuple[str, ...]
    kind: str
    why: str

    def fits(self, file: str, function: str, change: str) -> bool:
        """Whether this is the reason of that survivor."""
        return (
            file == self.file
            and fnmatchcase(function, self.function)
            and (not self.change or any(part in change for part in self.change))
        )


def function_of(mutant: str) -> str:
    """`Breaker.start` for `failsoft.policies.breaker.xǁBreakerǁstart__mutmut_3`."""
    match = _NAME.search(mutant)
    if match is None:
        return mutant
    return f"{match[1]}.{match[2]}" if match[1] else match[2]


def change_of(diff: str) -> str:
    """The changed lines of a diff, each with its sign, without indentation."""
    return "\n".join(
        f"{line[0]} {line[1:].strip()}"
        for line in diff.splitlines()
        if line[:1] in "-+" and line[:3] not in ("---", "+++") and line[1:].strip()
    )


def read(text: str | None = None) -> list[Reason]:
    """All entries.

    Raises:
        ValueError: An entry that lacks something or says something unknown.
    """
    reasons = []
    for file, rows in tomllib.loads(FILE.read_text(encoding="utf-8") if text is None else text).items():
        for row in rows:
            change = row.pop("change", [])
            fields = {"file": file, "change": tuple([change] if isinstance(change, str) else change)}
            try:
                reason = Reason(**fields, **row)
            except TypeError as exc:
                raise ValueError(f"survivors.toml: {file}: {row}: {exc}") from exc
            if reason.kind not in CLASSES:
                raise ValueError(
                    f"survivors.toml: {file}: kind must be one of {CLASSES}, got {reason.kind!r}"
                )
            reasons.append(reason)
    return reasons
