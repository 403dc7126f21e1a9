"""Several calls of one turn: one result for each, in the order asked, whatever its siblings did."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.core.calls import ToolCall
from failsoft.core.errors import Cancelled
from failsoft.core.kinds import Effect
from failsoft.core.results import ToolResult

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

__all__ = ["StopOn", "interrupted_results", "run_batch", "stop_rule", "with_unique_ids"]

log = logging.getLogger("failsoft")

StopOn = Collection[str] | Callable[[ToolResult], object]
"""Kinds of errors, or a predicate of a result."""

_RESULTS = "failsoft_results"
RESULT_OF = "failsoft_result"
"""Attribute of a cancellation that holds the settled result of the call it came through."""


def with_unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with every id different: a second `a` becomes `a-2`, a missing one `call-3`.

    Providers reject a history in which two results have one id, and some models send two calls with the same.
    """
    taken = {call.id for call in calls if call.id}
    seen: set[str] = set()
    unique = []
    for number, call in enumerate(calls, 1):
        id = call.id or f"call-{number}"
        if id in seen or (not call.id and id in taken):
            id = next(f"{id}-{n}" for n in range(2, len(calls) + 2) if f"{id}-{n}" not in taken | seen)
        seen.add(id)
        unique.append(call if id == call.id else replace(call, id=id))
    return unique


def interrupted_results(error: BaseException) -> list[ToolResult] | None:
    """The results of a batch that was cancelled: finished ones, settled ones, and `not_started` for the rest.

    Args:
        error: The CancelledError (or KeyboardInterrupt) that came out of `call_all`.
    """
    return getattr(error, _RESULTS, None)


async def run_batch(
    calls: Sequence[ToolCall],
    run_one: Callable[[ToolCall], Coroutine[Any, Any, ToolResult]],
    is_parallel: Callable[[ToolCall], bool],
    refuse: Callable[[ToolCall, Cancelled], ToolResult],
    *,
    max_parallel: int | None = None,
    stops: Callable[[ToolResult], bool] | None = None,
) -> list[ToolResult]:
    """Run the calls: neighbours that may run together do, a sequential tool waits for those before and holds those after.

    Args:
        calls: With unique ids.
        run_one: Runs one call; raises only what `Harness.call` raises.
        is_parallel: Whether a call may run beside others.
        refuse: Makes the result of a call that had none: cancelled, or not started.
        max_parallel: How many bodies may run at once; None for no limit.
        stops: Whether after this result no other call is begun. Calls that may run beside each other without a limit
            have begun together.

    Raises:
        BaseException: The caller's cancel, or what one call raised; `interrupted_results(error)` has the results.
    """
    results: dict[int, ToolResult] = {}
    places = asyncio.Semaphore(max_parallel) if max_parallel is not None else None
    stopper: ToolCall | None = None

    async def run(index: int) -> None:
        nonlocal stopper
        if stopper is not None and places is not None:
            return
        results[index] = await run_one(calls[index])
        if stops is not None and stopper is None and stops(results[index]):
            stopper = calls[index]

    async def one(index: int) -> None:
        try:
            if places is None:
                await run(index)
            else:
                async with places:
                    await run(index)
        except BaseException as exc:
            settled = getattr(exc, RESULT_OF, None)
            if settled is not None:
                results[index] = settled
            raise

    try:
        for group in _groups(calls, is_parallel):
            if stopper is not None:
                break
            await _together([one(index) for index in group])
    except BaseException as exc:
        setattr(exc, _RESULTS, [results.get(i) or refuse(c, _no_result(c)) for i, c in enumerate(calls)])
        raise
    return [results.get(i) or refuse(call, _not_begun(call, stopper)) for i, call in enumerate(calls)]


def _groups(calls: Sequence[ToolCall], is_parallel: Callable[[ToolCall], bool]) -> list[list[int]]:
    """Indexes that may run together, in order; a sequential call is a group of its own."""
    groups: list[list[int]] = []
    open_group = False
    for index, call in enumerate(calls):
        parallel = is_parallel(call)
        if parallel and open_group:
            groups[-1].append(index)
        else:
            groups.append([index])
        open_group = parallel
    return groups


async def _together(jobs: list[Coroutine[Any, Any, None]]) -> None:
    """Wait for all jobs. A cancel reaches each of them once, and each may settle before it ends.

    Not a TaskGroup: that wraps what a job raises in a group, and a host framework's control flow must pass as it is.
    """
    if len(jobs) == 1:
        return await jobs[0]
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        unfinished = [task for task in tasks if not task.done()]
        for task in unfinished:
            task.cancel()
        await _ended(unfinished)
    for task in tasks:
        task.result()
    return None


async def _ended(unfinished: list[asyncio.Task[None]]) -> None:
    """Wait for cancelled tasks, through a second cancel too: they are settling, and that is bounded."""
    again: asyncio.CancelledError | None = None
    tasks = set(unfinished)
    while tasks:
        try:
            _, tasks = await asyncio.wait(tasks)
        except asyncio.CancelledError as exc:
            again = exc
    if again is not None:
        raise again


def _not_begun(call: ToolCall, stopper: ToolCall | None) -> Cancelled:
    because = "" if stopper is None else f" because of what {stopper.name} ({stopper.id}) answered before it"
    return Cancelled(f"{call.name} was not started{because}.", reason="not_started", effect=Effect.NONE)


def stop_rule(stop_on: StopOn | None) -> Callable[[ToolResult], bool] | None:
    """What `stop_on` means for a result: one of those kinds, or what the predicate says.

    A predicate that raises stops: what cannot say that it is safe to go on must not say so.
    """
    if stop_on is None:
        return None
    if callable(stop_on):
        return functools.partial(_says_stop, stop_on)
    kinds = {stop_on} if isinstance(stop_on, str) else {str(kind) for kind in stop_on}
    return lambda result: result.error is not None and str(result.error.kind) in kinds


def _says_stop(predicate: Callable[[ToolResult], object], result: ToolResult) -> bool:
    try:
        return bool(predicate(result))
    except Exception:
        log.exception("stop_on raised; no other call of the batch is begun")
        return True


def _no_result(call: ToolCall) -> Cancelled:
    return Cancelled(
        f"{call.name} was not started: the run was cancelled.", reason="not_started", effect=Effect.NONE
    )
