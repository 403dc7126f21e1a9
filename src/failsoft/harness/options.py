"""The options of one call, for `Harness.call` and everything that hands them on.

A `TypedDict` and not parameters: eleven keyword-only defaults cost every call 0.25 µs, and most calls give none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from failsoft.core.errors import UsageError
from failsoft.harness.misuse import occurrence_of, seconds_of
from failsoft.harness.progress import delivered_in_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.calls import Progress
    from failsoft.harness.harness import Harness
    from failsoft.harness.live import LiveCall
    from failsoft.harness.run import Run

__all__ = ["CallOptions", "apply_options"]


class CallOptions(TypedDict, total=False):
    """What may be said about one call; see `Harness.call`."""

    id: str | None
    run: Run | str | None
    scope: str | None
    roles: Iterable[str]
    approved: bool
    deadline_s: float | None
    occurrence: int
    key: str | None
    truncated: bool
    on_progress: Callable[[Progress], object] | None


def apply_options(
    call: LiveCall,
    harness: Harness,
    *,
    id: str | None = None,
    run: Run | str | None = None,
    scope: str | None = None,
    roles: Iterable[str] = (),
    approved: bool = False,
    deadline_s: float | None = None,
    occurrence: int = 1,
    key: str | None = None,
    truncated: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
) -> None:
    """Write the options into the live call.

    Raises:
        UsageError: A value cannot work.
    """
    if id is not None:
        call._id = id
    if run is not None:
        call.run = run = harness.find_run(run, scope)
        call.run_id, call.scope = run.id, run.scope
        if (recorder := call.shared.recorder) is not None:
            recorder.call_began(run.id)
        if run.retry_budget is not None:
            run.retry_budget.deposit(call.started_at)
        if harness.listeners is not None and run.id in harness.listeners:
            call.notable = True  # its plain success is told too
    if scope is not None:
        call.scope = scope
    if roles:
        if not isinstance(roles, Iterable):
            raise UsageError(f"roles are words, got {roles!r}\n\nhint: roles=['support']")
        call.roles = frozenset((roles,) if isinstance(roles, str) else roles)
    if deadline_s is not None:
        call.deadline = call.hard_deadline = call.started_at + seconds_of("deadline_s", deadline_s)
    call.occurrence = occurrence_of(occurrence)
    call.approved, call.truncated, call.key = approved, truncated, key
    if on_progress is not None:
        call.on_progress = delivered_in_loop(call, on_progress)
