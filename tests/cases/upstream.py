"""A client that repeats requests by itself below a tool, and what an adapter that turns this off sends."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from failsoft.agent import Agent, OpenAIClient
from failsoft.harness.harness import Harness
from failsoft.policies import Retry
from tests.cases import build

__all__ = ["Upstream", "adapter_requests"]


class Upstream:
    """A stand-in for an SDK's client: several requests a call, each of which fails the same way.

    Args:
        spec: The case's `inner_client`.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self.requests = 0
        setattr(self, spec.get("max_retries_attribute", "max_retries"), spec["requests_per_call"] - 1)

    async def request(self) -> Any:
        """One call of the client."""
        tries = getattr(self, self._spec.get("max_retries_attribute", "max_retries")) + 1
        for _ in range(tries):
            self.requests += 1
            await asyncio.sleep(self._spec["seconds_per_request"])
        answer = {"$http_response": {"headers": {}, "body": "", **self._spec["always"]}}
        request = {"$http_request": ["POST", "https://api.example.test/"]}
        kwargs = {"request": request, "response": answer}
        raise build.exception({"class": "httpx.HTTPStatusError", "args": ["failed"], "kwargs": kwargs})


async def adapter_requests(spec: dict[str, Any], policy: dict[str, Any]) -> int:
    """How many requests a real server sees where failsoft itself makes the SDK's client."""
    seen = 0
    status = spec["always"]["status"]
    body = json.dumps({"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}})

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        await reader.readexactly(length)
        seen += 1
        writer.write(
            f"HTTP/1.1 {status} Failed\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = OpenAIClient("model", api_key="none", base_url=f"http://127.0.0.1:{port}/v1")
    retry = Retry(
        max_attempts=policy.get("max_attempts", 3), base_s=policy.get("first_delay_s", 0.05), per_kind={}
    )
    async with server, Harness([], store="memory") as harness:
        await Agent(client, harness, retry=retry).run("Hello.")
    if seen == 0:
        raise AssertionError("the adapter sent nothing")
    return seen
