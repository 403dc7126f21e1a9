"""A server's list of tools: all its pages, and what is shown of tools whose breaker is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.core.errors import Unavailable
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from failsoft.adapters.mcp.link import Link
    from failsoft.adapters.mcp.wire import Message

__all__ = ["list_all", "list_tools", "shown_tools"]

_MAX_PAGES: Final = 1000
_DOWN: Final = "[down at present: its last calls failed; use another tool, or try again later] "


async def list_tools(link: Link, like: Message, timeout_s: float) -> list[Any]:
    """All tools of a server.

    Args:
        link: The server.
        like: A request of the client's; from 2026-07-28 on each request says who asks, so ours says the same.
        timeout_s: Seconds for each page.

    Raises:
        Unavailable: It gives none.
    """
    return await list_all(link, "tools/list", "tools", like, timeout_s)


async def list_all(link: Link, method: str, field: str, like: Message, timeout_s: float) -> list[Any]:
    """All items of a paged list.

    Raises:
        Unavailable: It gives none.
    """
    meta = {name: value for name, value in wire.meta_of(like).items() if "/" in name}
    base: dict[str, Any] = {"_meta": meta} if meta else {}
    found: list[Any] = []
    cursor: Any = None
    for _ in range(_MAX_PAGES):
        params = base if cursor is None else {**base, "cursor": cursor}
        answer = await link.ask(method, params or None, timeout_s)
        result = answer.get("result")
        items = result.get(field) if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(items, list):
            said = answer.get("error")
            raise Unavailable(f"{link.name} gives no {field}: {said}", reason="no_list", effect=Effect.NONE)
        found += items
        cursor = result.get("nextCursor")
        if not cursor:
            break
    return found


def shown_tools(tools: Sequence[Any], down: Mapping[str, str]) -> list[Any]:
    """A page of tools in which those that are down are described as such, or withheld."""
    shown = []
    for tool in tools:
        how = down.get(str(tool.get("name"))) if isinstance(tool, dict) else None
        if how == "describe":
            shown.append({**tool, "description": f"{_DOWN}{tool.get('description') or ''}"})
        elif how is None:
            shown.append(tool)
    return shown
