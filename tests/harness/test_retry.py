"""When a failed attempt is followed by another: two yeses, in virtual time."""

import random

import pytest

from failsoft import AgentError, Fallback, Harness, Policy, Retry, RetryBudget, Timeout, current, tool
from failsoft.core.errors import NotFound, RateLimited, Unavailable
from failsoft.testing.clock import run_virtual

SURE = Policy(retry=Retry(max_attempts=3, base_s=1, jitter="none"), breaker=None)


class Body:
    """Fails as told, attempt by attempt, then gives its last item."""

    def __init__(self, *steps):
        self.steps = steps
        self.runs = 0

    async def __call__(self):
        step = self.steps[min(self.runs, len(self.steps) - 1)]
        self.runs += 1
        if isinstance(step, BaseException) or (isinstance(step, type) and issubclass(step, BaseException)):
            raise step
        return step


def call_once(body, *, policy=SURE, deadline_s=None, waits=None, **options):
    """One call of a tool with that body, on a virtual clock."""

    async def main(clock):
        async def act() -> object:
            """Act."""
            return await body()

        harness = Harness(
            [tool(act, **options)],
            policy=policy,
            clock=clock,
            rng=random.Random(1),
            store="memory",
            builtins=False,
        )
        async with harness:
            start = clock.monotonic()
            result = await harness.call("act", deadline_s=deadline_s)
            if waits is not None:
                waits.append(clock.monotonic() - start)
            return result

    return run_virtual(main)


def http_error(status, headers=None):
    """An httpx status error as a real client raises it."""
    import httpx

    request = httpx.Request("GET", "https://api.example.test/x")
    response = httpx.Response(status, headers=headers or {}, request=request)
    return httpx.HTTPStatusError(f"{status}", request=request, response=response)


@pytest.mark.parametrize("status", [408, 429, 502, 503])
def test_passing_http_trouble_of_a_lookup_is_retried(status):
    """A look-up that meets a passing failure is tried again and succeeds."""
    body = Body(http_error(status), "found")
    result = call_once(body, read_only=True)
    assert result.value == "found"
    assert result.attempts == 2
    assert len(result.history) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_retried(status):
    """What will not change by itself is not asked for again."""
    body = Body(http_error(status))
    result = call_once(body, read_only=True)
    assert not result.ok
    assert body.runs == 1


def test_connection_errors_of_a_lookup_are_retried():
    """A refused connection is tried again until the attempts are used up; the kind stays."""
    body = Body(ConnectionRefusedError(111, "refused"))
    waits = []
    result = call_once(body, read_only=True, waits=waits)
    assert body.runs == 3
    assert result.error.kind == "network"
    assert result.error.reason == "retries_exhausted"
    assert waits == [pytest.approx(3.0)]


def test_a_possible_effect_of_a_protected_tool_is_not_retried():
    """A reset connection in the middle of an act ends the call: once is enough, and the effect is possible."""
    body = Body(ConnectionResetError(104, "reset"))
    result = call_once(body, read_only=False)
    assert body.runs == 1
    assert result.error.effect == "possible"
    assert "may have happened" in result.content
    assert result.doubt is not None


def test_a_refused_connection_proves_nothing_for_a_body_of_many_steps():
    """A proof out of a body that may have acted before is no proof; a body of one request is another thing."""
    many = Body(ConnectionRefusedError(111, "refused"))
    assert call_once(many, read_only=False).error.effect == "possible"
    assert many.runs == 1
    one = Body(ConnectionRefusedError(111, "refused"), "done")
    assert call_once(one, read_only=False, atomic=True).value == "done"
    assert one.runs == 2


def test_a_key_error_after_a_charge_is_no_proof():
    """A lookup error out of a body that may act leaves the effect possible."""
    assert call_once(Body(KeyError("receipt")), read_only=False).error.effect == "possible"


def test_an_error_that_tells_its_effect_is_believed():
    """An `AgentError` of the tool's own carries its effect, also for a protected tool."""
    body = Body(Unavailable("closed", effect="none"), "done")
    assert call_once(body, read_only=False).value == "done"
    assert call_once(Body(NotFound("no such order")), read_only=False).error.effect == "none"


def test_acted_overrules_a_kind_that_says_nothing_happened():
    """After `acted()` a kind's own "nothing happened" does not hold, unless the error says it itself."""

    async def late_refusal():
        current().acted()
        raise NotFound("no receipt")

    async def rolled_back():
        current().acted()
        raise NotFound("no receipt", effect="none")

    assert call_once(late_refusal, read_only=False).error.effect == "possible"
    assert call_once(rolled_back, read_only=False).error.effect == "none"


def test_a_charge_that_times_out_runs_once():
    """A protected tool that times out ran once, and the model reads that it may have happened."""
    runs = []

    async def main(clock):
        @tool(read_only=False, timeout_s=2)
        async def charge(order: str) -> str:
            """Charge."""
            runs.append(order)
            await clock.sleep(100)
            return "charged"

        async with Harness([charge], policy=SURE, clock=clock, store="memory") as harness:
            return await harness.call("charge", {"order": "o1"})

    result = run_virtual(main)
    assert runs == ["o1"]
    assert (result.error.kind, result.error.effect) == ("timeout", "possible")
    assert "may have happened" in result.content


def test_a_lookup_that_times_out_is_retried():
    """A look-up that hangs once is asked again."""
    runs = []

    async def main(clock):
        @tool(read_only=True, timeout_s=2)
        async def look() -> str:
            """Look."""
            runs.append(clock.monotonic())
            if len(runs) == 1:
                await clock.sleep(100)
            return "seen"

        async with Harness([look], policy=SURE, clock=clock) as harness:
            return await harness.call("look")

    result = run_virtual(main)
    assert result.value == "seen"
    assert runs[1] - runs[0] == pytest.approx(3.0)


