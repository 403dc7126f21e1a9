"""A person's time in the middle of a call."""

import asyncio

import pytest

from failsoft.adapters.mcp import questions

pytestmark = pytest.mark.process


async def asked(client):
    """Have the server ask the person something; the request as the client sees it."""
    before = len(client.of("sampling/createMessage"))
    await client.ask("own/ask")
    while len(client.of("sampling/createMessage")) == before:
        await asyncio.sleep(0.01)
    return client.of("sampling/createMessage")[-1]


async def test_a_call_waits_for_a_person(connect):
    """While the server asks the person at the client something, no call's time passes; after the answer it does."""
    client = await connect()
    await client.hello()
    _, waiting = client.begin("tools/call", {"name": "act", "arguments": {"how": "late", "n": 1}})
    question = await asked(client)
    answer = await waiting
    assert answer["result"]["content"][0]["text"] == "act 1"  # after 0.6 s, of 0.4 s that it has
    client.write({"jsonrpc": "2.0", "id": question["id"], "result": {}})
    late = await client.call("act", "late", 2)
    assert late["result"]["_meta"]["failsoft"]["error"] == "timeout"


async def test_a_question_that_is_open_stops_calls_that_begin(connect):
    """A call that begins while a question is open has all of its time when that is answered."""
    client = await connect()
    await client.hello()
    question = await asked(client)
    _, waiting = client.begin("tools/call", {"name": "act", "arguments": {"how": "late", "n": 1}})
    await asyncio.sleep(0.35)
    client.write({"jsonrpc": "2.0", "id": question["id"], "result": {}})
    assert (await waiting)["result"]["content"][0]["text"] == "act 1"


async def test_questions_without_an_answer_stop_nothing_for_ever(connect, monkeypatch):
    """A question that nobody answers, and one whose server was started again, are not waited for."""
    monkeypatch.setattr(questions, "LONGEST_S", 0.1)
    client = await connect()
    await client.hello()
    await asked(client)
    late = await client.call("act", "late", 1)
    assert late["result"]["_meta"]["failsoft"]["error"] == "timeout"
    monkeypatch.setattr(questions, "LONGEST_S", 60)
    await asked(client)
    await client.call("look", "crash after")
    assert (await client.call("act", "late", 2))["result"]["_meta"]["failsoft"]["error"] == "timeout"


async def test_other_requests_of_the_server_take_no_persons_time(connect):
    """A ping or a list of roots is answered by the client itself: the time goes on."""
    client = await connect()
    await client.hello()
    client.session.questions.opened("x", "roots/list")
    assert (await client.call("act", "late", 1))["result"]["_meta"]["failsoft"]["error"] == "timeout"
