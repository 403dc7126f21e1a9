"""What several of the systems share: what is worth a second attempt, and what a plain loop says to its model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from bench.chaos.systems import Call

__all__ = ["TIMEOUT_S", "is_worth_it", "plain_loop"]

TIMEOUT_S = 30.0


def is_worth_it(exc: BaseException) -> bool:
    """Transport errors, time-outs, 429 and 5xx: what articles and documentation name as transient."""
    if isinstance(exc, httpx.HTTPStatusError):
        return exc.response.status_code == 429 or exc.response.status_code >= 500
    return isinstance(exc, httpx.TransportError | TimeoutError)


def plain_loop(
    table: Mapping[str, Callable[..., Awaitable[Any]]], told: Callable[[Exception], str] = repr
) -> Call:
    """A loop by hand over a table of functions; what is raised goes to the model as text."""

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        try:
            if name not in table:
                return f"Error: {name} is not a valid tool, try one of {', '.join(table)}.", True
            return str(await table[name](**json.loads(arguments))), False
        except Exception as exc:
            return f"Error: {told(exc)}", True

    return call
