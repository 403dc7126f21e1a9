"""Servers that die, hang and will not start; and what is left of them."""

import asyncio
import os
import time

import pytest

from failsoft.adapters.mcp.restarts import Restarts, RestartState
from failsoft.isolation.supervisor import descendants

FAST = {"restarts": Restarts(base_s=0.02)}


def alive(pids):
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(pid)
        except OSError:
            continue
    return found


async def all_gone(pids, within_s=5.0):
    until = time.monotonic() + within_s
    while alive(pids):
        assert time.monotonic() < until, f"still alive: {alive(pids)}"
        await asyncio.sleep(0.02)


def test_restarts_have_a_budget_that_comes_back():
    """The first restart waits for nothing, later ones longer, and after the last allowed one there is none for a while."""
    state = RestartState(Restarts(most=3, window_s=10, base_s=1, cap_s=1.5))
    assert [state.next_wait_s(now) for now in (0.0, 1.0, 2.0, 3.0)] == [0.0, 1.0, 1.5, None]
    assert state.next_wait_s(10.5) == 1.5


@pytest.mark.process
@pytest.mark.slow
async def test_a_repeatable_call_survives_a_crash(connect, effects):
    """A tool that only looks is called again at the fresh server, which was given the handshake again."""
    client = await connect(link=FAST)
    await client.hello()
    for how in ("crash before", "crash after"):
        answer = await client.call("look", how)
        assert answer["result"]["content"][0]["text"] == "look 0"
        assert answer["result"]["_meta"]["failsoft"]["attempts"] == 2
    assert len(effects.lines("initialize")) == 3


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("how", ["crash before", "crash after"])
async def test_a_call_that_acts_is_in_doubt_after_a_crash(connect, effects, how):
    """What may have happened is not done again: the client reads so, also when it asks again."""
    client = await connect(link=FAST)
    await client.hello()
    first = await client.call("act", how)
    assert first["result"]["_meta"]["failsoft"]["error"] == "unavailable"
    assert first["result"]["_meta"]["failsoft"]["doubt"]
    second = await client.call("act", how)
    assert second["result"]["_meta"]["failsoft"]["error"] == "in_doubt"
    assert len(effects.lines("try act")) == 1
    other = await client.call("act", n=9)
    assert other["result"]["content"][0]["text"] == "act 9"


@pytest.mark.process
@pytest.mark.slow
async def test_requests_that_only_look_are_sent_again(connect):
    """A list that was under way when the server died is answered by the fresh one; others get an error."""
    client = await connect(link=FAST)
    await client.hello()
    _, crashing = client.begin("own/crash")
    _, listing = client.begin("resources/read", {"uri": "a"})
    assert (await asyncio.wait_for(crashing, 5))["error"]["code"] == -32000
    assert (await asyncio.wait_for(listing, 5))["result"]["echo"]["method"] == "resources/read"


@pytest.mark.process
@pytest.mark.slow
async def test_a_server_that_always_dies_is_left_alone(connect):
    """When the restarts are used up, calls and requests are answered at once, and the server is tried again after a rest."""
    client = await connect("fail-start", link={"restarts": Restarts(most=2, base_s=0.01, rest_s=0.5)})
    answer = await client.ask("initialize", {})
    assert answer["error"]["code"] == -32000
    assert "exit code 1" in answer["error"]["message"]
    starts = client.session.link.starts
    began = time.monotonic()
    call = await client.call("look")
    assert call.get("error") or call["result"]["isError"]
    assert time.monotonic() - began < 1.0
    assert client.session.link.starts == starts


@pytest.mark.process
@pytest.mark.slow
async def test_a_frozen_server_is_killed_and_replaced(connect):
    """A server that answers nothing after a time-out, not even a ping, is started again."""
    client = await connect(link={**FAST, "hang_s": 0.3})
    await client.hello()
    await client.call("look")
    answer = await client.call("act", "freeze")
    assert answer["result"]["_meta"]["failsoft"]["error"] == "timeout"
    look = await client.call("look", n=3)
    assert look["result"]["content"][0]["text"] == "look 3"
    assert client.session.link.starts == 2


@pytest.mark.process
@pytest.mark.slow
async def test_an_answer_under_a_wrong_id_is_nobodys(connect):
    """An answer to a request that nobody made is dropped; a repeatable call is asked again."""
    client = await connect()
    answer = await client.call("look", "wrong id")
    assert answer["result"]["content"][0]["text"] == "look 0"


@pytest.mark.process
@pytest.mark.slow
async def test_questions_of_a_dead_server_are_withdrawn(connect):
    """What a server had asked of the client is cancelled when that server is gone."""
    client = await connect(link=FAST)
    await client.hello()
    await client.ask("own/ask")
    asked = client.of("sampling/createMessage")[0]
    await client.ask("own/crash")
    await client.ask("ping")
    assert client.of("notifications/cancelled")[0]["params"]["requestId"] == asked["id"]


@pytest.mark.process
@pytest.mark.slow
async def test_nothing_of_a_tree_is_left(connect):
    """What a server starts in the background ends with it, also in a session of its own."""
    client = await connect("stay")
    await client.call("act", "orphan")
    child = client.session.link._transport
    tree = [child.pid, *descendants(child.pid)]
    assert len(tree) >= 3
    await client.session.aclose()
    await all_gone(tree)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("end", ["in order", "leash"])
async def test_a_server_that_hangs_is_ended(connect, end):
    """A server that hangs is killed within seconds, by the proxy, or by the keeper when the proxy itself is gone."""
    client = await connect()
    client.begin("tools/call", {"name": "look", "arguments": {"how": "block"}})
    await asyncio.sleep(0.2)
    child = client.session.link._transport
    tree = [child.pid, *descendants(child.pid)]
    if end == "leash":
        os.close(child._leash)  # as the kernel does when the proxy dies
        child._leash = None
    else:
        await client.session.aclose()
    await all_gone(tree)
