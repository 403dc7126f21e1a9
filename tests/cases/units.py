"""Operations `backoff` and `breaker`: policies by themselves."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import make_error
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Retry
from failsoft.policies.retry import decide
from failsoft.testing.clock import VirtualClock
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen, of_result

if TYPE_CHECKING:
    from failsoft.core.results import ToolResult

__all__ = ["run_backoff", "run_breaker"]


async def run_backoff(row: dict[str, Any]) -> Seen:
    """The waits after each attempt, drawn many times."""
    retry = Retry(
        max_attempts=max(row["attempts"]) + 1,
        base_s=row["initial_s"],
        factor=row.get("base", 2.0),
        cap_s=row["max_s"],
    )
    error, rng = make_error("unavailable", "busy", effect="none"), random.Random(7)

    def wait(attempt: int) -> float:
        made = decide(retry, attempt=attempt, error=error, repeatable=True, remaining_s=float("inf"), rng=rng)
        assert made.go
        return made.delay_s

    waits = {attempt: [wait(attempt) for _ in range(row["samples"])] for attempt in row["attempts"]}
    return Seen(facts={"waits": waits, "raises": False})


class _Service:
    """A tool whose next outcome is written down."""

    def __init__(self) -> None:
        self.outcome = "ok"
        self.executed = 0

    async def __call__(self, n: int = 0) -> str:
        self.executed += 1
        word = self.outcome
        if word in ("ok", "success", "200"):
            return "ok"
        if word.isdigit():
            http_error = {"status": int(word), "headers": {}, "body": ""}
            response = {"$http_response": http_error}
            spec = {
                "class": "httpx.HTTPStatusError",
                "args": [word],
                "kwargs": {
                    "request": {"$http_request": ["GET", "https://api.example.test/"]},
                    "response": response,
                },
            }
            raise build.exception(spec)
        if word == "cancelled":
            await asyncio.sleep(3600)
        raise _failure(word)


def _failure(word: str) -> BaseException:
    made: dict[str, BaseException] = {
        "timeout": TimeoutError("timed out"),
        "network": ConnectionResetError(104, "Connection reset by peer"),
        "not_found": make_error("not_found", "no such thing"),
        "forbidden": make_error("permission_denied", "not allowed"),
        "auth": make_error("permission_denied", "who are you"),
        "conflict": make_error("conflict", "changed meanwhile"),
        "overloaded": make_error("unavailable", "busy", reason="overloaded"),
        "unavailable": make_error("unavailable", "down"),
        "rate_limit": make_error("rate_limited", "slow down"),
        "quota": make_error("quota_exhausted", "used up"),
        "internal": RuntimeError("a bug"),
    }
    if word not in made:
        raise AssertionError(f"no such event: {word}")
    return made[word]


async def run_breaker(row: dict[str, Any]) -> Seen:
    """Outcomes one after another, on a clock that only `advance:` moves."""
    service, clock = _Service(), VirtualClock()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = Tool.from_schema("service", schema, service, description="A service.", read_only=True)
    count = row["threshold"]
    breaker = Breaker(
        window=count,
        min_calls=count,
        failure_rate=1.0,
        hard_failures=count,
        open_s=row.get("recovery_s", 30),
        jitter=0.0,
    )
    facts: dict[str, Any] = {"raises": False}
    wrong: list[str] = []
    async with Harness(
        [tool], policy=Policy(breaker=breaker, retry=None), store="memory", clock=clock
    ) as harness:
        for event in row["events"]:
            verb, _, rest = event.partition(":")
            if verb == "expect":
                state = harness.stats().tools[0].breakers[0]
                over = state.state == "open" and state.retry_after_s == 0
                if state.state != rest and not (over and rest in ("half_open", "half-open")):
                    wrong.append(f"{event}: {state.state}")
            elif verb == "advance":
                clock.advance(float(rest.rstrip("s")))
            else:
                before = service.executed
                result = await _one(harness, service, "ok" if event == "call" else event)
                if event == "call":
                    seen = of_result(result, executed=service.executed > before)
                    facts["last_call"] = seen
    if wrong:
        raise AssertionError("; ".join(wrong))
    return Seen(facts=facts)


async def _one(harness: Harness, service: _Service, event: str) -> ToolResult:
    service.outcome = event
    if event == "invalid_arguments":
        return await harness.call("service", '{"n": "many"}')
    if event != "cancelled":
        return await harness.call("service", {})
    task = asyncio.ensure_future(harness.call("service", {}))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError as exc:
        return exc.failsoft_result  # type: ignore[attr-defined, no-any-return]
