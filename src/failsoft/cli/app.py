"""The command group; a command is loaded when it is used, so that `failsoft --help` is quick."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from failsoft.core.errors import AgentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COMMANDS", "app", "run"]

# command → module that has it as `command`, and its line in the list of commands
COMMANDS = {
    "call": ("failsoft.cli.call", "Run one tool through the whole path."),
    "check": ("failsoft.cli.check", "Look for mistakes in tool definitions; for CI."),
    "demo": ("failsoft.cli.demo.command", "Show an agent at work with services that fail."),
    "doubts": ("failsoft.cli.doubts", "List, show and resolve calls that may have happened."),
    "explain": ("failsoft.cli.explain", "Say what an error means, to whom."),
    "export": ("failsoft.cli.export", "Print the journal's events, one JSON object a line."),
    "lab": ("failsoft.cli.lab", "Experiments: what policies do to a service in trouble."),
    "mcp": ("failsoft.cli.mcp", "Stand before an MCP server and make it reliable."),
    "policy": ("failsoft.cli.policy", "Print what holds for each tool, and where it was said."),
    "prune": ("failsoft.cli.prune", "Forget what ended long ago."),
    "run": ("failsoft.cli.run", "Let a model answer a question with tools."),
    "runs": ("failsoft.cli.runs", "List the runs in the journal."),
    "serve": ("failsoft.cli.serve", "Serve the tools of a module to an MCP client."),
    "show": ("failsoft.cli.show", "Show one run: its calls, attempts and doubts."),
    "stats": ("failsoft.cli.stats", "Count how calls ended, and which arguments models get wrong."),
    "tools": ("failsoft.cli.tools", "List the tools of a module, or print them for a provider."),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(COMMANDS.items())])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="failsoft", message="%(version)s")
def app() -> None:
    """The reliability runtime between a language model and its tools.

    Data goes to stdout, everything else to stderr.
    Exit codes: 0 finished, 1 not finished, 2 misuse, 3 waiting for a person, 130 interrupted.
    """


def _tell(error: AgentError) -> None:
    from failsoft.cli.output import clean, note

    note(f"failsoft: {clean(str(error))} ({error.kind}, {error.reason})")


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM is Ctrl-C: the same way out for whatever is at work. Only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    try:
        with _terminable():
            code: Any = app.main(arguments, prog_name="failsoft", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return 130
    except click.ClickException as exc:
        exc.show()
        return 2
    except UsageError as exc:
        click.echo(f"failsoft: {exc}", err=True)
        return 2
    except AgentError as exc:
        _tell(exc)
        return 1
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return 130
    return code if isinstance(code, int) else 0
