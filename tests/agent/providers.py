"""The three APIs side by side, so that one test speaks to each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from failsoft.agent import AnthropicClient, OpenAIClient
from tests.agent.servers.base import ModelServer
from tests.agent.servers.chat_completions import ChatServer
from tests.agent.servers.messages_api import MessagesServer
from tests.agent.servers.responses_api import ResponsesServer

APIS = ("messages", "chat", "responses")
_SERVERS: dict[str, type[ModelServer]] = {
    "messages": MessagesServer,
    "chat": ChatServer,
    "responses": ResponsesServer,
}


@asynccontextmanager
async def provider(api: str, script: Any, **options: Any) -> AsyncIterator[tuple[ModelServer, Any]]:
    """A server of this API and a client for it; at the end, nothing was refused as malformed."""
    timeout_s, key = options.pop("timeout_s", 5.0), options.pop("api_key", "k")
    async with _SERVERS[api](script, **options) as server:
        if api == "messages":
            client: Any = AnthropicClient(
                "stand-in", api_key=key, base_url=server.origin, timeout_s=timeout_s
            )
        else:
            client = OpenAIClient(
                "stand-in", api=api, api_key=key, base_url=f"{server.origin}/v1", timeout_s=timeout_s
            )  # type: ignore[arg-type]
        try:
            yield server, client
        finally:
            await client.aclose()
        assert server.refused == [], server.refused
