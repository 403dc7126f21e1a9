"""What a loop costs per turn: 50 turns of 4 parallel calls against a local server that answers at once.

    python bench/agent.py [--turns 50] [--rounds 5] [--json FILE]

All speak Chat Completions by the same SDK to the same server, with the same tool. The floor is the SDK alone, sending
the same growing conversation. Peers run where they are installed: pydantic-ai, langchain, openai-agents.
Interleaved rounds, medians. CPU time is what a busy machine does not disturb.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALLS = 4
PROMPT = "Add."
SCHEMA = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


# ---- the server: one process of its own, no framework ----


def serve(port: Any, turns: int) -> None:
    """Answer with calls until there are `turns` answers in the conversation, then with text."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            done = body.count(b'"assistant"')
            answer = json.dumps(completion(done, turns)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                % len(answer)
            )
            writer.write(answer)
            await writer.drain()

    async def main() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 26)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(main())


def completion(done: int, turns: int) -> dict[str, Any]:
    """One answer."""
    message: dict[str, Any] = {"role": "assistant", "content": "done" if done >= turns else None}
    if done < turns:
        message["tool_calls"] = [
            {
                "id": f"call_{done}_{n}",
                "type": "function",
                "function": {"name": "add", "arguments": json.dumps({"a": done, "b": n})},
            }
            for n in range(CALLS)
        ]
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop" if done >= turns else "tool_calls"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


# ---- who is measured ----


async def floor(url: str, turns: int) -> Callable[[], Awaitable[Any]]:
    """The SDK alone: the conversation grows as in the others, calls are answered without being run."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)

    async def run() -> None:
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        while True:
            made = await client.chat.completions.create(model="m", messages=messages, tools=[SCHEMA])  # type: ignore[list-item]
            message = made.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            messages.extend(
                {"role": "tool", "tool_call_id": c.id, "content": "1"} for c in message.tool_calls
            )

    return run


async def failsoft(url: str, turns: int) -> Callable[[], Awaitable[Any]]:
    """The default path: harness with retries, breaker, time-outs, ledger; limits, checks and loop detection."""
    from failsoft.agent import Agent, Limits, OpenAIClient
    from failsoft.harness.harness import Harness
    from failsoft.tools import tool

    @tool(read_only=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    limits = Limits(max_turns=turns + 2, max_calls=turns * CALLS + 1)
    agent = Agent(OpenAIClient("m", base_url=url), Harness([add], store="memory"), limits=limits)

    async def run() -> None:
        outcome = await agent.run(PROMPT)
        assert outcome.text == "done", outcome.summary()

    return run


async def pydantic_ai(url: str, turns: int) -> Callable[[], Awaitable[Any]]:
    """pydantic-ai's Agent."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k")))

    @agent.tool_plain
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def run() -> None:
        result = await agent.run(PROMPT, usage_limits=UsageLimits(request_limit=turns + 2))
        assert result.output == "done"

    return run


async def langchain(url: str, turns: int) -> Callable[[], Awaitable[Any]]:
    """langchain's create_agent."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    agent = create_agent(ChatOpenAI(model="m", base_url=url, api_key="k", max_retries=0), [add])  # type: ignore[arg-type]

    async def run() -> None:
        made = await agent.ainvoke({"messages": [("user", PROMPT)]}, {"recursion_limit": 10 * turns})
        assert made["messages"][-1].content == "done"

    return run


async def openai_agents(url: str, turns: int) -> Callable[[], Awaitable[Any]]:
    """The OpenAI Agents SDK."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="k", max_retries=0))
    agent = Agent(name="a", model=model, tools=[add])

    async def run() -> None:
        result = await Runner.run(agent, PROMPT, max_turns=turns + 2)
        assert result.final_output == "done"

    return run


CONTENDERS = (floor, failsoft, pydantic_ai, langchain, openai_agents)


async def measure(url: str, turns: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Median milliseconds per turn of each contender that is there: wall time, and this process's CPU time."""
    runs = {}
    for contender in CONTENDERS:
        try:
            runs[contender.__name__] = await contender(url, turns)
        except ImportError as exc:
            print(f"{contender.__name__}: not installed ({exc})", file=sys.stderr)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            begun, busy = time.perf_counter(), time.process_time()
            await run()
            if number:  # the first round warms up
                scale = 1000 / (turns + 1)
                times[name].append(
                    ((time.perf_counter() - begun) * scale, (time.process_time() - busy) * scale)
                )
    return {
        name: (statistics.median(wall for wall, _ in values), statistics.median(cpu for _, cpu in values))
        for name, values in times.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port, options.turns), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    found = asyncio.run(measure(f"http://127.0.0.1:{port.value}/v1", options.turns, options.rounds))
    server.terminate()
    base = found["floor"][1]
    print(f"{'':14} wall ms a turn   CPU ms a turn   CPU to the floor")
    for name, (wall, cpu) in found.items():
        print(f"{name:14} {wall:14.2f} {cpu:15.2f} {cpu / base:18.2f}")
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"ms_per_turn": found, "turns": options.turns, "machine": machine}, file, indent=1)


if __name__ == "__main__":
    main()
