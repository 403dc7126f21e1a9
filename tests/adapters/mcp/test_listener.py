"""The proxy's own endpoint: requests without a handshake, and clients that come back."""

import asyncio
import json
import sys

import httpx2
import pytest

from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.listener import listen
from failsoft.adapters.mcp.running import make_front
from tests.adapters.mcp.conftest import TOY

META = "io.modelcontextprotocol"
MODERN = "2026-07-28"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
BOTH = "application/json, text/event-stream"

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
async def client(effects, monkeypatch):
    """A client of the proxy before the toy server, over HTTP."""
    monkeypatch.setenv("TOY_EFFECTS", str(effects.path))
    spec = ServerSpec(name="toy", argv=(sys.executable, "-u", str(TOY)))
    told = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        listen(
            lambda port: make_front([spec], port, store="memory", config=None),
            0,
            token=None,
            told=told.set_result,
        )
    )
    async with httpx2.AsyncClient(
        base_url=(await told).removesuffix("/mcp"), timeout=15, headers={"accept": BOTH}
    ) as http:
        yield http
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def modern(method, id=1, **params):
    """The body and the headers of a request without a handshake."""
    meta = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta, **params}}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    return body, {**headers, "mcp-name": params["name"]} if "name" in params else headers


async def ask(http, body, headers):
    return await http.post("/mcp", json=body, headers=headers)


async def test_a_request_is_refused_before_a_server_hears_of_it(client, effects):
    """What lacks its version, or differs from its headers, is answered with 400 and its id; a handshake with 404."""
    body, headers = modern("tools/list", 5)
    for wrong, code in (
        ({"params": {}}, -32602),
        ({"params": {"_meta": {f"{META}/protocolVersion": MODERN}}}, -32602),
        ({"method": "prompts/list"}, -32020),
    ):
        answer = await ask(client, {**body, **wrong}, headers)
        assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, code, 5)
    for name in headers:
        answer = await ask(client, body, {**headers, name: "other"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020), name
    twice = await client.post("/mcp", json=body, headers=[*headers.items(), ("mcp-method", "tools/list")])
    assert twice.status_code == 400
    answer = await ask(client, *modern("initialize"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)
    assert (await client.get("/mcp", headers=headers)).status_code == 405
    assert (await ask(client, {"jsonrpc": "2.0", "method": "notifications/x"}, headers)).status_code == 202
    assert not effects.lines()


async def test_answers_have_their_status(client):
    """A request without a handshake is answered at once as JSON, and an error by its status."""
    answer = await ask(client, *modern("tools/call", 3, name="look", arguments={"n": 1}))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["result"]["structuredContent"] == {"n": 1}
    answer = await ask(client, *modern("tools/call", name="look", arguments={"how": "error"}))
    assert (answer.status_code, answer.json()["error"]["data"]) == (400, {"own": 1})


async def test_progress_reaches_a_client_without_a_session(client):
    """Progress comes under the token that the client gave."""
    body, headers = modern("tools/call", name="look", arguments={"how": "progress"})
    body["params"]["_meta"]["progressToken"] = "mine"
    answer = await ask(client, body, headers)
    said = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [each["params"]["progressToken"] for each in said[:-1]] == ["mine"] * 5
    assert said[-1]["id"] == 1


async def begun(http):
    """The headers of a session."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    answer = await http.post("/mcp", json=hello)
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


async def test_an_answer_waits_for_a_client_that_lost_its_connection(client):
    """The first event says where to come back to; who comes back there gets the progress and the answer that it missed."""
    session = await begun(client)
    arguments = {"name": "look", "arguments": {"how": "progress"}, "_meta": {"progressToken": 9}}
    call = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": arguments}
    async with client.stream("POST", "/mcp", json=call, headers=session) as answer:
        lines = answer.aiter_lines()
        first = [await anext(lines) for _ in range(3)]
    assert first[1:] == ["retry: 500", "data: "]
    place = first[0].removeprefix("id: ")
    rest = await client.get("/mcp", headers={**session, "last-event-id": place})
    said = [json.loads(line[6:]) for line in rest.text.splitlines() if line.startswith("data: ")]
    assert [each["params"]["progress"] for each in said[:-1]] == [0, 1, 2, 3, 4]
    assert said[-1]["result"]["content"][0]["text"] == "look 0"
    gone = await client.get("/mcp", headers={**session, "last-event-id": place})
    assert gone.status_code == 404


async def test_a_request_without_a_handshake_leaves_others_alone(client, effects):
    """A session, requests without a handshake and requests that are neither have a server each."""
    session = await begun(client)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await client.post("/mcp", json=ping, headers=session)).status_code == 200
    assert (await client.post("/mcp", json=ping)).status_code == 200
    assert (await ask(client, *modern("tools/list"))).status_code == 200
    assert len(effects.lines("initialize")) == 1
    assert (await client.delete("/mcp", headers=session)).status_code == 204
    assert (await client.post("/mcp", json=ping, headers=session)).status_code == 404
