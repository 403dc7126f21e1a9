"""Which stream of an HTTP client a message goes to, and what waits for a client that comes back."""

import json

import pytest

from failsoft.adapters.mcp.port import Port
from failsoft.adapters.mcp.transport import about

VERSION = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class Front:
    """Notes what comes from the clients."""

    def __init__(self):
        self.heard = []

    def from_client(self, line):
        self.heard.append(json.loads(line))


def made(*, stateless):
    port = Port("p", stateless=stateless)
    port.front = Front()
    return port


def asked(port, id, method="tools/call", **params):
    return port.request({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def say(port, message):
    line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    port.send(line, None)


async def read(stream, reader, **more):
    return json.loads(await stream.next(reader, **more))


async def test_clients_without_a_session_hear_of_their_own_requests_only():
    """Answers, progress and subscriptions come under the client's own names, whatever ids its neighbours use."""
    port = made(stateless=True)
    first = asked(port, 1, _meta={"progressToken": "mine"})
    second = asked(port, 1, "subscriptions/listen", _meta={})
    one, two = (message["id"] for message in port.front.heard)
    assert len({one, two, 1}) == 3
    assert port.front.heard[0]["params"]["_meta"]["progressToken"] == one
    say(port, {"method": "notifications/progress", "params": {"progressToken": one, "progress": 1}})
    say(port, {"method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION: two}}})
    say(port, {"id": two, "result": {"_meta": {SUBSCRIPTION: two}}})
    reader = first.read()
    assert (await read(first, reader))["params"]["progressToken"] == "mine"
    reader = second.read()
    assert (await read(second, reader))["params"]["_meta"][SUBSCRIPTION] == 1
    assert await read(second, reader) == {"jsonrpc": "2.0", "id": 1, "result": {"_meta": {SUBSCRIPTION: 1}}}
    assert second.is_over
    assert not first.is_over


async def test_a_log_message_is_not_told_to_strangers():
    """Of clients without a session, a log message goes to the one that asked for such, and to nobody where several did."""
    port = made(stateless=True)
    asked(port, 1)
    wants = asked(port, 2, _meta={LOG_LEVEL: "info"})
    log = {"method": "notifications/message", "params": {"data": "x"}}
    say(port, log)
    also = asked(port, 3, _meta={LOG_LEVEL: "info"})
    say(port, log)
    told = about.set(port.front.heard[-1]["id"])  # a server behind a URL says on whose stream
    say(port, log)
    about.reset(told)
    for stream in (wants, also):
        say(port, {"id": stream.id, "result": {}})
        reader = stream.read()
        assert (await read(stream, reader))["method"] == "notifications/message"
        assert "result" in await read(stream, reader)


async def test_what_a_server_asks_amid_a_request_comes_on_its_stream():
    """A question goes to the newest open request, other news to who listens, and waits where nobody does."""
    port = made(stateless=False)
    news = {"method": "notifications/tools/list_changed"}
    say(port, news)
    call = asked(port, 1)
    listener = port.listen()
    reader = listener.read()
    assert await read(listener, reader) == {"jsonrpc": "2.0", **news}
    say(port, {"id": "s1", "method": "elicitation/create", "params": {}})
    say(port, news)
    assert (await read(listener, reader))["method"] == news["method"]
    assert (await read(call, call.read()))["method"] == "elicitation/create"


async def test_a_client_that_comes_back_finds_the_rest():
    """A stream that lost its reader goes on; it is read again from any event, and a new reader takes the place of the old."""
    port = made(stateless=False)
    stream = asked(port, 7, _meta={"progressToken": 7})
    for step in range(3):
        say(port, {"method": "notifications/progress", "params": {"progressToken": 7, "progress": step}})
    first = stream.read()
    for step in range(3):
        assert (await read(stream, first, keep=True))["params"]["progress"] == step
    stream.leave(first)
    port.abandon(stream)
    say(port, {"id": 7, "result": {}})
    found, after = port.find(f"{stream.number}-1")
    assert (found, after) == (stream, 1)
    second = stream.read(after)
    assert (await read(stream, second, keep=True))["params"]["progress"] == 1
    third = stream.read(2)
    assert await stream.next(second) is None
    assert [await read(stream, third) for _ in range(2)][1] == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert await stream.next(third) is None
    port.close(stream)
    assert port.find(f"{stream.number}-1") is None
    assert port.front.heard[-1]["method"] == "tools/call"


@pytest.mark.parametrize("id", ["", "x", "1", "1-x", "-1-2", "9-0"])
async def test_events_that_are_none_are_not_found(id):
    """An id that this port gave to no event leads nowhere."""
    assert made(stateless=False).find(id) is None


async def test_a_stream_that_the_server_closes_is_closed_for_the_client():
    """The reader leaves, and the answer waits for the next one."""
    port = made(stateless=False)
    stream = asked(port, 1)
    reader = stream.read()
    port.interrupt("no such request")
    port.interrupt(1)
    assert await stream.next(reader) is None
    say(port, {"id": 1, "result": {}})
    assert "result" in await read(stream, stream.read())


async def test_answers_that_nobody_fetches_are_given_up():
    """Of the answers that wait for a client, the last ones are kept."""
    port = made(stateless=False)
    streams = [asked(port, number) for number in range(40)]
    for number, stream in enumerate(streams):
        say(port, {"id": number, "result": {}})
        port.abandon(stream)
    kept = [stream for stream in streams if port.find(f"{stream.number}-0")]
    assert kept == streams[-20:]


async def test_leaving_without_a_session_cancels():
    """A client without a session that closes its stream cancels the request."""
    port = made(stateless=True)
    stream = asked(port, 1)
    port.abandon(stream)
    assert port.front.heard[-1]["params"]["requestId"] == stream.id
    assert not port.is_open


async def test_errors_have_a_status():
    """The status of HTTP is the answer's, by its code."""
    port = made(stateless=True)
    statuses = {}
    for code in (-32601, -32602, -32603, -32021):
        stream = asked(port, 1)
        say(port, {"id": stream.id, "error": {"code": code, "message": ""}})
        statuses[code] = stream.status
    assert statuses == {-32601: 404, -32602: 400, -32603: 200, -32021: 400}
