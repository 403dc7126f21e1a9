"""Tools that failsoft itself gives to the model: resolve a doubt, repeat on purpose, read the rest of a cut output."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

from failsoft.core.context import CallContext
from failsoft.core.errors import NotFound, PermissionDenied
from failsoft.core.events import EventName
from failsoft.core.kinds import Owner
from failsoft.tools import Tool

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall
    from failsoft.harness.shared import Shared

__all__ = ["BUILTIN_NAMES", "REPEAT_CALL", "builtin_tools"]

REPEAT_CALL = "repeat_call"
BUILTIN_NAMES = frozenset({"resolve_doubt", REPEAT_CALL, "read_more"})
PAGE_CHARS = 10_000


@functools.cache
def builtin_tools() -> tuple[Tool[..., Any], ...]:
    """The built-in tools, the same for all harnesses; made once, because their schemas take milliseconds."""
    names = {"Any": Any, "CallContext": CallContext}
    return (
        Tool.from_function(resolve_doubt, names, idempotent=True, retry=None, breaker=None),
        Tool.from_function(repeat_call, names, idempotent=True, retry=None, breaker=None),
        Tool.from_function(read_more, names, read_only=True, breaker=None, output=None),
    )


async def resolve_doubt(doubt: str, happened: bool, evidence: str, context: CallContext) -> str:
    """Say whether a call in doubt happened, after you have checked it with other tools.

    Args:
        doubt: The doubt's id, such as "doubt_1f0c9a3b".
        happened: True if the effect took place, false if it certainly did not.
        evidence: How you know; name what you looked at.
    """
    shared = _shared_of(context)
    found = await shared.store.doubt(doubt)
    if found is None or found.scope != context.scope:
        raise NotFound(f"There is no doubt {doubt!r}.", reason="doubt_not_found")
    if found.resolvable_by == "human":
        raise PermissionDenied(
            f"Only a person may resolve a doubt about {found.tool}.", reason="human_only", owner=Owner.HUMAN
        )
    await shared.store.resolve(doubt, happened=happened, by="model", evidence=evidence)
    shared.tell_tool(found.tool, EventName.DOUBT_RESOLVED, doubt=doubt, happened=happened, by="model")
    if happened:
        return f"Noted: the call of {found.tool} happened. Do not call it again for this."
    return f"Noted: the call of {found.tool} did not happen. The same call will run if you send it again."


async def repeat_call(tool: str, arguments: dict[str, Any], occurrence: int) -> str:
    """Run a call a second time on purpose, where an identical one has already been done in this run.

    Args:
        tool: The tool's name.
        arguments: Its arguments, as before.
        occurrence: Which one it is: 2 for the second, 3 for the third. Use the number that you were given.
    """
    raise AssertionError("admit turns this into the call that it names")


async def read_more(handle: str, context: CallContext, start: int = 0) -> str:
    """Read on in a tool's output that was cut.

    Args:
        handle: The handle that the cut output named.
        start: Number of the first character to read, counted from 0.
    """
    text = await _shared_of(context).store.get_blob(handle, context.scope, context.run_id)
    if text is None:
        raise NotFound(f"There is no kept output {handle!r} in this run.", reason="handle_not_found")
    start = max(0, start)
    part = text[start : start + PAGE_CHARS]
    left = len(text) - start - len(part)
    more = f"\n[{left} characters more: read_more(handle={handle!r}, start={start + len(part)})]"
    return part + more if left > 0 else part


def _shared_of(context: CallContext) -> Shared:
    """What belongs to the harness that runs the call."""
    return cast("LiveCall", context).shared
