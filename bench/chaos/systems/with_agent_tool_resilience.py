"""agent-tool-resilience: its decorator with retry, breaker and time-out.

As its README: "Retry Policies" (exponential with jitter, `retry_on` naming the errors; `retry_if` for the status codes),
"Circuit Breakers" (the README's values) and `timeout`. Without the quick start's constant as a fallback, which would tell
the model of a booking that nobody made. The model reads the last error, which `RetryError` carries.
Its breaker reads the wall clock, which is given the suite's time.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import httpx
from agent_tool_resilience import CircuitBreaker, ResilientTool, RetryPolicy, circuit_breaker

from bench.chaos.systems._common import TIMEOUT_S, is_worth_it, plain_loop

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "agent-tool-resilience"
PACKAGES = ("agent-tool-resilience",)


def _resilient(each: WorldTool) -> Any:
    decorate = ResilientTool(
        retry=RetryPolicy(
            max_attempts=3,
            backoff="exponential",
            base_delay=1.0,
            max_delay=60.0,
            jitter=True,
            retry_on=[TimeoutError, ConnectionError, httpx.HTTPError],
            retry_if=is_worth_it,
        ),
        circuit_breaker=CircuitBreaker(
            failure_threshold=5, success_threshold=2, reset_timeout=60, half_open_max_calls=3
        ),
        timeout=TIMEOUT_S,
        name=each.name,
    )
    return decorate(each.fn)


def _told(exc: Exception) -> str:
    last = getattr(exc, "last_exception", None)
    return f"{exc!r}, last error: {last!r}" if last is not None else repr(exc)


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """A table of decorated functions, each with a breaker of its own."""
    circuit_breaker.time = types.SimpleNamespace(time=clock.wall)  # type: ignore[assignment]
    return plain_loop({each.name: _resilient(each) for each in tools}, _told)
