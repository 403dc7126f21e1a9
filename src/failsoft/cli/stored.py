"""Where commands find what harnesses have stored."""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from failsoft.core.errors import UsageError
from failsoft.harness.builder import default_store_file
from failsoft.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from failsoft.stores.engine import EngineStore

__all__ = ["VARIABLE", "existing_url", "since_option", "span_s", "store_option", "with_store"]

T = TypeVar("T")

VARIABLE = "FAILSOFT_STORE"
_SQLITE = "sqlite:///"
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)?")
_UNITS_S = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--store URL`."""
    return click.option(
        "--store",
        "store_url",
        metavar="URL",
        envvar=VARIABLE,
        show_envvar=True,
        help="sqlite:///FILE or postgresql://...; default the file that harnesses here use, "
        "$FAILSOFT_HOME/failsoft.db or .failsoft/failsoft.db.",
    )(command)


def since_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--since 24h`, given to the command as a wall time."""
    return click.option(
        "--since",
        metavar="SPAN",
        callback=lambda _ctx, _param, text: _since(text),
        help="Only what happened in the last SPAN: 90s, 15m, 24h, 7d.",
    )(command)


def _since(text: str | None) -> float:
    return 0.0 if text is None else time.time() - span_s(text)


def span_s(text: str) -> float:
    """Seconds of a span such as `90s`, `15m`, `24h`, `7d`, `8w`; a bare number is seconds.

    Raises:
        click.BadParameter: For anything else.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no span of time; write 90s, 15m, 24h or 7d")
    return float(found[1]) * _UNITS_S[found[2]]


def with_store(url: str | None, work: Callable[[EngineStore], Awaitable[T]]) -> T:
    """Open the store, do the work, close it.

    Raises:
        UsageError: There is no such store: a command that reads makes none.
        AgentError: The store is there and cannot be used.
    """
    store = open_store(existing_url(url))

    async def go() -> T:
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(go())


def existing_url(url: str | None) -> str:
    """The URL of a store that is there, the usual one where none is named.

    Raises:
        UsageError: There is none.
    """
    if url is None:
        file = default_store_file()
        if not file.is_file():
            raise UsageError(
                f"there is no store here: {str(file)!r} is not there\n\n"
                f"hint: name it with --store URL or ${VARIABLE}, or go to the folder where the program runs"
            )
        return f"{_SQLITE}{file}"
    if url.startswith("memory"):
        raise UsageError(
            "a store in memory is gone with its program\n\nhint: Harness(..., store='sqlite:///FILE')"
        )
    if "://" not in url and os.path.isfile(url):
        raise UsageError(f"{url!r} is a file\n\nhint: --store {_SQLITE}{url}")
    if url.startswith(_SQLITE) and not os.path.isfile(url.removeprefix(_SQLITE)):
        raise UsageError(f"there is no store file {url.removeprefix(_SQLITE)!r}")
    return url
