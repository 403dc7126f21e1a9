"""Calls in doubt: how the model is told, how `verify` is asked, and what may be done about one."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import NotDone
from failsoft.core.errors import InDoubt
from failsoft.core.events import EventName
from failsoft.core.kinds import Owner
from failsoft.harness.closing import pause
from failsoft.harness.codec import encode_result
from failsoft.harness.hooks import in_thread
from failsoft.ledger.records import doubt_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.harness.live import LiveCall
    from failsoft.harness.plan import Plan
    from failsoft.harness.shared import Shared
    from failsoft.ledger.records import Doubt, Intent

__all__ = ["error", "id_of", "near_error", "verified", "verify_doubt"]

VERIFY_TIMEOUT_S = 30.0
_LOOK_AGAIN_S = (0.2, 0.8)


def id_of(intent: Intent) -> str:
    """The id that a doubt about this claim has, or will have."""
    return doubt_id_of(intent.owner_token)


def error(call: LiveCall, doubt: Doubt) -> InDoubt:
    """What an identical call gets while a doubt is open."""
    call.doubt = doubt.id
    options = call.shared.doubt_options(doubt.id, doubt.resolvable_by)
    if call.plan.tool.verify is not None:
        options.insert(
            0, "Send the same call again later: whether it happened is looked up before anything is run."
        )
    return InDoubt(
        f"An earlier identical call of {call.plan.name} may have happened; nobody has found out yet. Nothing was run now.",
        reason="unresolved_doubt",
        owner=Owner.HUMAN if doubt.resolvable_by == "human" else Owner.MODEL,
        retry_after_s=_too_early_s(call.shared, call.plan, doubt) or None,
        context={"doubt": doubt.id, "options": options, "known": doubt.known},
    )


def _too_early_s(shared: Shared, plan: Plan, doubt: Doubt) -> float:
    """Seconds until a `NotDone` of the tool's `verify` is final; 0 where it is."""
    if plan.tool.verify is None:
        return 0.0
    return max(0.0, (plan.tool.verify_after_s or 0.0) - (shared.store.now() - doubt.since))


def near_error(call: LiveCall, doubt: Doubt) -> InDoubt:
    """What a call gets, once, that differs only in free text from one in doubt."""
    call.doubt = doubt.id
    options = [
        *call.shared.doubt_options(doubt.id, doubt.resolvable_by),
        "If this is really another one, send the same call again: it will run.",
    ]
    return InDoubt(
        f"A call of {call.plan.name} that differs from this one only in its text may have happened already. "
        "Nothing was run now.",
        reason="similar_call_in_doubt",
        effect="none",
        context={"doubt": doubt.id, "options": options, "known": doubt.known},
    )


async def verified(call: LiveCall, doubt: Doubt) -> bool:
    """Ask the tool's `verify`, where it has one; True when the doubt is resolved."""
    limit_s = min(VERIFY_TIMEOUT_S, call.remaining_s)
    return await pause(call, verify_doubt(call.shared, call.plan, doubt, call.values, limit_s=limit_s))


async def verify_doubt(
    shared: Shared,
    plan: Plan,
    doubt: Doubt,
    values: Mapping[str, Any] | None = None,
    *,
    limit_s: float = VERIFY_TIMEOUT_S,
) -> bool:
    """Ask `verify` whether it happened and write the answer down; True when it is final.

    A `NotDone` before `verify_after_s` is not final: the effect may still be on its way. A failure that may pass is
    followed by another look, within `limit_s`; looking changes nothing.
    """
    if plan.tool.verify is None:
        return False
    too_early = _too_early_s(shared, plan, doubt) > 0.0
    try:
        if values is None:  # of an earlier release, perhaps, whose arguments this one no longer takes
            values = plan.tool.parse(json.loads(doubt.arguments)).values
        async with asyncio.timeout(limit_s):
            answer = await _look(shared, plan.tool.verify, values)
    except (Exception, asyncio.CancelledError) as exc:
        if isinstance(exc, asyncio.CancelledError) and _is_cancelled():
            raise
        shared.log_once(
            ("verify", plan.name), "verify of %s failed; the doubt stays open: %r", plan.name, exc
        )
        return False
    happened = not (answer is NotDone or isinstance(answer, NotDone))
    if not happened and too_early:
        return False
    result = encode_result(answer, str(answer)) if happened else None
    await shared.store.resolve(doubt.id, happened=happened, result=result, by="verify")
    shared.tell_tool(plan.name, EventName.DOUBT_RESOLVED, doubt=doubt.id, happened=happened, by="verify")
    return True


async def _look(shared: Shared, verify: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    for wait_s in _LOOK_AGAIN_S:
        try:
            return await _ask(verify, values)
        except Exception as exc:
            if not shared.classifier.classify(exc).retryable:
                raise
        await shared.clock.sleep(wait_s)
    return await _ask(verify, values)


def _is_cancelled() -> bool:
    """Whether somebody has cancelled this task, so that a CancelledError is not the hook's own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _ask(verify: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call `verify` with those of the tool's arguments that it takes; a sync one in a thread."""
    parameters = inspect.signature(verify).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    given = dict(values) if takes_all else {name: values[name] for name in parameters if name in values}
    if inspect.iscoroutinefunction(verify):
        return await verify(**given)
    answer = await in_thread(verify, **given)
    return await answer if inspect.isawaitable(answer) else answer


async def resolve(shared: Shared, doubt_id: str, *, happened: bool, result: Any, by: str) -> Doubt:
    """Write down what somebody says about a doubt, and tell the sinks."""
    encoded = encode_result(result, str(result)) if happened and result is not None else None
    doubt = await shared.store.resolve(doubt_id, happened=happened, result=encoded, by=by)
    shared.tell_tool(doubt.tool, EventName.DOUBT_RESOLVED, doubt=doubt_id, happened=happened, by=by)
    return doubt


async def recover(shared: Shared) -> list[Doubt]:
    """Turn lost claims into doubts, ask `verify` about all that are open, and give those that stay open."""
    await shared.store.recover(shared.name)
    still_open = []
    for doubt in await shared.store.doubts(shared.name):
        plan = shared.plans.get(doubt.tool)
        # What this harness runs at this moment is not asked about: `verify` would say that it has not happened yet.
        is_here = doubt.owner_token in shared.flights
        if plan is None or is_here or not await verify_doubt(shared, plan, doubt):
            still_open.append(doubt)
    return still_open
