"""Several calls of one turn: one result for each, in the order asked, whatever its siblings did."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.core.calls import ToolCall
from failsoft.core.errors import Cancelled
from failsoft.core.kinds import Effect
from failsoft.core.results import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

__all__ = ["interrupted_results", "run_batch", "with_unique_ids"]

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
) -> list[ToolResult]:
    """Run the calls: neighbours that may run together do, a sequential tool waits for those before and holds those after.

    Args:
        calls: With unique ids.
        run_one: Runs one call; raises only what `Harness.call` raises.
        is_parallel: Whether a call may run beside others.
        refuse: Makes the result of a call that had none: cancelled, or not started.
        max_parallel: How many bodies may run at once; None for no limit.

    Raises:
        BaseException: The caller's cancel, or what one call raised; `interrupted_results(error)` has the results.
    """
    results: dict[int, ToolResult] = {}
    places = asyncio.Semaphore(max_parallel) if max_parallel is not None else None

    async def one(index: int) -> None:
        try:
            if places is None:
                results[index] = await run_one(calls[index])
            else:
                async with places:
                    results[index] = await run_one(calls[index])
        except BaseException as exc:
            settled = getattr(exc, RESULT_OF, None)
            if settled is not None:
                results[index] = settled
            raise

    try:
        for group in _groups(calls, is_parallel):
            await _together([one(index) for index in group])
    except BaseException as exc:
        setattr(exc, _RESULTS, [results.get(i) or refuse(c, _no_result(c)) for i, c in enumerate(calls)])
        raise
    return [results[index] for index in range(len(calls))]


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


def _no_result(call: ToolCall) -> Cancelled:
    return Cancelled(
        f"{call.name} was not started: the run was cancelled.", reason="not_started", effect=Effect.NONE
    )
