"""Run a tool's body once, in its isolation, within the attempt's time.

A time-out of ours is told apart from the caller's cancel by counting: one `cancel()` is ours, exactly that one is taken
back, and what is left of `Task.cancelling()` decides whose cancellation came out of the body.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError, InternalError, InvalidOutput, ToolTimeout, UsageError
from failsoft.core.events import EventName
from failsoft.core.kinds import Effect
from failsoft.harness.shield import shielded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from failsoft.core.ports import Job
    from failsoft.harness.alarms import Alarm
    from failsoft.harness.live import LiveCall

__all__ = ["invoke"]


def invoke(call: LiveCall, began: float) -> Coroutine[Any, Any, Any]:
    """Begin an attempt's time and give the coroutine that runs the body within it; await it at once.

    Args:
        call: The live call; its `values` are the body's arguments.
        began: Monotonic time at which the attempt begins.

    The coroutine raises:
        ToolTimeout: No answer within the attempt's time.
        AgentError: The result broke its contract, or the isolation refused.
        BaseException: Whatever the body raised; the caller's own cancel.
    """
    # A plain function around one coroutine, because each further one costs a call 0.15 µs.
    plan = call.plan
    loop = asyncio.get_running_loop()
    task = asyncio.current_task(loop)
    if task is None:
        raise UsageError("a harness is called from inside an asyncio task, and there is none here")
    attempt_s = plan.attempt_s
    if attempt_s is None or plan.idle_s is not None or began + attempt_s > call.deadline:
        if attempt_s is None:
            attempt_s = plan.timeout.attempt(call.attempt, call.deadline - began)
        call.set(task, min(began + attempt_s, call.deadline))
        return _guarded(call, _arm_alone(call, loop))
    call.set(task, began + attempt_s)
    queue = plan.alarms.of(loop)
    queue.arm(call, loop)
    return _guarded(call, queue.disarm)


async def _guarded(call: LiveCall, disarm: Callable[[Alarm], object]) -> Any:
    """The body under the call's alarm."""
    plan = call.plan
    runner = plan.runner
    job = None
    try:
        try:
            if runner is None:
                call.started = True
                value = await plan.body(**call.values)
            else:
                job = runner.start(plan.body, call.values, call)
                value = await job
                if plan.awaits and inspect.isawaitable(value):
                    value = await value
        finally:
            disarm(call)
            fired = call.fired
            if fired:
                call.settle()
    except asyncio.CancelledError as exc:
        return await _cancelled(call, job, exc)
    except Exception as exc:
        call.started = job.started if job is not None else runner is None
        if fired and not isinstance(exc, AgentError):
            raise _timeout(call) from exc  # what the body's cleanup raised after our cancel
        raise
    call.started = True
    if fired:
        _swallowed(call)
    return value if plan.accept is None else _accepted(call, value)


async def _cancelled(call: LiveCall, job: Job | None, exc: asyncio.CancelledError) -> Any:
    """A CancelledError came out of the body: ours, the caller's, or leaked by the tool."""
    callers = call.is_callers_cancel()
    if job is not None:
        call.started = job.started
        if callers or call.fired:
            call.runs_on = await _let_go(call, job)
            outcome = getattr(job, "outcome", None)
            if outcome is not None and not callers and outcome[1] is None:
                call.late = True  # it ended in the moment of the time-out: its answer is known, so it is told
                return outcome[0]
    if callers:
        raise exc
    if call.fired:
        raise _timeout(call) from exc
    raise InternalError(
        "The tool was cancelled from inside.", reason="leaked_cancellation", retryable=False
    ) from exc


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


def _arm_alone(call: LiveCall, loop: asyncio.AbstractEventLoop) -> Callable[[Alarm], object]:
    """A timer for this attempt only: the caller's deadline is nearer, or progress moves the end."""
    idle_s = call.plan.idle_s
    now = call.clock.monotonic
    end = call.due
    touched = now()
    handle: asyncio.TimerHandle

    def touch() -> None:  # from any thread: one assignment
        nonlocal touched
        touched = now()

    def due() -> float:
        return end if idle_s is None else min(end, touched + idle_s)

    def ring() -> None:
        nonlocal handle
        left = due() - now()
        if left <= 0:
            call.fire()
        else:
            handle = loop.call_later(left, ring)

    if idle_s is not None:
        call._progressed = touch
    handle = loop.call_later(due() - touched, ring)
    return lambda _alarm: handle.cancel()


def _timeout(call: LiveCall) -> ToolTimeout:
    """The error of an attempt that had no answer in time."""
    limit = "its time limit" if call.plan.attempt_s is None else f"{call.plan.attempt_s:g} s"
    if call.clock.monotonic() >= call.deadline:
        limit = "the time that was left"
    effect = Effect.POSSIBLE if call.started and not call.plan.read_only else Effect.NONE
    return ToolTimeout(f"{call.name} did not answer within {limit}.", reason="attempt_timeout", effect=effect)


def _swallowed(call: LiveCall) -> None:
    """The body went on after our cancel and answered: late, and to be named."""
    call.late = True
    call.shared.tell(call, EventName.CANCEL_SWALLOWED)
    if call.is_callers_cancel():
        # The caller's cancel came too and was swallowed with ours: ask again, it arrives at the caller's next await.
        call.task.uncancel()
        call.task.cancel()


def _accepted(call: LiveCall, value: Any) -> Any:
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
