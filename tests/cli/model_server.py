"""A model's server in a thread of its own, for commands that ask one."""

import asyncio
import threading
from contextlib import contextmanager

from tests.agent.servers.chat_completions import ChatServer
from tests.agent.servers.messages_api import MessagesServer
from tests.agent.servers.responses_api import ResponsesServer

APIS = {
    "anthropic": (MessagesServer, ""),
    "openai": (ChatServer, "/v1"),
    "responses": (ResponsesServer, "/v1"),
}


@contextmanager
def model(script, api="anthropic", **options):
    """A model's server in a thread of its own; gives its URL. Nothing it was sent was malformed."""
    made, loop = threading.Event(), asyncio.new_event_loop()
    kind, path = APIS[api]
    found = {}

    async def serve():
        async with kind(script, **options) as server:
            found["server"], found["end"] = server, asyncio.Event()
            made.set()
            await found["end"].wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert made.wait(10)
    try:
        yield found["server"].origin + path
    finally:
        loop.call_soon_threadsafe(found["end"].set)
        thread.join(10)
        loop.close()
    assert found["server"].refused == []
