"""A login to a protected server: made once, kept for the user alone, renewed in time, told nobody."""

import asyncio
import errno
import json
import logging
import os
import stat
import sys
from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from failsoft.adapters.mcp import logins, oauth, wire
from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.running import make_session
from failsoft.core.errors import PermissionDenied, Unavailable
from tests.adapters.mcp.conftest import Client
from tests.adapters.mcp.protected import People, browse, protected, protected_app, served

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def people():
    return People()


@pytest.fixture
async def url(people):
    async with protected(people) as address:
        yield address


@pytest.fixture
async def connect():
    made = []

    async def make(url, **more):
        client = Client()
        client.session = make_session(
            ServerSpec(name="remote", url=url, **more), client, store="memory", config=None
        )
        made.append(client.session)
        await client.session.start()
        return client

    yield make
    for session in made:
        await session.aclose()


async def say_yes(address):
    page = await browse(address)
    assert "logged in" in page.text


async def test_a_login_serves_a_client_that_knows_nothing_of_it(people, url, connect, caplog):
    """After one login calls reach the protected server, the file is the user's alone, and no token is logged."""
    caplog.set_level(logging.DEBUG, "failsoft")
    caplog.set_level(logging.DEBUG)
    login = await oauth.log_in(url, say_yes)
    path = logins.path_of(url)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert people.told == ["register", "authorize", "token"]
    client = await connect(url)
    assert (await client.hello())["result"]["serverInfo"]["name"] == "protected"
    answer = await client.ask("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert answer["result"]["content"][0]["text"] == "hi"
    logged = "".join(record.getMessage() for record in caplog.records if record.name.startswith("failsoft"))
    told = logged + repr(login) + repr(client.session.link._transport) + json.dumps(client.messages)
    assert not [secret for secret in people.secrets if secret in told]


async def test_tokens_are_renewed_before_they_end(people, url, connect):
    """An access token that is about to end is replaced first; a hundred calls at once renew it once."""
    people.lives_s = 10
    await oauth.log_in(url, say_yes)
    people.lives_s = 3600
    client = await connect(url)
    await client.hello()
    asked = [client.ask("tools/call", {"name": "echo", "arguments": {"text": str(n)}}) for n in range(30)]
    answers = await asyncio.gather(*asked)
    assert [each["result"]["content"][0]["text"] for each in answers] == [str(n) for n in range(30)]
    assert people.told.count("refresh") == 1
    kept = logins.load(url)
    assert kept.access_token in people.access
    assert kept.server["token_endpoint"].startswith(people.origin)


async def test_a_token_that_is_refused_is_replaced_once(people, url, connect):
    """A token that was taken back is replaced by the refresh token, and the call that met it is sent again."""
    await oauth.log_in(url, say_yes)
    client = await connect(url)
    await client.hello()
    people.access.clear()
    answer = await client.ask("tools/call", {"name": "act", "arguments": {"n": 1}})
    assert answer["result"]["content"][0]["text"] == "acted 1"
    assert people.calls == [1]
    assert people.told.count("refresh") == 1


async def test_what_another_process_renewed_is_used(people, url, connect):
    """Refresh tokens are good once: where another proxy was first, its new token is read from the file."""
    login = await oauth.log_in(url, say_yes)
    first, second = await connect(url), await connect(url)
    await first.hello()
    await second.hello()
    people.access.clear()
    for client in (first, second):
        answer = await client.ask("tools/call", {"name": "echo", "arguments": {"text": "a"}})
        assert answer["result"]["content"][0]["text"] == "a"
    assert people.told.count("refresh") == 1
    assert logins.load(url).access_token != login.access_token


async def test_a_login_that_is_over_is_a_persons_matter(people, url, connect, caplog):
    """Without a login, or with one that cannot be renewed, the model is told that a person has to log in, and nothing ran."""
    client = await connect(url)
    refused = await client.hello()
    assert "refuses requests without an authorization" in refused["error"]["message"]
    await oauth.log_in(url, say_yes)
    assert "result" in await client.hello()  # the login that was made meanwhile is found
    await client.ask("tools/list")
    people.access.clear()
    people.says_yes = False
    answer = await client.ask("tools/call", {"name": "act", "arguments": {"n": 1}})
    fields = answer["result"]["_meta"]["failsoft"]
    assert (fields["error"], fields["owner"], fields["effect"]) == ("permission_denied", "human", "none")
    assert "log in" in answer["result"]["content"][0]["text"]
    assert people.calls == []
    assert "failsoft mcp --login" in caplog.text


@pytest.mark.parametrize("what", ["refused", "silent", "none", "elsewhere"])
async def test_a_login_that_does_not_come_about(people, url, what, caplog):
    """A person who refuses, one who never comes back, and an authorization server that is gone: told, nothing kept."""
    caplog.set_level(logging.DEBUG)

    async def ignore(address):
        pass

    async def refuse(address):
        assert "refused" in (await browse(address)).text

    people.says_yes = what != "refused"
    if what == "none":
        with pytest.raises(Unavailable, match="could not be reached"):
            await oauth.log_in("http://127.0.0.1:9/mcp", ignore)
        return
    if what == "elsewhere":
        with pytest.raises(Unavailable, match="HTTP 404, and asks for no login"):
            await oauth.log_in(url + "/other", ignore)
        return
    with pytest.raises(PermissionDenied, match="There is no login"):
        await oauth.log_in(url, refuse if what == "refused" else ignore, person_s=0.2)
    assert logins.load(url) is None
    assert "Traceback" not in caplog.text


async def test_a_client_that_is_registered_already(people, url):
    """With a client's id nothing is registered anew; the way back is a port that can be chosen."""
    await oauth.log_in(url, say_yes)
    known = next(iter(people.clients.values()))
    port = known.redirect_uris[0].port
    people.told.clear()
    await oauth.log_in(url, say_yes, client_id=known.client_id, port=port)
    with pytest.raises(
        PermissionDenied
    ):  # another port is another way back, which the authorization server refuses
        await oauth.log_in(url, browse, client_id=known.client_id, person_s=0.3)
    assert "register" not in people.told


async def test_a_home_that_cannot_be_written(people, url, connect, monkeypatch, caplog):
    """A login that cannot be kept is no login, and one that cannot be kept anew is good as long as the proxy lives."""
    login = await oauth.log_in(url, say_yes)
    client = await connect(url)
    await client.hello()

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(logins.os, "replace", refuse)
    with pytest.raises(Unavailable, match="cannot be kept"):
        await oauth.log_in(url, say_yes)
    people.access.pop(login.access_token)
    answer = await client.ask("tools/call", {"name": "act", "arguments": {"n": 1}})
    assert answer["result"]["content"][0]["text"] == "acted 1"
    assert "the renewed login cannot be kept: Read-only" in caplog.text
    assert [file.name for file in logins.path_of(url).parent.iterdir()] == [logins.path_of(url).name]


async def test_a_server_that_greets_everybody(people):
    """A server that wants a login for its tools only is logged in to as well; one that wants none says so."""
    answers = {"open": True}

    async def greeting(scope, receive, send, inner):
        if scope["type"] != "http" or scope["path"] != "/mcp":
            return await inner(scope, receive, send)
        request = Request(scope, receive)
        message = wire.parse(await request.body() or b"{}")
        if message.get("method") != "initialize" and not answers["open"]:
            return await inner(scope, replayed(wire.encode(message)), send)
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}
        return await JSONResponse(answer)(scope, receive, send)

    def app(origin):
        inner = protected_app(people, origin)

        async def greets(scope, receive, send):
            await greeting(scope, receive, send, inner)

        return greets

    async with served(people.app), served(app) as origin:
        assert await oauth.log_in(f"{origin}/mcp", say_yes) is None
        answers["open"] = False
        login = await oauth.log_in(f"{origin}/mcp", say_yes)
    assert login.access_token in people.access


