"""The other ways in: batches, synchronous code, wrapped functions."""

import asyncio
import contextvars
import threading

import pytest

from failsoft import AgentError, Harness, ToolCall, UsageError, tool
from failsoft.harness.sync_door import background_loop

request_id = contextvars.ContextVar("request_id", default="none")


@tool(read_only=True)
async def echo(word: str) -> str:
    """Echo."""
    return word


@tool(read_only=True)
def where() -> str:
    """Tell the request."""
    return f"{request_id.get()} {threading.current_thread() is threading.main_thread()}"


async def test_a_batch_keeps_order_and_makes_ids_unique():
    """Every call gets one result in order, also with repeated, missing and unknown ones."""
    calls = [
        ToolCall("a", "echo", {"word": "1"}),
        ToolCall("a", "echo", {"word": "2"}),
        ToolCall("", "echo", {"word": "3"}),
        ToolCall("b", "nope", {}),
        ToolCall("a-2", "echo", '{"word": "5"}'),
    ]
    async with Harness([echo]) as harness:
        results = await harness.call_all(calls)
    ids = [result.call.id for result in results]
    assert len(set(ids)) == 5
    assert ids[0] == "a"
    assert [result.value for result in results] == ["1", "2", "3", None, "5"]


async def test_a_batch_runs_at_most_so_many_at_once():
    """`max_parallel` bounds the bodies, and a tool with `parallel=False` runs alone."""
    running, most, alone = 0, 0, []

    @tool(read_only=True)
    async def work(n: int) -> int:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return n

    @tool(read_only=True, parallel=False)
    async def single() -> int:
        """Work alone."""
        alone.append(running)
        return -1

    calls = [ToolCall(str(n), "work", {"n": n}) for n in range(6)]
    calls[3] = ToolCall("3", "single")
    async with Harness([work, single]) as harness:
        results = await harness.call_all(calls, max_parallel=2)
    assert [result.value for result in results] == [0, 1, 2, -1, 4, 5]
    assert most == 2
    assert alone == [0]


async def test_a_sync_tool_runs_in_a_thread_with_its_context():
    """Context variables are carried and the loop stays free."""
    request_id.set("r-77")
    async with Harness([where]) as harness:
        assert (await harness.call("where")).value == "r-77 False"


def test_the_sync_door_gives_results_and_carries_context():
    """Synchronous code calls the same path; its context variables arrive."""
    harness = Harness([echo, where])
    token = request_id.set("r-78")
    try:
        assert harness.call_sync("echo", {"word": "x"}).value == "x"
        assert harness.call_sync("where").value == "r-78 False"
    finally:
        request_id.reset(token)
    results = harness.call_all_sync(
        [ToolCall("a", "echo", {"word": "1"}), ToolCall("b", "echo", {"word": "2"})]
    )
    assert [result.value for result in results] == ["1", "2"]


def test_the_sync_door_refuses_its_own_loop():
    """On the loop's own thread waiting would be for ever: it is refused with the reason."""
    harness = Harness([echo])

    async def inside():
        return harness.call_sync("echo", {"word": "x"})

    with pytest.raises(UsageError, match="wait for itself"):
        asyncio.run_coroutine_threadsafe(inside(), background_loop()).result(5)


def test_one_harness_serves_many_loops_and_threads():
    """Several threads with loops of their own call one harness at once."""
    harness = Harness([echo, where])
    values = []

    async def many():
        results = await asyncio.gather(*(harness.call("echo", {"word": str(n)}) for n in range(50)))
        values.extend(result.value for result in results)

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(values, key=int) == sorted([str(n) for n in range(50)] * 4, key=int)


async def test_a_wrapped_function_returns_and_raises():
    """A wrapped function is called as before; failures are raised as `AgentError`."""

    @tool(read_only=True, retry=None)
    async def half(n: int) -> float:
        """Halve."""
        if n % 2:
            raise ValueError("odd")
        return n / 2

    async with Harness([half, echo]) as harness:
        halve = harness.wrap(half)
        assert await halve(4) == 2
        with pytest.raises(AgentError) as caught:
            await halve(3)
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(UsageError, match="no tool of this harness"):
            harness.wrap(print)


def test_a_wrapped_sync_function_is_sync():
    """A synchronous tool is wrapped into a synchronous function."""
    harness = Harness([where])
    assert harness.wrap(where)().endswith("False")