def test_a_hint_is_a_floor():
    """A service's own wait is never undercut."""
    waits = []
    call_once(Body(RateLimited("slow down", retry_after_s=7), "ok"), read_only=True, waits=waits)
    assert waits[0] >= 7


def test_a_hint_beyond_the_deadline_ends_the_call_now():
    """When the wait cannot end in time nobody waits, and the model is told when to come back."""
    waits = []
    result = call_once(
        Body(RateLimited("slow down", retry_after_s=50), "ok"), read_only=True, deadline_s=5, waits=waits
    )
    assert waits == [0.0]
    assert result.error.retry_after_s == 50
    assert '"retry_after_s": 50' in result.content


def test_the_total_bounds_attempts_and_waits():
    """Attempts and waits together never last longer than the total."""
    waits = []
    policy = Policy(retry=Retry(max_attempts=100, base_s=1, jitter="none"), breaker=None, retry_budget=None)
    slow = policy.over(Policy(timeout=Timeout(attempt_s=3, total_s=10)))

    async def hang():
        import asyncio

        await asyncio.sleep(1000)

    result = call_once(hang, policy=slow, read_only=True, waits=waits)
    assert result.error.kind == "timeout"
    assert waits[0] <= 10.001


def test_the_retry_budget_denies_but_does_not_replace_the_error():
    """When the budget is used up the real error stands."""
    policy = SURE.over(Policy(retry_budget=RetryBudget(ratio=0.0, min_retries=1)))
    body = Body(Unavailable("down"))
    result = call_once(body, policy=policy, read_only=True)
    assert body.runs == 2
    assert result.error.kind == "unavailable"
    assert result.error.context["stopped"] == "budget"


def test_a_conflict_after_a_possible_effect_is_not_a_plain_refusal():
    """When an earlier attempt may have done it, "already exists" answers that attempt: the effect stays possible."""
    from failsoft.core.errors import Conflict

    body = Body(ConnectionResetError(104, "reset"), Conflict("already exists"))
    result = call_once(body, idempotent=True)
    assert body.runs == 2
    assert result.error.kind == "conflict"
    assert result.error.effect == "possible"


def test_a_fallback_answers_and_is_marked():
    """A constant stands in for a failed look-up; the result says so, and so does the text for the model."""
    policy = SURE.over(Policy(fallback=Fallback(value=["cached"])))
    result = call_once(Body(Unavailable("down")), policy=policy, read_only=True)
    assert result.ok
    assert result.degraded
    assert result.degraded_by == "value"
    assert result.content.startswith("[degraded")


def test_a_possible_effect_is_never_covered_by_a_fallback():
    """A doubt stays on the result, whatever the fallback."""
    policy = SURE.over(Policy(fallback=Fallback(value="fine")))
    result = call_once(Body(ConnectionResetError(104, "reset")), policy=policy, read_only=False)
    assert not result.ok
    assert result.error.effect == "possible"


def test_the_last_good_value_is_used_while_it_is_young():
    """An old value answers within its age, and not beyond."""

    async def main(clock):
        down = False

        @tool(read_only=True, fallback=Fallback(last_good_max_age_s=60), retry=None, breaker=None)
        async def price(item: str) -> int:
            """Ask for a price."""
            if down:
                raise Unavailable("down")
            return 5

        async with Harness([price], clock=clock) as harness:
            await harness.call("price", {"item": "a"})
            down = True
            clock.advance(30)
            young = await harness.call("price", {"item": "a"})
            other = await harness.call("price", {"item": "b"})
            clock.advance(60)
            old = await harness.call("price", {"item": "a"})
            return young, other, old

    young, other, old = run_virtual(main)
    assert young.ok
    assert young.degraded_by == "last_good"
    assert not other.ok
    assert not old.ok


def test_another_tool_takes_over():
    """A declared equivalent is switched to, and named."""

    async def main(clock):
        @tool(read_only=True, fallback="second", retry=None)
        async def first(word: str) -> str:
            """Look."""
            raise Unavailable("down")

        @tool(read_only=True)
        async def second(word: str) -> str:
            """Look."""
            return word.upper()

        async with Harness([first, second], clock=clock) as harness:
            return await harness.call("first", {"word": "x"})

    result = run_virtual(main)
    assert result.value == "X"
    assert result.degraded_by == "second"


def test_what_a_breaker_refuses_later_keeps_the_first_error():
    """A breaker that opens between two attempts ends the retries; the real failure is what is told."""
    from failsoft import Breaker

    policy = Policy(
        retry=Retry(max_attempts=9, base_s=0.1), breaker=Breaker(hard_failures=2), retry_budget=None
    )
    body = Body(Unavailable("down"))
    result = call_once(body, policy=policy, read_only=True)
    assert body.runs == 2
    assert result.error.kind == "unavailable"
    assert result.error.context["stopped"] == "circuit_open"


def test_passthrough_types_are_raised_as_they_are():
    """A host framework's control flow passes through untouched."""

    class Interrupt(Exception):
        pass

    async def main(clock):
        @tool(read_only=False)
        async def ask() -> str:
            """Ask."""
            raise Interrupt("pause")

        async with Harness([ask], clock=clock, passthrough=[Interrupt], store="memory") as harness:
            with pytest.raises(Interrupt):
                await harness.call("ask")
            return await harness.doubts()

    assert run_virtual(main) == []


def test_an_agent_error_of_an_unknown_kind_is_legal():
    """Kinds are an open set: a new one needs no change anywhere."""
    result = call_once(Body(AgentError("moon_phase", "Wrong moon.", retryable=False)), read_only=True)
    assert result.error.kind == "moon_phase"
    assert "moon_phase" in result.content
