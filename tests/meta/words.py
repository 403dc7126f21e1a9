"""Text that must not stand anywhere in the project."""

import re
from pathlib import Path

from tests.meta.source import ROOT

# Written in pieces, so that this file passes its own rule.
FORBIDDEN = {
    "a folder of one machine": re.compile(r"(?<![\w.])/(?:ro" r"ot|wo" r"rk)/"),
    "the address of a package index": re.compile(r"https?://[^\s\"')>]*py" r"pi", re.IGNORECASE),
    "an option that names a package index": re.compile(r"--(?:extra-)?index-" r"url[ =]+[\"']?https?:"),
}
LARGEST_BYTES = 2_000_000


def patterns() -> dict[str, re.Pattern[str]]:
    """The fixed patterns, and the place where this copy of the project lies."""
    here = ROOT.as_posix()
    if here.count("/") < 2:  # a top-level folder, as in a container, is an ordinary word
        return FORBIDDEN
    return {**FORBIDDEN, "the folder of this copy": re.compile(re.escape(here) + r"\b")}


def text_of(path: Path) -> str:
    """The file's text; empty for binary and very large files."""
    raw = path.read_bytes()
    return "" if b"\0" in raw[:8192] or len(raw) > LARGEST_BYTES else raw.decode("utf-8", "replace")


def forbidden_words(path: str, text: str) -> list[str]:
    """Each line that holds something forbidden, with what it is."""
    return [
        f"{path}:{number}: {what}: {found.group()}"
        for what, pattern in patterns().items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ]
