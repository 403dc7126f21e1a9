"""Writes docs/reference/cli.md from the commands' own help.

./run py docs/tools/cli_page.py            writes the page
./run py docs/tools/cli_page.py --check    fails where the page is not what the commands say
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from failsoft.cli.app import COMMANDS, app

PAGE = Path(__file__).resolve().parents[1] / "reference" / "cli.md"
_WIDTH = 100
_HEAD = """# Command line

This page is made from the commands' own help by `docs/tools/cli_page.py`.

`failsoft`, or `python -m failsoft`; needs `failsoft[cli]`.

- Data goes to stdout; notes, logs and errors go to stderr, so that a pipe gets data only.
- `--json` prints one JSON document; times are seconds since the epoch, durations seconds.
- Whatever the terminal's encoding, the output is UTF-8; control codes in the texts of tools and models are not printed.
- Commands that read a store make none, and show arguments without secrets.

| exit code | means |
| --- | --- |
| 0 | finished |
| 1 | not finished; the reason is printed |
| 2 | misuse: a wrong option, file, module or store |
| 3 | waiting for a person |
| 130 | interrupted |

Environment variables are listed in [Configuration](configuration.md).

"""


def _section(names: list[str], command: click.Command) -> str:
    title = " ".join(names)
    context = click.Context(
        command,
        info_name=title,
        max_content_width=_WIDTH,
        terminal_width=_WIDTH,
        help_option_names=["-h", "--help"],
    )
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    text = f"{'#' * len(names)} {title}\n\n```text\n{chr(10).join(lines)}\n```\n"
    inner = getattr(command, "commands", {})
    return "\n".join([text, *(_section([*names, name], inner[name]) for name in sorted(inner))])


def page() -> str:
    """The page as the commands say."""
    context = click.Context(app)
    sections = []
    for name in sorted(COMMANDS):
        command = app.get_command(context, name)
        assert command is not None
        sections.append(_section(["failsoft", name], command))
    return _HEAD + "\n".join(sections)


def main(check: bool) -> int:
    """Write the page, or say whether it is not what the commands say."""
    stale = not PAGE.exists() or PAGE.read_text("utf-8") != page()
    if stale and not check:
        PAGE.write_text(page(), "utf-8")
    print(f"{'stale' if check else 'written'}: {PAGE.name if stale else 'nothing'}")
    return int(stale and check)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
