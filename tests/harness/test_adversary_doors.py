"""Threads, event loops, nested calls, runs, roles, keys and fallbacks, in ways that nobody should use them."""

import asyncio
import contextvars
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from failsoft import (
    AgentError,
    Bulkhead,
    CallContext,
    Fallback,
    Harness,
    Policy,
    Retry,
    Timeout,
    ToolCall,
    current,
    tool,
)
from failsoft.core.errors import make_error
from failsoft.testing.clock import run_virtual

PLAIN = Policy(retry=None, breaker=None)
WHO = contextvars.ContextVar("who", default="nobody")


@pytest.mark.slow
def test_identical_calls_from_many_threads_have_one_effect():
    """Twenty threads with loops of their own ask for the same charge of one run: one body, one value."""
    effects = []

    @tool(read_only=False, idempotent=False)
    async def charge(order: str) -> str:
        """Charge.

        Args:
            order: Order.
        """
        effects.append(order)
        await asyncio.sleep(0.1)
        return "charged"

    harness = Harness([charge], policy=PLAIN, store="memory")
    values, gate = [], threading.Barrier(20)

    def caller(number):
        gate.wait(10)
        if number % 2:
            result = harness.call_sync("charge", {"order": "1"}, run="r")
        else:
            result = asyncio.run(harness.call("charge", {"order": "1"}, run="r"))
        values.append(result.value)

    threads = [threading.Thread(target=caller, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert effects == ["1"]
    assert values == ["charged"] * 20
    assert harness.stats().in_flight == 0


async def test_a_call_within_a_call_sees_its_own_context():
    """The inner call has its own attempt, key and deadline, and the outer one is back afterwards."""
    seen = []

    @tool(read_only=True)
    async def inner() -> str:
        """Inner."""
        seen.append(("inner", current().name))
        return WHO.get()

    @tool(read_only=True)
    async def outer(ctx: CallContext) -> str:
        """Outer."""
        WHO.set("outer")
        result = await harness.call("inner")
        seen.append(("outer", current().name, ctx.name))
        return result.value

    async with Harness([inner, outer], policy=PLAIN, store="memory") as harness:
        assert (await harness.call("outer")).value == "outer"
    assert seen == [("inner", "inner"), ("outer", "outer", "outer")]
    with pytest.raises(Exception, match="only inside"):
        current()


@pytest.mark.slow
async def test_a_sync_tool_may_call_through_the_sync_door():
    """From its thread, within the outer deadline, with the caller's context."""

    @tool(read_only=True)
    async def slow() -> str:
        """Slow."""
        await asyncio.sleep(30)
        return ""

    @tool(read_only=True)
    def outer() -> str:
        """Outer."""
        result = harness.call_sync("slow")
        return f"{WHO.get()} {result.error.kind}"

    WHO.set("me")
    async with Harness([slow, outer], policy=PLAIN, store="memory") as harness:
        began = time.monotonic()
        result = await harness.call("outer", deadline_s=0.5)
        assert time.monotonic() - began < 2
    assert not result.ok or result.value == "me timeout"


def test_a_nested_retry_stays_within_the_outer_time():
    """Retries in retries: the outer deadline holds for all of them."""

    async def main(clock):
        @tool(read_only=True)
        async def leaf() -> str:
            """Leaf."""
            await asyncio.sleep(1)
            raise ConnectionRefusedError(111, "refused")

        @tool(read_only=True)
        async def branch() -> str:
            """Branch."""
            return (await harness.call("leaf")).unwrap()

        policy = Policy(retry=Retry(max_attempts=10, base_s=0.5), breaker=None)
        harness = Harness([leaf, branch], policy=policy, clock=clock, store="memory")
        began = clock.monotonic()
        result = await harness.call("branch", deadline_s=5.0)
        return clock.monotonic() - began, result

    took_s, result = run_virtual(main)
    assert took_s <= 5.01
    assert not result.ok


async def test_a_host_exception_out_of_a_nested_call_passes_both():
    """`passthrough` reaches the host from any depth."""

    class Interrupt(Exception):
        """A host's control flow."""

    @tool(read_only=True)
    async def leaf() -> str:
        """Leaf."""
        raise Interrupt

    @tool(read_only=True)
    async def branch() -> str:
        """Branch."""
        return (await harness.call("leaf")).unwrap()

    async with Harness([leaf, branch], store="memory", passthrough=[Interrupt]) as harness:
        with pytest.raises(Interrupt):
            await harness.call_all([ToolCall("1", "branch", {}), ToolCall("2", "leaf", {})])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_one_key_goes_through_all_attempts_and_a_new_call_gets_a_new_one():
    """The tool sees one idempotency key per intent, and the model none."""
    keys = []

    @tool(idempotency_key="key", read_only=False, retry=Retry(max_attempts=4, base_s=0))
    async def pay(order: str, key: str) -> str:
        """Pay.

        Args:
            order: Order.
            key: Key.
        """
        keys.append(key)
        if len(keys) < 3:
            raise ConnectionResetError(104, "reset")
        return "paid"

    async with Harness([pay], store="memory") as harness:
        assert "key" not in str(harness.schemas("openai")[0])
        refused = await harness.call("pay", {"order": "1", "key": "mine"})
        assert not refused.ok
        first = await harness.call("pay", {"order": "1"})
        second = await harness.call("pay", {"order": "1"})
    assert first.value == second.value == "paid"
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]


async def test_a_fallback_tool_leaves_the_doubt_about_the_first_one():
    """The first bank may have paid, the second one has: the answer is degraded and says what is in doubt."""
    paid = []

    @tool(idempotent=True, idempotency_key="key", fallback=Fallback(tool="pay_at_b"))
    async def pay_at_a(order: str, key: str) -> str:
        """Pay.

        Args:
            order: Order.
            key: Key.
        """
        raise ConnectionResetError(104, "reset")

    @tool(idempotent=True, idempotency_key="key")
    async def pay_at_b(order: str, key: str) -> str:
        """Pay.

        Args:
            order: Order.
            key: Key.
        """
        paid.append(order)
        return "paid at b"

    banks = Harness([pay_at_a, pay_at_b], policy=PLAIN, store="memory")
    async with banks as harness, harness.run() as run:
        first = await run.call("pay_at_a", {"order": "1"})
        assert (first.value, first.degraded_by) == ("paid at b", "pay_at_b")
        assert first.doubt is not None
        assert [doubt.tool for doubt in await harness.doubts()] == ["pay_at_a"]
    assert paid == ["1"]


async def test_roles_are_not_granted_by_spelling():
    """A role is a whole word, whatever it is handed in as."""

    @tool(read_only=True, roles=("admin",))
    async def secret() -> str:
        """Secret."""
        return "ok"

    async with Harness([secret], store="memory") as harness:
        for roles in ((), "adm", ["a", "d", "m", "i", "n"], ("Admin",)):
            assert (await harness.call("secret", roles=roles)).error.kind == "permission_denied"
        assert (await harness.call("secret", roles="admin")).ok
        assert (await harness.call("secret", roles={"admin", "x"})).ok


async def test_a_huge_result_is_bounded_for_the_model_and_whole_for_the_caller():
    """Thirty million characters: the value is whole, the content is not, and making it takes no seconds."""

    @tool(read_only=True)
    async def big() -> str:
        """Big."""
        return "x" * 30_000_000

    async with Harness([big], store="memory") as harness:
        result = await harness.call("big")
        began = time.monotonic()
        assert len(result.content) < 20_000
        assert time.monotonic() - began < 1
    assert len(result.value) == 30_000_000


async def test_wrapped_functions_raise_what_the_path_found():
    """`wrap` gives values and raises errors, and a cancel passes it."""

    @tool(read_only=True, retry=None)
    async def half(n: int) -> float:
        """Half.

        Args:
            n: Number.
        """
        if n < 0:
            raise make_error("not_found", "no half")
        await asyncio.sleep(n)
        return n / 2

    async with Harness([half], store="memory") as harness:
        call = harness.wrap(half)
        assert await call(0) == 0
        with pytest.raises(AgentError):
            await call(n=-1)
        task = asyncio.create_task(call(30))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.slow
def test_a_harness_is_collected_with_its_loops():
    """Harnesses that were used and closed leave no objects behind."""
    import weakref

    left = []

    def once():
        @tool(read_only=True)
        async def look() -> str:
            """Look."""
            return "ok"

        async def main():
            async with Harness([look], store="memory") as harness:
                left.append(weakref.ref(harness))
                assert (await harness.call("look")).ok

        asyncio.run(main())

    for _ in range(5):
        once()
    gc.collect()
    assert [ref() for ref in left] == [None] * 5


def test_the_thread_that_times_out_keeps_its_place_until_it_ends():
    """A zombie holds its bulkhead place, its late end frees it, and the count is right again."""

    @tool(read_only=True, timeout=Timeout(attempt_s=0.1, total_s=0.2), bulkhead=Bulkhead(limit=1))
    def block(seconds: float) -> str:
        """Block.

        Args:
            seconds: How long.
        """
        time.sleep(seconds)
        return "ok"

    async def main():
        harness = Harness([block], policy=PLAIN, store="memory")
        late = await harness.call("block", {"seconds": 0.5})
        assert late.error.kind == "timeout"
        assert harness.stats().zombies == 1
        refused = await harness.call("block", {"seconds": 0})
        assert refused.error.kind == "overloaded"
        await asyncio.sleep(0.6)
        assert harness.stats().zombies == 0
        assert (await harness.call("block", {"seconds": 0})).ok
        await harness.aclose()

    asyncio.run(main())


SCRIPT = """
import asyncio, sys
from failsoft import Harness, tool, interrupted_results

@tool(read_only=False)
async def charge() -> str:
    "Charge."
    print("begun", flush=True)
    await asyncio.sleep(30)
    return "ok"

async def main():
    async with Harness([charge], store=sys.argv[1]) as harness:
        await harness.call("charge")

try:
    asyncio.run(main())
except KeyboardInterrupt:
    async def look():
        async with Harness([charge], store=sys.argv[1]) as harness:
            print("doubts", len(await harness.doubts()), flush=True)
    asyncio.run(look())
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_program_and_leaves_the_doubt(tmp_path):
    """A real SIGINT while a charge runs: out at once, and the charge is in doubt."""
    code = textwrap.dedent(SCRIPT)
    url = f"sqlite:///{tmp_path}/a.db"
    started = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "doubts 1\n"
        child.wait(10)
    assert time.monotonic() - started < 15
