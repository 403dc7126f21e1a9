"""Run a tool's body once, in its isolation, within the attempt's time.

A time-out of ours is told apart from the caller's cancel by counting: one `cancel()` is ours, exactly that one is taken
back, and what is left of `Task.cancelling()` decides whose cancellation came out of the body.

    inline bodies   armed here and awaited by `guard` itself, because each further coroutine costs a call 0.2 µs
    all others      `run_elsewhere`: a job in a task, a thread or a process, let go when its time is over
"""

from __future__ import annotations

import inspect
from asyncio import CancelledError, current_task, get_running_loop
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, InvalidOutput, ToolTimeout, UsageError
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect
from failsoft.harness.alarms import LoneAlarm
from failsoft.harness.drain import whole
from failsoft.harness.shield import shielded

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from failsoft.core.ports import Job
    from failsoft.harness.alarms import AlarmQueue
    from failsoft.harness.live import LiveCall

__all__ = ["accepted", "answered_late", "arm", "ask_again", "run_elsewhere"]


def arm(call: LiveCall, began: float) -> AlarmQueue | LoneAlarm:
    """Begin an attempt's time; whoever awaits the body disarms it by what is given back.

    Args:
        call: The live call.
        began: Monotonic time at which the attempt begins.

    Raises:
        UsageError: Outside of an asyncio task.
    """
    plan = call.plan
    loop = get_running_loop()
    task = current_task(loop)
    if task is None:
        raise UsageError("a harness is called from inside an asyncio task, and there is none here")
    attempt_s = plan.attempt_s
    if attempt_s is None or plan.idle_s is not None or began + attempt_s > call.deadline:
        return _arm_alone(call, began, loop)
    queue = plan.alarms.last
    if queue is None or queue.loop() is not loop:
        queue = plan.alarms.of(loop)
    queue.arm(call, task, began + attempt_s, loop)
    return queue


def _arm_alone(call: LiveCall, began: float, loop: AbstractEventLoop) -> LoneAlarm:
    """A timer for this attempt only: the caller's deadline is nearer, or progress moves the end."""
    plan = call.plan
    attempt_s = plan.attempt_s
    plan.alarms.of(loop)  # so that the loop is watched
    if attempt_s is None:
        attempt_s = plan.timeout.attempt(call.attempt, call.deadline - began)
    task = current_task(loop)
    assert task is not None
    call.set(task, min(began + attempt_s, call.deadline))
    if call.due <= began:
        call.attempt -= 1  # it was not begun
        raise ToolTimeout(
            f"There was no time left to begin {call.name}.", reason="not_started", effect=Effect.NONE
        )
    alone = LoneAlarm(call, plan.idle_s, call.shared.monotonic, loop, call.shared.held)
    if plan.idle_s is not None:
        call._progressed = alone.touch
    return alone


async def run_elsewhere(call: LiveCall, began: float) -> Any:
    """The body in a task of its own, a thread or a process.

    Raises:
        ToolTimeout: No answer within the attempt's time.
        AgentError: The isolation refused to begin it.
        BaseException: Whatever the body raised; the caller's own cancel.
    """
    plan, job = call.plan, None
    assert plan.runner is not None
    call.started = False
    watch = arm(call, began)
    try:
        try:
            job = plan.runner.start(plan.body, call.values, call)
            value = await job
            if plan.awaits and (inspect.isawaitable(value) or inspect.isasyncgen(value)):
                value = await whole(value)
        finally:
            watch.disarm(call)
    except CancelledError:
        if job is None or not (call.fired or call.is_callers_cancel()):
            raise
        call.started = job.started
        call.runs_on = await _let_go(call, job)
        outcome = getattr(job, "outcome", None)
        if outcome is not None and outcome[1] is None and not call.is_callers_cancel():
            return outcome[0]  # it ended in the moment of the time-out: its answer is known, so it is told
        raise
    except BaseException:
        call.started = job is not None and job.started
        raise
    call.started = True
    return value


async def _let_go(call: LiveCall, job: Job) -> bool:
    """Stop waiting for a job; whether its body runs on."""
    zombies = call.shared.zombies
    on_end = zombies.expect(call)

    runs_on = True  # until the opposite is known

    async def abandon() -> None:
        nonlocal runs_on
        runs_on = await job.abandon(on_end)

    try:
        await shielded(abandon(), call.plan.grace_s + 1.0)
    except TimeoutError:
        pass
    finally:
        if runs_on:
            zombies.runs_on(call)
        else:
            zombies.was_stopped(call)
    return runs_on


def answered_late(call: LiveCall) -> None:
    """The body answered after its time: it never suspended, or it swallowed our cancel, which is to be named."""
    call.late = call.notable = True
    if call.fired:
        call.shared.tell(call, EventName.CANCEL_SWALLOWED)


def ask_again(call: LiveCall) -> None:
    """The body swallowed the caller's cancel and answered: the value counts, and the cancel arrives at the next await."""
    assert call.task is not None
    call.task.uncancel()
    call.task.cancel()


def accepted(call: LiveCall, value: Any) -> Any:
    """The value after the tool's own checks of results.

    Raises:
        AgentError: What `error_from_result` found.
        InvalidOutput: The value breaks `returns`.
    """
    accept = call.plan.accept
    assert accept is not None
    try:
        return accept(value)
    except AgentError:
        raise
    except Exception as exc:
        raise InvalidOutput(
            f"{call.name} ran, but its result does not have the promised form.",
            reason="result_schema_mismatch",
            effect=Effect.NONE if call.plan.read_only else Effect.DONE,
        ) from exc
