"""`failsoft mcp --login` and `--logout`: a person's login to a server behind a URL, kept for later."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from typing import TYPE_CHECKING

import click

from failsoft.adapters.mcp import logins
from failsoft.cli.output import note, plain
from failsoft.core.errors import AgentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.adapters.mcp.config import ServerSpec

__all__ = ["log_in", "log_out"]


def log_in(specs: Sequence[ServerSpec], *, client_id: str | None, port: int, browser: bool) -> int:
    """Have a person log in to each server behind a URL; 1 where that did not work.

    Raises:
        UsageError: There is no such server, or the package for it is missing.
    """
    try:
        from failsoft.adapters.mcp import oauth
    except ModuleNotFoundError as exc:
        raise UsageError("logging in needs a package\n\nhint: pip install 'failsoft[login]'") from exc

    async def show(address: str) -> None:
        note(f"failsoft: open this address to log in:\n\n{plain(address)}\n")
        if browser:
            await asyncio.to_thread(webbrowser.open, address)

    code = 0
    for spec in _behind_urls(specs):
        url, headers = spec.reached_at()
        secret = os.environ.get("FAILSOFT_CLIENT_SECRET")
        try:
            login = asyncio.run(
                oauth.log_in(url, show, client_id=client_id, client_secret=secret, port=port, headers=headers)
            )
        except AgentError as exc:
            note(f"failsoft: {plain(spec.name)}: {plain(exc.message)}")
            code = 1
            continue
        if login is None:
            click.echo(f"{plain(logins.shown(url))} asks for no login.")
        else:
            click.echo(f"Logged in to {plain(logins.shown(url))}; kept in {plain(str(logins.path_of(url)))}.")
    return code


def log_out(specs: Sequence[ServerSpec]) -> int:
    """Forget the logins to these servers.

    Raises:
        UsageError: There is no such server.
    """
    for spec in _behind_urls(specs):
        url, _ = spec.reached_at()
        had = logins.forget(url)
        click.echo(f"{'Forgot the' if had else 'There is no'} login to {plain(logins.shown(url))}.")
    return 0


def _behind_urls(specs: Sequence[ServerSpec]) -> list[ServerSpec]:
    found = [spec for spec in specs if spec.url is not None]
    if not found:
        raise UsageError("a login is to a server behind a URL\n\nhint: failsoft mcp --url URL --login")
    return found
