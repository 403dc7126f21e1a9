"""Streamable HTTP on both sides."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from failsoft.adapters.mcp.events import Events, event
from failsoft.isolation.supervisor import descendants

HERE = Path(__file__).parent
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]


def test_events_are_taken_apart_however_they_come():
    """Line ends of all kinds, comments, ids and data of several lines are read, in pieces of any size."""
    text = b'id: 7\r\nretry: 250\r\ndata: {"a":\rdata: 1}\n\n: nothing\n\nevent: x\ndata: two\n\ndata: cut'
    for size in (1, 2, 3, 100):
        events = Events()
        found = [data for at in range(0, len(text), size) for data in events.feed(text[at : at + size])]
        assert found == [b'{"a":\n1}', b"two"]
        assert (events.last_id, events.retry_s) == ("7", 0.25)
    assert list(Events().feed(event(b"{}\n"))) == [b"{}"]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def run(tmp_path):
    """Start a program that listens, and wait until it does; all are ended."""
    made = []
    environment = {
        **os.environ,
        "TOY_EFFECTS": str(tmp_path / "effects"),
        "FAILSOFT_HOME": str(tmp_path),
        "FAILSOFT_CONFIG": "none",
    }

    async def start(port, *argv):
        made.append(subprocess.Popen(argv, env=environment, cwd=tmp_path, stderr=subprocess.PIPE))
        for _ in range(1000):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    return made[-1]
            assert made[-1].poll() is None, made[-1].stderr.read()
            await asyncio.sleep(0.01)
        raise AssertionError("it does not listen")

    yield start
    for process in made:
        process.terminate()
        process.communicate(timeout=15)


@pytest.fixture
async def remote(connect_to, run):
    """A session of the proxy's before the SDK's server over HTTP."""
    port = free_port()
    await run(port, sys.executable, str(HERE / "sdk_server.py"), str(port))
    return await connect_to(f"http://127.0.0.1:{port}/mcp")


@pytest.fixture
async def connect_to():
    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.restarts import Restarts
    from failsoft.adapters.mcp.running import make_session
    from tests.adapters.mcp.conftest import Client as Fake

    made = []

    async def make(url, **more):
        client = Fake()
        spec = ServerSpec(name="remote", url=url, restarts=Restarts(base_s=0.02), **more)
        client.session = make_session(spec, client, store="memory", config=None)
        made.append(client.session)
        await client.session.start()
        return client

    yield make
    for session in made:
        await session.aclose()


@pytest.mark.process
@pytest.mark.slow
async def test_a_server_behind_a_url_is_served(remote):
    """Handshake, calls, progress, resources and errors of a server behind a URL."""
    hello = await remote.hello()
    assert hello["result"]["serverInfo"]["name"] == "sdk"
    called = await remote.ask("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert called["result"]["content"][0]["text"] == "hi"
    steps = await remote.ask("tools/call", {"name": "steps", "_meta": {"progressToken": 5}})
    assert steps["result"]["content"][0]["text"] == "done"
    assert [each["params"]["progress"] for each in remote.of("notifications/progress")] == [0, 1, 2]
    note = await remote.ask("resources/read", {"uri": "note://one"})
    assert note["result"]["contents"][0]["text"] == "the first note"
    broken = await remote.ask("tools/call", {"name": "broken", "arguments": {}})
    assert broken["result"]["isError"] is True


class Flaky:
    """A server of few words over HTTP: loses its session, refuses, or breaks off, as it is told."""

    def __init__(self):
        self.script, self.seen, self.sessions = [], [], 0

    async def handle(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method = head.split(b" ")[0]
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                ),
                0,
            )
            message = json.loads(await reader.readexactly(length)) if length else {}
            self.seen.append((method.decode(), message.get("method")))
            writer.write(self.answer(method, head, message))
            await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    def answer(self, method, head, message):
        if method != b"POST":
            return _http(405, b"")
        if "id" not in message:
            return _http(202, b"")
        if message["method"] == "initialize":
            self.sessions += 1
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "serverInfo": {"name": "f", "version": "1"},
            }
            return _json(message, result, f"mcp-session-id: s{self.sessions}\r\n")
        if message["method"] == "tools/list":
            look = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            return _json(
                message, {"tools": [look, {**look, "name": "act", "annotations": {"readOnlyHint": False}}]}
            )
        step = self.script.pop(0) if self.script else "ok"
        if step == "lost":
            return _http(404, b"")
        if step == "busy":
            return _http(503, b"later", "retry-after: 0\r\n")
        if step == "cut":
            return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 500\r\n\r\n: x\n\n"
        return _json(message, {"content": [{"type": "text", "text": f"in s{self.sessions}"}]})


def _http(status, body, more=""):
    return (
        f"HTTP/1.1 {status} X\r\n{more}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
        + body
    )


def _json(message, result, more=""):
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    return _http(200, body, f"content-type: application/json\r\n{more}")


@pytest.fixture
async def flaky():
    made = Flaky()
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    yield made
    server.close()
    await server.wait_closed()


async def test_a_lost_session_is_begun_again(flaky, connect_to):
    """When the server has forgotten the session, a new one is made and the call, which it did not take, is sent there."""
    client = await connect_to(flaky.url)
    await client.hello()
    await client.call("look")
    flaky.script = ["lost"]
    for name in ("act", "look"):
        answer = await client.call(name)
        assert answer["result"]["content"][0]["text"] == "in s2"


async def test_statuses_are_classified(flaky, connect_to):
    """A 503 is waited out for a tool that looks, and is a doubt for one that acts."""
    client = await connect_to(flaky.url)
    await client.hello()
    flaky.script = ["busy"]
    assert (await client.call("look"))["result"]["_meta"]["failsoft"]["attempts"] == 2
    flaky.script = ["busy"]
    failed = await client.call("act")
    assert failed["result"]["_meta"]["failsoft"]["error"] == "unavailable"


async def test_a_stream_that_breaks_is_a_failure_of_its_call(flaky, connect_to):
    """A stream that ends before the answer is asked again for a tool that looks, and leaves a doubt for one that acts."""
    client = await connect_to(flaky.url)
    await client.hello()
    flaky.script = ["cut"]
    assert (await client.call("look"))["result"]["content"][0]["text"] == "in s1"
    flaky.script = ["cut"]
    assert (await client.call("act"))["result"]["_meta"]["failsoft"]["doubt"]


async def test_a_url_where_nobody_listens_is_told(connect_to):
    """A server that is not there is a network failure without an effect."""
    client = await connect_to(f"http://127.0.0.1:{free_port()}/mcp")
    answer = await client.ask("initialize", {})
    assert "could not be reached" in answer["error"]["message"]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_the_official_client_over_http(run):
    """The SDK's client, with sessions and without, works through the proxy's own endpoint, and nothing is left after it."""
    port = free_port()
    process = await run(
        port,
        *PROXY,
        "--http",
        str(port),
        "--token",
        "t",
        "--",
        sys.executable,
        str(HERE / "sdk_server.py"),
        "stdio",
    )
    url = f"http://127.0.0.1:{port}/mcp"
    async with httpx2.AsyncClient(headers={"authorization": "Bearer t"}, timeout=20) as http:
        async with (
            streamable_http_client(url, http_client=http) as streams,
            ClientSession(*streams) as session,
        ):
            hello = await session.initialize()
            assert hello.server_info.name == "sdk"
            heard = []

            async def progress(done, total, message):
                heard.append(done)

            result = await session.call_tool("steps", {}, progress_callback=progress)
            assert result.content[0].text == "done"
            assert heard == [0, 1, 2]
            wrong = await session.call_tool("echo", {"txt": 1})
            assert wrong.meta["failsoft"]["error"] == "invalid_argument"
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport) as client:
            assert client.protocol_version == "2026-07-28"
            result = await client.call_tool("echo", {"text": "modern"})
            assert result.content[0].text == "modern"
    tree = descendants(process.pid)
    process.terminate()
    process.wait(15)
    assert not [pid for pid in tree if os.path.exists(f"/proc/{pid}/exe")]


@pytest.mark.process
@pytest.mark.slow
async def test_strangers_are_not_served(run):
    """Without the token, from a foreign page, under a foreign name, or with a session that is none: refused."""
    port = free_port()
    await run(
        port, *PROXY, "--http", str(port), "--token", "t", "--", sys.executable, str(HERE / "toy_server.py")
    )
    url, good = f"http://127.0.0.1:{port}/mcp", {"authorization": "Bearer t"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx2.AsyncClient(timeout=20) as http:
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer x"}, 401),
            ({**good, "origin": "https://example.com"}, 403),
            ({**good, "host": "example.com"}, 403),
            ({**good, "mcp-session-id": "none"}, 404),
        ):
            assert (await http.post(url, json=ping, headers=headers)).status_code == status
        assert (await http.post(url, content=b"{", headers=good)).status_code == 400
        assert (await http.post(url, json=ping, headers=good)).json()["result"]["echo"]["method"] == "ping"


async def test_a_token_that_a_server_quotes_is_not_told(connect_to):
    """A server that writes what it was sent into its refusal does not bring a secret to the model or into the log."""

    async def quote(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        sent = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"x-key"))
        writer.write(_http(400, b"do not know " + sent))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(quote, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with server:
        client = await connect_to(url, headers={"X-Key": "opaque-4711-key"})
        answer = await client.ask("initialize", {})
    assert "do not know" in answer["error"]["message"]
    assert "opaque-4711-key" not in str(answer)


async def test_an_endpoint_that_moved_is_followed(connect_to):
    """A redirect to another path of the same server is followed, and used from then on; one to another server is not."""
    paths = []

    async def moved(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        message = json.loads(await reader.readexactly(length))
        paths.append(head.split(b" ")[1].decode())
        if paths[-1] == "/mcp":
            writer.write(_http(307, b"", "location: /mcp/\r\n"))
        elif paths[-1] == "/away":
            writer.write(_http(307, b"", "location: http://localhost:9/mcp\r\n"))
        else:
            writer.write(_json(message, {"at": paths[-1]}))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(moved, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        client = await connect_to(f"{origin}/mcp")
        for _ in range(2):
            assert (await client.ask("ping"))["result"] == {"at": "/mcp/"}
        assert paths == ["/mcp", "/mcp/", "/mcp/"]
        away = await connect_to(f"{origin}/away")
        assert "error" in await away.ask("ping")


async def test_a_trace_goes_on_to_the_server():
    """What an HTTP client says of its trace reaches the server with the request that follows from its own; a token does not."""
    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.listener import Listener
    from failsoft.adapters.mcp.running import make_front
    from tests.adapters.mcp.protected import served

    seen = []

    async def serve(request):
        seen.append(dict(request.headers))
        message = await request.json()
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    app = Starlette(routes=[Route("/mcp", serve, methods=["POST"])])
    async with served(app) as origin:
        spec = ServerSpec(name="s", url=f"{origin}/mcp")
        listener = Listener(
            lambda client: make_front([spec], client, store="memory", config=None), token="own-token"
        )
        async with served(listener.app) as proxy, httpx2.AsyncClient() as http:
            sent = {
                "authorization": "Bearer own-token",
                "traceparent": "00-a-b-01",
                "baggage": "k=v",
                "x-other": "1",
            }
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await http.post(f"{proxy}/mcp", json=ping, headers=sent)).status_code == 200
        await listener.aclose()
    assert (seen[0]["traceparent"], seen[0]["baggage"]) == ("00-a-b-01", "k=v")
    assert not {"authorization", "x-other"} & set(seen[0])
