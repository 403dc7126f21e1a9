"""What passes through, and what goes through the call path."""

import asyncio
import json

import pytest

from failsoft.adapters.mcp.effects import ServerOptions
from failsoft.harness.settings import Settings
from failsoft.policies import Breaker, Policy, Timeout

pytestmark = [pytest.mark.process, pytest.mark.slow]


async def test_what_is_no_tool_call_passes_byte_for_byte(connect):
    """Unknown methods and fields, big numbers and odd texts reach server and client as they were written."""
    client = await connect()
    line = b'{"jsonrpc":"2.0", "id":"a","method":"own/unknown","params":{"big":123456789012345678901234567890,"f":1.10},"x":1}'
    client._waiting["a"] = waiter = asyncio.get_running_loop().create_future()
    client.session.from_client(line)
    answer = await asyncio.wait_for(waiter, 5)
    assert answer["result"]["echo"] == json.loads(line)
    assert b"123456789012345678901234567890" in client.lines[-1]


async def test_the_handshake_and_the_list_are_the_servers_own(connect):
    """The client sees the server's name, capabilities, pages and unknown fields of tools."""
    client = await connect()
    hello = await client.hello()
    assert hello["result"]["serverInfo"] == {"name": "toy", "version": "1"}
    first = await client.ask("tools/list")
    second = await client.ask("tools/list", {"cursor": first["result"]["nextCursor"]})
    tools = first["result"]["tools"] + second["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["look", "act", "put", "plain", "odd"]
    assert tools[0]["x-own"] == {"kept": True}


async def test_a_result_is_the_servers_own(connect):
    """Structured content, images and unknown fields of a plain success are what the server wrote."""
    client = await connect()
    await client.hello()
    answer = await client.call("look", n=7)
    assert answer["result"] == {
        "content": [{"type": "text", "text": "look 7"}],
        "structuredContent": {"n": 7},
        "x-own": [1],
    }
    image = await client.call("look", "image")
    assert image["result"]["content"][0]["data"] == "iVBORw0KGgo="


async def test_large_results_pass_whole(connect):
    """A result of megabytes is not cut."""
    client = await connect()
    answer = await client.call("look", "huge")
    assert len(answer["result"]["content"][0]["text"]) == 3_000_000


async def test_bad_arguments_are_explained_and_nothing_is_run(connect, effects):
    """Arguments that break the schema are told field by field, as `isError` with fields for machines."""
    client = await connect()
    answer = await client.ask("tools/call", {"name": "act", "arguments": {"n": "many"}})
    result = answer["result"]
    assert result["isError"] is True
    assert result["_meta"]["failsoft"]["error"] == "invalid_argument"
    assert result["_meta"]["failsoft"]["problems"][0]["field"] == "n"
    assert json.loads(result["content"][0]["text"])["ok"] is False
    assert effects.lines("effect") == []


async def test_arguments_as_text_are_read_and_told(connect):
    """Arguments that a client sent as JSON text are repaired, and the repair is recorded."""
    client = await connect()
    answer = await client.ask("tools/call", {"name": "look", "arguments": '```json\n{"n": 3,}\n```'})
    assert answer["result"]["structuredContent"] == {"n": 3}
    assert answer["result"]["_meta"]["failsoft"]["repairs"]


async def test_an_unknown_tool_is_answered_with_near_names(connect):
    """A name that no tool has gets suggestions, not a protocol error."""
    client = await connect()
    answer = await client.call("lok")
    assert answer["result"]["isError"] is True
    assert "look" in answer["result"]["_meta"]["failsoft"]["did_you_mean"]


async def test_a_schema_that_is_none_does_not_take_the_tool_away(connect, caplog):
    """A broken inputSchema is replaced by one that allows any object, and a log line says so."""
    client = await connect()
    answer = await client.ask("tools/call", {"name": "odd", "arguments": {"anything": [1]}})
    assert answer["result"]["content"][0]["text"] == "odd 0"
    assert "without its schema" in caplog.text


async def test_is_error_is_forwarded_as_it_is(connect):
    """A result that says `isError` is no failure unless a rule says so."""
    client = await connect()
    answer = await client.call("act", "is error")
    assert answer["result"] == {"content": [{"type": "text", "text": "busy, come back"}], "isError": True}


async def test_is_error_by_rule_is_retried(connect, effects):
    """A rule of the user's makes an `isError` text a failure of a kind, with the effect that it is known to have."""
    rule = {"match": "busy", "kind": "unavailable", "effect": "none"}
    client = await connect(options=ServerOptions(tools={"look": {"errors": [rule]}}))
    answer = await client.call("look", "busy once")
    assert answer["result"]["content"][0]["text"] == "look 0"
    assert answer["result"]["_meta"]["failsoft"]["attempts"] == 2


async def test_protocol_errors_stay_protocol_errors(connect):
    """A JSON-RPC error without a doubt reaches the client with its code and data."""
    client = await connect()
    answer = await client.call("look", "error")
    assert answer["error"] == {"code": -32602, "message": "no", "data": {"own": 1}}


async def test_a_protocol_error_that_leaves_a_doubt_says_so(connect):
    """After an internal error of a tool that acts, the client reads of the doubt, and the same call is not run."""
    client = await connect()
    first = await client.call("act", "broken", n=1)
    assert first["result"]["_meta"]["failsoft"]["doubt"]
    second = await client.call("act", "broken", n=1)
    assert second["result"]["_meta"]["failsoft"]["error"] == "in_doubt"
    assert "failsoft doubts resolve" in second["result"]["content"][0]["text"]


async def test_a_server_that_asks_back_is_answered_and_run(connect, effects):
    """A result that asks for input passes, and the same call with the answers is run, also in a remembered run."""
    client = await connect()
    first = await client.call("act", "ask back", _meta={"failsoft/run": "r1"})
    assert first["result"]["resultType"] == "input_required"
    second = await client.call("act", "ask back", _meta={"failsoft/run": "r1"}, inputResponses={"a": 1})
    assert second["result"]["content"][0]["text"] == "act 0"


async def test_what_the_server_asks_goes_to_the_client_and_back(connect, effects):
    """A request of the server's gets its own id on the way, and the answer has the server's."""
    client = await connect()
    await client.hello()
    await client.ask("own/ask")
    asked = client.of("sampling/createMessage")[0]
    assert asked["params"] == {"own": 1}
    client.write({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": "hi"}})
    await client.ask("ping")
    heard = [json.loads(line.removeprefix("heard ")) for line in effects.lines("heard")]
    assert {"jsonrpc": "2.0", "id": 0, "result": {"text": "hi"}} in heard


async def test_a_cancelled_call_reaches_the_server_and_leaves_a_doubt(connect, effects):
    """A cancel of the client's is passed on, the call has no answer, and the ledger knows that it may have happened."""
    client = await connect()
    id, waiter = client.begin("tools/call", {"name": "act", "arguments": {"how": "hang", "n": 5}})
    while not effects.lines("effect act 5"):
        await asyncio.sleep(0.01)
    client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
    while not effects.lines(f"cancelled {id}"):
        await asyncio.sleep(0.01)
    again = await client.call("act", "hang", n=5)
    assert again["result"]["_meta"]["failsoft"]["error"] == "in_doubt"
    assert not waiter.done()


async def test_trust_decides_what_annotations_are_worth(connect, effects):
    """Without trust a tool that calls itself read-only is not repeated; what the user says of it counts."""
    client = await connect(options=ServerOptions(trust="none"))
    first = await client.call("look", "crash after")
    assert first["result"]["_meta"]["failsoft"]["effect"] == "possible"
    other = await connect(options=ServerOptions(trust="none", tools={"lo*": {"read_only": True}}))
    second = await other.call("look", "crash after", n=2)
    assert second["result"]["content"][0]["text"] == "look 2"


async def test_progress_passes_and_keeps_a_call_alive(connect):
    """Progress reaches a client that asked for it, and resets an idle limit whether it did or not."""
    idle = Settings(policy=Policy(timeout=Timeout(attempt_s=5, total_s=5, idle_s=0.4), retry=1))
    client = await connect(config=idle)
    asked = await client.call("look", "progress", _meta={"progressToken": "t"})
    assert asked["result"]["content"][0]["text"] == "look 0"
    assert [each["params"]["progress"] for each in client.of("notifications/progress")] == [0, 1, 2, 3, 4]
    silent = await client.call("look", "progress", n=2)
    assert silent["result"]["content"][0]["text"] == "look 2"
    assert len(client.of("notifications/progress")) == 5


async def test_an_answer_that_comes_late_is_given_to_the_same_call(connect, effects):
    """After a time-out the server's late answer resolves the doubt: the identical call gets it and nothing runs twice."""
    client = await connect()
    first = await client.call("act", "late", n=4)
    assert first["result"]["_meta"]["failsoft"]["effect"] == "possible"
    await asyncio.sleep(0.5)
    second = await client.call("act", "late", n=4)
    assert second["result"]["_meta"]["failsoft"]["late"] is True
    assert second["result"]["structuredContent"] == {"n": 4}
    assert effects.lines("effect act 4") == ["effect act 4"]


async def test_an_answer_after_a_cancel_is_given_to_the_same_call(connect, effects):
    """A client that gave up and asks again gets the answer that came meanwhile, and nothing runs twice."""
    client = await connect(config=Settings())
    id, _ = client.begin("tools/call", {"name": "act", "arguments": {"how": "late", "n": 3}})
    while not effects.lines("effect act 3"):
        await asyncio.sleep(0.01)
    client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
    await asyncio.sleep(1.0)
    again = await client.call("act", "late", n=3)
    assert again["result"]["_meta"]["failsoft"]["late"] is True
    assert again["result"]["structuredContent"] == {"n": 3}
    assert len(effects.lines("effect act 3")) == 1


async def test_garbage_and_bad_messages_end_nothing(connect):
    """Lines that are no messages, from either side, are answered or skipped, and the next call works."""
    client = await connect(environment={"TOY_BANNER": "1"})
    client.session.from_client(b"{nonsense")
    client.session.from_client(b"42")
    assert [message["error"]["code"] for message in client.messages] == [-32700, -32600]
    answer = await client.call("look", "garbage", n=1)
    assert answer["result"]["content"][0]["text"] == "look 1"


async def test_batches_are_taken_apart(connect):
    """A batch of an old client is answered message by message."""
    client = await connect()
    first, second = (
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    )
    client.session.from_client(json.dumps([first, second]).encode())
    while len(client.messages) < 2:
        await asyncio.sleep(0.01)
    assert sorted(message["id"] for message in client.messages) == [1, 2]


@pytest.mark.parametrize("when_open", ["describe", "withhold"])
async def test_a_tool_that_is_down_is_shown_as_such(connect, when_open):
    """An open breaker changes the list where the policy wants it: the client is told, and told again when the rest is over."""
    breaker = Breaker(window=1, min_calls=1, open_s=0.4, jitter=0)
    down = Settings(policy=Policy(retry=None, breaker=breaker, when_open=when_open))
    client = await connect(config=down)
    await client.call("look", "broken")
    await asyncio.sleep(0.05)
    assert len(client.of("notifications/tools/list_changed")) == 1
    tools = {tool["name"]: tool for tool in (await client.ask("tools/list"))["result"]["tools"]}
    if when_open == "withhold":
        assert "look" not in tools
    else:
        assert tools["look"]["description"].startswith("[down at present")
    assert tools["act"]["description"] == "Toy act."
    await asyncio.sleep(0.6)
    assert len(client.of("notifications/tools/list_changed")) == 2
    tools = {tool["name"]: tool for tool in (await client.ask("tools/list"))["result"]["tools"]}
    assert tools["look"]["description"] == "Toy look."
    assert (await client.call("look"))["result"]["content"][0]["text"] == "look 0"


@pytest.mark.parametrize("params", [None, {}, {"name": 3}])
async def test_a_call_that_names_no_tool_is_the_servers_to_answer(connect, params):
    """A malformed `tools/call` passes, and what the server says of it comes back."""
    client = await connect()
    answer = await client.ask("tools/call", params)
    assert answer["result"]["content"][0]["text"] == f"{(params or {}).get('name')} 0"


async def test_two_calls_of_one_id_are_not_mixed_up(connect):
    """A second request under an id that is under way is refused, and the first is answered."""
    client = await connect()
    id, first = client.begin("tools/call", {"name": "look", "arguments": {"how": "late", "n": 1}}, id=77)
    client.write(
        {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    )
    answer = await asyncio.wait_for(first, 5)
    assert answer["error"]["code"] == -32600


async def test_a_client_that_does_not_read_stops_the_server(connect):
    """While the client does not read, the server is not read either; afterwards everything comes."""
    client = await connect()
    await client.hello()
    client.session.client_blocked(True)
    _, waiting = client.begin("resources/read", {"uri": "x"})
    await asyncio.sleep(0.3)
    assert not waiting.done()
    client.session.client_blocked(False)
    assert (await asyncio.wait_for(waiting, 5))["result"]


async def test_within_a_run_a_success_is_given_again(connect, effects):
    """In a run that the client names, or a remembered window, an identical call that acts gets the recorded result."""
    client = await connect(remember_s=3600)
    for meta in ({"failsoft/run": "r"}, None):
        more = {} if meta is None else {"_meta": meta}
        n = 1 if meta else 2
        first = await client.call("act", n=n, **more)
        assert "_meta" not in first["result"]
        again = await client.call("act", n=n, **more)
        assert again["result"]["_meta"]["failsoft"]["replayed"] is True
        assert again["result"]["structuredContent"] == {"n": n}
        assert effects.lines(f"effect act {n}") == [f"effect act {n}"]
    second = await client.call("act", n=1, _meta={"failsoft/run": "r", "failsoft/occurrence": 2})
    assert "_meta" not in second["result"]


async def test_within_a_run_an_error_result_is_not_kept(connect, effects):
    """What a server answered with `isError` may be tried again in the same run."""
    client = await connect()
    for _ in range(2):
        answer = await client.call("act", "is error", n=6, _meta={"failsoft/run": "r"})
        assert answer["result"]["isError"] is True
        assert "_meta" not in answer["result"]
    assert len(effects.lines("effect act 6")) == 2
