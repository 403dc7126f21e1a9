"""A subscription of one client at several servers."""

import asyncio
import json

from failsoft.adapters.mcp.many import Many

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Server:
    """A session with a server that says what the test wants."""

    def __init__(self, port):
        self.port, self.heard = port, []

    def from_client(self, line):
        self.heard.append(json.loads(line))

    def say(self, **message):
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self.port.send(line, None)

    def notify(self, method, own=None):
        self.say(method=method, params={} if own is None else {"_meta": {SUBSCRIPTION: own}})

    @property
    def own(self):
        return self.heard[0]["id"]


class Client:
    """Notes what comes to the client."""

    def __init__(self):
        self.messages = []

    def send(self, line, message):
        self.messages.append(json.loads(line))

    def pause(self, paused):
        pass


async def begun():
    client = Client()
    many = Many(client, {"a": Server, "b": Server})
    listen = {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": {"notifications": {}}}
    many.from_client(json.dumps(listen).encode())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return many, client, many.sessions["a"], many.sessions["b"]


async def test_all_servers_are_listened_to():
    """News of each server come under the client's own id, the acknowledgement once, the end when all have ended."""
    _, client, a, b = await begun()
    assert a.own != b.own
    a.notify(ACKNOWLEDGED, a.own)
    b.notify(ACKNOWLEDGED, b.own)
    b.notify("notifications/tools/list_changed", b.own)
    a.notify("notifications/message")
    assert [(each["method"], each["params"].get("_meta")) for each in client.messages] == [
        (ACKNOWLEDGED, {SUBSCRIPTION: 3}),
        ("notifications/tools/list_changed", {SUBSCRIPTION: 3}),
        ("notifications/message", None),
    ]
    a.say(id=a.own, error={"code": -32601, "message": "none"})
    await asyncio.sleep(0.01)
    assert len(client.messages) == 3
    b.say(id=b.own, result={"_meta": {SUBSCRIPTION: b.own}})
    await asyncio.sleep(0.01)
    assert client.messages[-1] == {"jsonrpc": "2.0", "id": 3, "result": {"_meta": {SUBSCRIPTION: 3}}}


async def test_who_stops_listening_is_gone_from_all():
    """A client that cancels its subscription cancels it at each server."""
    many, client, a, b = await begun()
    stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
    many.from_client(json.dumps(stop).encode())
    await asyncio.sleep(0.01)
    for server in (a, b):
        assert {"requestId": server.own} in [
            each["params"] for each in server.heard if each["method"] == "notifications/cancelled"
        ]
    assert client.messages == []
