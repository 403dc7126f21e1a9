"""What the proxy makes of an authorization server's name in the answer to a login."""

from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette

from failsoft.adapters.mcp.discovery import Discovery, Found
from failsoft.adapters.mcp.relay import Relay
from failsoft.core.errors import AgentError

TRUE, HERE, CLIENT = "https://login.example.com", "http://127.0.0.1:1", "http://127.0.0.1:2/back"
SERVER = {
    "issuer": TRUE,
    "authorization_endpoint": f"{TRUE}/a",
    "authorization_response_iss_parameter_supported": True,
}


class Known:
    """Metadata that needs no looking for."""

    async def find(self):
        return Found(resource=None, identifier="https://example.com/mcp", server=SERVER)


@pytest.fixture
async def http():
    relay = Relay("https://example.com/mcp", "/mcp", lambda request: None)
    relay._discovery = Known()
    app = httpx2.ASGITransport(app=Starlette(routes=relay.routes))
    async with httpx2.AsyncClient(transport=app, base_url=HERE) as client:
        yield client
    await relay.aclose()


@pytest.mark.parametrize(
    ("said", "status", "told"), [(TRUE, 302, HERE), (None, 302, None), (f"{TRUE}/", 400, None)]
)
async def test_a_client_sees_whose_answer_it_is(http, said, status, told):
    """The true name becomes the proxy's, a missing one stays missing so that the client refuses, a wrong one ends here."""
    asked = await http.get("/authorize", params={"redirect_uri": CLIENT, "state": "s", "client_id": "c"})
    sent = parse_qs(urlsplit(asked.headers["location"]).query)
    back = {"code": "x", "state": sent["state"][0], **({} if said is None else {"iss": said})}
    answer = await http.get(sent["redirect_uri"][0], params=back)
    assert answer.status_code == status
    if status == 302:
        came = parse_qs(urlsplit(answer.headers["location"]).query)
        assert came == {"code": ["x"], "state": ["s"], **({} if told is None else {"iss": [told]})}


@pytest.mark.parametrize(
    ("issuer", "fits"), [("https://example.com", True), ("https://example.com/oauth", False)]
)
async def test_metadata_at_a_servers_own_origin_is_about_that_origin(issuer, fits):
    """A server without metadata of its own is asked at its origin, and what names another issuer is not used."""

    def answer(request):
        known = request.url.path == "/.well-known/oauth-authorization-server"
        return httpx2.Response(200, json={"issuer": issuer}) if known else httpx2.Response(404)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        discovery = Discovery("https://example.com/mcp", client)
        if fits:
            assert (await discovery.find()).server == {"issuer": issuer}
        else:
            with pytest.raises(AgentError, match="about another one"):
                await discovery.find()
