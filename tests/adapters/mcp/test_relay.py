"""Clients over HTTP that log in to the server behind the proxy themselves."""

import asyncio
import contextlib
import logging

import httpx2
import pytest
from mcp import Client, ClientSession
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.listener import Listener
from failsoft.adapters.mcp.running import make_front
from tests.adapters.mcp.conformance_login import Storage
from tests.adapters.mcp.protected import People, browse, protected, served, with_query

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
BOTH = {"accept": "application/json, text/event-stream"}


@contextlib.asynccontextmanager
async def somebody(url):
    """An HTTP client with the official OAuth flow, and a browser that comes back to a page of its own."""
    came = asyncio.Queue()

    async def page(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        query = httpx2.URL(f"http://x{head.split(b' ')[1].decode()}").params
        came.put_nowait(dict(query))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def back():
        query = await asyncio.wait_for(came.get(), 5)
        return AuthorizationCodeResult(
            code=query.get("code", ""), state=query.get("state"), iss=query.get("iss")
        )

    waiting = await asyncio.start_server(page, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{waiting.sockets[0].getsockname()[1]}/callback"
    metadata = OAuthClientMetadata(
        client_name="somebody", redirect_uris=[address], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(url, metadata, Storage(), redirect_handler=browse, callback_handler=back)
    async with waiting, httpx2.AsyncClient(auth=auth, timeout=20) as http:
        yield http


@pytest.fixture(params=[False, True], ids=["plain", "names its issuer"])
def people(request):
    return People(names_issuer=request.param)


@contextlib.asynccontextmanager
async def proxied(upstream, **more):
    """The address of a proxy before a server, in this process."""
    spec = ServerSpec(name="protected", url=upstream, passes_authorization=True)
    listener = Listener(
        lambda client: make_front([spec], client, store="memory", config=None),
        **{"token": None, "login_url": upstream, **more},
    )
    try:
        async with served(listener.app) as origin:
            yield f"{origin}/mcp"
    finally:
        await listener.aclose()


@pytest.fixture
async def url(people):
    async with protected(people) as upstream, proxied(upstream) as address:
        yield address


async def test_the_official_client_logs_in_through_the_proxy(people, url, caplog):
    """Challenge, metadata, registration, consent, tokens: all through the proxy, for a token that only the server takes."""
    caplog.set_level(logging.DEBUG, "failsoft")
    async with somebody(url) as http:
        async with (
            streamable_http_client(url, http_client=http) as streams,
            ClientSession(*streams) as session,
        ):
            hello = await session.initialize()
            assert hello.server_info.name == "protected"
            await session.list_tools()
            result = await session.call_tool("act", {"n": 1})
            assert result.content[0].text == "acted 1"
        assert people.told == ["register", "authorize", "token"]
        async with Client(streamable_http_client(url, http_client=http)) as modern:
            assert modern.protocol_version == "2026-07-28"
            assert (await modern.call_tool("echo", {"text": "b"})).content[0].text == "b"
    assert not [secret for secret in people.secrets if secret in caplog.text]


async def test_a_session_outlives_its_token(people, url):
    """A token that ends in the middle of a session is renewed by the client, and the session goes on."""
    async with (
        somebody(url) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        await session.list_tools()
        people.access.clear()
        result = await session.call_tool("act", {"n": 2})
        assert result.content[0].text == "acted 2"
    assert people.calls == [2]


async def test_the_refusal_reaches_the_client_as_the_server_said_it(people, url):
    """Status, error and description are the server's; the metadata it points to is the proxy's."""
    async with httpx2.AsyncClient(timeout=10) as http:
        refused = await http.post(url, json=INITIALIZE, headers={**BOTH, "authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert refused.json()["error"] == "invalid_token"
        challenge = refused.headers["www-authenticate"]
        assert 'error="invalid_token"' in challenge
        origin = url.removesuffix("/mcp")
        assert f'resource_metadata="{origin}/.well-known/oauth-protected-resource/mcp"' in challenge
        resource = (await http.get(f"{origin}/.well-known/oauth-protected-resource/mcp")).json()
        assert (resource["resource"], resource["authorization_servers"]) == (url, [origin])
        assert resource["scopes_supported"] == ["use"]
        server = (await http.get(f"{origin}/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] == origin
        assert server["token_endpoint"] == f"{origin}/token"


async def test_too_little_scope_is_told_too(people, url):
    """A 403 that names a scope reaches the client, who may ask for more."""
    async with somebody(url) as http:
        await http.post(url, json=INITIALIZE, headers=BOTH)
        token = next(iter(people.access))
        people.access[token] = people.access[token].model_copy(update={"scopes": ["other"]})
    async with httpx2.AsyncClient(timeout=10) as http:
        headers = {**BOTH, "authorization": f"Bearer {token}"}
        refused = await http.post(url, json=INITIALIZE, headers=headers)
    assert refused.status_code == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]


async def test_nobody_gets_what_was_answered_to_somebody(people, url):
    """A recorded result, a list, a session's id: without a token of one's own there is none of them."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "failsoft/run": "r",
    }
    params = {"name": "act", "arguments": {"n": 3}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        **BOTH,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "act",
    }
    async with somebody(url) as http:
        for _ in range(2):
            answer = (await http.post(url, json=call, headers=headers)).json()
            assert "acted 3" in str(answer["result"]["content"])
    assert people.calls == [3]
    async with httpx2.AsyncClient(timeout=10) as stranger:
        for more in ({}, {"authorization": "Bearer other"}):
            refused = await stranger.post(url, json=call, headers={**headers, **more})
            assert refused.status_code == 401
            assert "acted" not in refused.text


async def test_a_person_who_says_no(people, url):
    """The refusal comes back to where the client waits, as the authorization server said it."""
    people.says_yes = False
    async with somebody(url) as http:
        with pytest.raises(OAuthFlowError):
            await http.post(url, json=INITIALIZE, headers=BOTH)
    assert people.calls == []


async def test_a_code_goes_back_only_to_where_it_was_asked_from(people, url):
    """A made-up way back, an old one, and one that leads off this machine through the proxy are refused."""
    origin = url.removesuffix("/mcp")
    async with httpx2.AsyncClient(timeout=10) as http:
        made_up = await http.get(with_query(f"{origin}/authorize/back", code="c", state="s"))
        assert made_up.status_code == 400
        elsewhere = await http.get(
            with_query(f"{origin}/authorize", client_id="x", redirect_uri="https://example.com/", state="s")
        )
        assert elsewhere.status_code == 302
        asked = httpx2.URL(elsewhere.headers["location"]).params
        assert asked["redirect_uri"] == "https://example.com/"  # which the authorization server knows, or not
        for path in ("/authorize", "/token", "/.well-known/oauth-protected-resource"):
            method = "POST" if path == "/token" else "GET"
            strange = await http.request(method, origin + path, headers={"host": "example.com"})
            assert strange.status_code == 403


async def test_a_token_of_the_proxys_own_is_another_header(people):
    """Where both are wanted, the proxy's own token has its own header, and the client's authorization is the server's."""
    async with (
        protected(people) as upstream,
        proxied(upstream, token="t") as address,
        httpx2.AsyncClient(timeout=10) as http,
    ):
        assert (await http.post(address, json=INITIALIZE, headers=BOTH)).status_code == 403
        own = {**BOTH, "failsoft-token": "t"}
        assert (await http.post(address, json=INITIALIZE, headers=own)).status_code == 401


async def test_a_server_that_asks_for_no_login(people):
    """Without metadata and without a refusal nothing is in the way; who asks for metadata is told that there is none."""
    async with (
        served(MCPServer("open").streamable_http_app()) as origin,
        proxied(f"{origin}/mcp") as url,
        httpx2.AsyncClient(timeout=10) as http,
    ):
        assert (await http.post(url, json=INITIALIZE, headers=BOTH)).status_code == 200
        found = await http.get(url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp")
        assert found.status_code == 404


@pytest.mark.parametrize(
    ("resource", "fits"),
    [
        ("/mcp", True),
        ("", True),
        ("/", True),
        ("/mcp/deeper", False),
        ("/mc", False),
        ("https://other.example/mcp", False),
    ],
)
async def test_metadata_of_somebody_elses_is_refused(resource, fits):
    """A server that sends its clients to log in for another server is not translated: the token would be that one's."""

    def app(origin):
        own = resource if resource.startswith("https") else origin + resource
        server = {"issuer": origin, "authorization_endpoint": f"{origin}/a", "token_endpoint": f"{origin}/t"}
        documents = {
            "/.well-known/oauth-protected-resource/mcp": {"resource": own, "authorization_servers": [origin]},
            "/.well-known/oauth-authorization-server": server,
        }
        return Starlette(
            routes=[
                Route(path, lambda request, data=data: JSONResponse(data)) for path, data in documents.items()
            ]
        )

    async with served(app) as origin, proxied(f"{origin}/mcp") as url, httpx2.AsyncClient() as http:
        answer = await http.get(url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp")
        assert answer.status_code == (200 if fits else 502)
        assert fits or "about another server" in answer.json()["error_description"]


async def test_a_refusal_that_the_call_did_not_need():
    """A server that gives the list to others only, and takes the call: the call's own answer is what counts."""

    async def serve(request):
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "tools/list":
            return Response(
                status_code=403, headers={"www-authenticate": 'Bearer error="insufficient_scope"'}
            )
        result = {"content": [{"type": "text", "text": "done"}]}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def app(origin):
        return Starlette(routes=[Route("/mcp", serve, methods=["POST"])])

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {}}}
    async with served(app) as origin, proxied(f"{origin}/mcp") as url, httpx2.AsyncClient() as http:
        answer = await http.post(url, json=call, headers={"accept": "application/json"})
        assert answer.json()["result"]["content"][0]["text"] == "done"
        refused = await http.post(url, json={**call, "method": "tools/list"}, headers=BOTH)
        assert refused.status_code == 403
        assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