def replayed(body):
    """A body that was read already, for another reader."""

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def test_what_is_kept_is_read_with_care(home):
    """A file of another server, of another version, or that is none, is no login; a forgotten one is gone."""
    url = "https://user:secret@example.com/mcp?key=secret"
    login = logins.Login(url=url, tokens={"access_token": "a"}, expires_at=1.0)
    path = logins.save(login)
    assert "secret" not in path.name + logins.shown(url)
    assert logins.load(url) == login
    assert login.is_over
    assert not replace(login, expires_at=None).is_over
    for text in ("{", "[]", json.dumps({"v": 2}), json.dumps({"v": 1, "url": url, "tokens": {}})):
        path.write_text(text)
        assert logins.load(url) is None
    assert logins.forget(url)
    assert not logins.forget(url)
    assert not os.listdir(path.parent)


async def run(*words, stdin=None):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from failsoft.cli import main; raise SystemExit(main())",
        "mcp",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    if stdin is not None:
        process.stdin.write(stdin)
    return process


@pytest.mark.timeout(120)
async def test_the_commands(people, url, home):
    """`--login` prints an address and keeps what comes back, then the server is served over pipes; `--logout` forgets it."""
    process = await run("--url", url, "--login", "--no-browser")
    lines = []
    while not any(line.startswith(b"http") for line in lines):
        lines.append(await process.stderr.readline())
    await say_yes(lines[-1].decode().strip())
    out, errors = await process.communicate()
    assert process.returncode == 0, errors
    assert b"Logged in to" in out
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    served = await run("-v", "--url", url, stdin=json.dumps(message).encode() + b"\n")
    answer = json.loads(await served.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "protected"
    served.stdin.close()
    _, log = await served.communicate()
    assert not [secret for secret in people.secrets if secret.encode() in out + errors + log]
    process = await run("--url", url, "--logout")
    out, _ = await process.communicate()
    assert out.startswith(b"Forgot the login")
    assert not list((home / "logins").iterdir())
