"""Your own loop on a provider's SDK, with failsoft between the model and the tools.

ANTHROPIC_API_KEY=... python examples/own_loop.py     # a real model
python examples/own_loop.py                           # a local stand-in that speaks the same API
"""

import asyncio
import contextlib
import os

import anthropic

from failsoft import Harness, calls_from, to_message, tool
from failsoft.cli.demo.model_server import ModelServer

ORDERS = {
    "1042": {
        "id": "1042",
        "customer": "Dana Brook",
        "email": "dana@shop.example",
        "item": "Teapot",
        "amount_cents": 2950,
    }
}
hiccups = 1


@tool(read_only=True, timeout_s=3)
async def find_order(order_id: str) -> dict:
    """Find an order.

    Args:
        order_id: The order's number, such as "1042".
    """
    global hiccups
    if hiccups:
        hiccups -= 1
        raise ConnectionResetError(104, "Connection reset by peer")
    return ORDERS[order_id]


async def main() -> None:
    """Ask, run what is asked for, answer, until the model is done."""
    with contextlib.ExitStack() as stack:
        client, model = anthropic.AsyncAnthropic(max_retries=0), "claude-sonnet-5-5"
        if not os.environ.get("ANTHROPIC_API_KEY"):
            server = ModelServer(seed=1, chaos=0)
            stack.callback(server.close)
            client, model = (
                anthropic.AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0),
                "stand-in",
            )

        messages: list = [{"role": "user", "content": "What was order 1042?"}]
        async with client, Harness([find_order]) as harness, harness.run() as run:
            while True:
                message = await client.messages.create(
                    model=model, max_tokens=1000, messages=messages, tools=harness.schemas("anthropic")
                )
                messages.append({"role": "assistant", "content": message.content})
                calls = calls_from("anthropic", message)
                if not calls:
                    break
                results = await run.call_all(calls)
                for result in results:
                    print(f"{result.call.name}: ok={result.ok} after {result.attempts} attempts")
                messages.append(to_message("anthropic", results))
        print("".join(block.text for block in message.content if block.type == "text"))


if __name__ == "__main__":
    asyncio.run(main())
