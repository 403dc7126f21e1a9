"""What a service says about waiting holds for all calls of the tool, and injected values are told to nobody."""

import pytest

from failsoft import Harness, Policy, Retry, tool
from failsoft.core.errors import RateLimited
from failsoft.testing.clock import run_virtual


def test_a_hint_holds_for_the_other_calls_of_the_tool():
    """After "come back in 20 s" nobody goes earlier, and one that cannot wait so long is refused with nothing sent."""
    runs = []

    async def main(clock):
        @tool(read_only=True)
        async def ask(n: int) -> int:
            """Ask."""
            runs.append(clock.monotonic())
            if len(runs) == 1:
                raise RateLimited("slow down", retry_after_s=20)
            return n

        policy = Policy(retry=Retry(max_attempts=1), breaker=None)
        async with Harness([ask], policy=policy, clock=clock) as harness:
            start = clock.monotonic()
            await harness.call("ask", {"n": 1})
            hurried = await harness.call("ask", {"n": 2}, deadline_s=5)
            patient = await harness.call("ask", {"n": 3})
            return start, hurried, patient

    start, hurried, patient = run_virtual(main)
    assert hurried.error.reason == "held_by_hint"
    assert hurried.error.effect == "none"
    assert patient.value == 3
    assert runs[1] - start >= 20
    assert len(runs) == 2


async def test_an_injected_key_is_told_to_nobody():
    """The idempotency key that failsoft hands to the tool is in no text, even when the tool's error shouts it out."""
    seen, events = [], []

    @tool(read_only=False, idempotency_key="key", retry=None)
    async def pay(order: str, key: str) -> str:
        """Pay."""
        seen.append(key)
        raise RuntimeError(f"refused with key {key}")

    async with Harness([pay], store="memory", sinks=[events.append]) as harness:
        result = await harness.call("pay", {"order": "o1"})
    assert seen[0] not in result.content
    assert seen[0] not in result.error.message
    assert all(seen[0] not in str(event) for event in events)


async def test_closing_the_harness_closes_its_sinks():
    """A sink that queues hands over what it has before the harness is gone."""
    from failsoft.telemetry import QueueSink

    got = []
    sink = QueueSink(got.append)

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    async with Harness([look], sinks=[sink]) as harness:
        await harness.call("look")
    assert [str(event.name) for event in got] == ["call_finished"]


def test_a_tool_that_no_worker_can_find_is_refused_at_build():
    """`isolation="process"` needs a function that another process can import; a local one is refused with the reason."""
    from failsoft import UsageError

    @tool(read_only=True, isolation="process")
    def local() -> str:
        """Look."""
        return ""

    with pytest.raises(UsageError, match="local"):
        Harness([local])
