"""The command group; commands are loaded when they are used, so that `failsoft --help` is quick."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from failsoft.core.errors import UsageError

__all__ = ["app", "run"]

# command → module that has it as `command`
_COMMANDS = {
    "call": "failsoft.cli.call",
    "demo": "failsoft.cli.demo.command",
    "tools": "failsoft.cli.tools",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = _COMMANDS.get(name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="failsoft", message="%(version)s")
def app() -> None:
    """The reliability runtime between a language model and its tools."""


def run(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code: Any = app.main(arguments, standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return 130
    except click.ClickException as exc:
        exc.show()
        return 2
    except UsageError as exc:
        click.echo(f"failsoft: {exc}", err=True)
        return 2
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return 130
    return code if isinstance(code, int) else 0
