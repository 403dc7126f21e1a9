"""A harness of one's own as an MCP server."""

import asyncio
import base64
import json
import os
import sys

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from failsoft.adapters.mcp.served import Served
from failsoft.core.context import CallContext
from failsoft.harness.harness import Harness
from failsoft.tools import tool

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


@tool(read_only=True)
async def add(a: int, b: int) -> dict[str, int]:
    """Add."""
    return {"sum": a + b}


@tool(read_only=True)
async def draw() -> bytes:
    """Draw."""
    return PNG


@tool(read_only=True)
async def slow(call: CallContext) -> str:
    """Work, and tell of it."""
    call.progress(1, 2, "half")
    await asyncio.sleep(30)
    return "done"


class Wire:
    def __init__(self, harness):
        self.messages = []
        self.served = Served(harness, self)

    def send(self, line, message):
        self.messages.append(json.loads(line))

    def pause(self, paused):
        raise AssertionError("nothing is slow here")

    async def ask(self, method, params=None, id=1):
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        self.served.from_client(json.dumps(message).encode())
        while not any(each.get("id") == id for each in self.messages):
            await asyncio.sleep(0.001)
        return next(each for each in self.messages if each.get("id") == id)


@pytest.fixture
async def wire():
    made = Wire(Harness([add, draw, slow], config=None))
    yield made
    await made.served.aclose()
    await made.served.harness.aclose()


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
async def test_the_handshake_agrees_on_a_version(wire, asked, given):
    """A version that is known is taken, for any other the newest one is offered."""
    answer = await wire.ask("initialize", {"protocolVersion": asked})
    assert answer["result"]["protocolVersion"] == given
    assert answer["result"]["capabilities"] == {"tools": {"listChanged": False}}


async def test_a_value_comes_as_text_and_as_an_object(wire):
    """A mapping is structured content beside the text that the model reads."""
    answer = await wire.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert answer["result"]["structuredContent"] == {"sum": 3}
    assert json.loads(answer["result"]["content"][0]["text"]) == {"sum": 3}


async def test_an_image_is_a_block(wire):
    """Bytes of an image are an image of the protocol's."""
    answer = await wire.ask("tools/call", {"name": "draw"})
    block = answer["result"]["content"][0]
    assert block["type"] == "image"
    assert block["mimeType"] == "image/png"
    assert base64.b64decode(block["data"]) == PNG


async def test_errors_are_read_by_models_and_machines(wire):
    """A failure is `isError` with the feedback as text and its fields in `_meta`."""
    answer = await wire.ask("tools/call", {"name": "add", "arguments": {"a": "x"}})
    assert answer["result"]["isError"] is True
    assert answer["result"]["_meta"]["failsoft"]["error"] == "invalid_argument"


async def test_progress_and_cancel_work(wire):
    """Progress goes out under the client's token; a cancelled call is not answered."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"name": "slow", "_meta": {"progressToken": "p"}}
    wire.served.from_client(json.dumps({**call, "params": params}).encode())
    while not wire.messages:
        await asyncio.sleep(0.001)
    assert wire.messages[0]["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    wire.served.from_client(json.dumps(cancel).encode())
    await wire.served.drain(1.0)
    assert len(wire.messages) == 1


async def test_the_stateless_protocol_is_spoken(wire):
    """Requests that carry their version get results that say that they are complete."""
    found = await wire.ask("server/discover", {"_meta": MODERN})
    assert "2026-07-28" in found["result"]["supportedVersions"]
    listed = await wire.ask("tools/list", {"_meta": MODERN}, id=2)
    assert listed["result"]["resultType"] == "complete"
    assert listed["result"]["ttlMs"] > 0
    called = await wire.ask(
        "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": MODERN}, id=3
    )
    assert called["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [("nothing", {}, -32601), ("tools/call", {}, -32602), ("resources/list", {}, -32601)],
)
async def test_what_is_not_served_is_refused(wire, method, params, code):
    """Unknown methods and calls without a name get the protocol's error."""
    assert (await wire.ask(method, params))["error"]["code"] == code


@pytest.mark.process
@pytest.mark.slow
async def test_the_official_client_is_served(tmp_path):
    """`failsoft serve MODULE` speaks to the SDK's client."""
    (tmp_path / "desk.py").write_text(
        "from failsoft import tool\n\n\n@tool(read_only=True)\ndef add(a: int, b: int) -> int:\n"
        '    """Add."""\n    print("a stray print")\n    return a + b\n'
    )
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from failsoft.cli import main; raise SystemExit(main())", "serve", "desk"],
        env={**os.environ, "FAILSOFT_HOME": str(tmp_path), "FAILSOFT_CONFIG": "none"},
        cwd=tmp_path,
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        assert [each.name for each in (await session.list_tools()).tools] == ["add"]
        result = await session.call_tool("add", {"a": 1, "b": 2})
        assert result.content[0].text == "3"
