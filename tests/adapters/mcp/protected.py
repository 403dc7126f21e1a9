"""A protected server and its authorization server, made with the official SDK, in the test's own process and loop."""

import asyncio
import contextlib
import secrets
import socket
import time
from urllib.parse import urlencode

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizeError,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from mcp_types import ToolAnnotations
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


class Server(uvicorn.Server):
    """One that leaves signals alone."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


@contextlib.asynccontextmanager
async def served(app):
    """Serve an application (or what makes one for an origin) on a free port; its origin."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{sock.getsockname()[1]}"
    app = app(origin) if callable(app) and not isinstance(app, Starlette) else app
    server = Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[sock]))
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield origin
    finally:
        server.should_exit = True
        await running
        sock.close()


class People:
    """An authorization server whose every person says yes (or no), and gives tokens for one server only.

    Attributes:
        lives_s: How long access tokens live.
        says_yes: Whether the person agrees.
        told: What happened, one word each.
    """

    def __init__(self, *, names_issuer=False):
        self.names_issuer = names_issuer
        self.lives_s, self.says_yes, self.told = 3600, True, []
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.origin = self.resource = ""

    def app(self, origin):
        self.origin = origin
        options = ClientRegistrationOptions(enabled=True, valid_scopes=["use"], default_scopes=["use"])
        routes = create_auth_routes(self, AnyHttpUrl(origin), client_registration_options=options)
        data = build_metadata(AnyHttpUrl(origin), None, options, RevocationOptions()).model_dump(
            mode="json", exclude_none=True
        )
        data |= {"issuer": origin, "token_endpoint_auth_methods_supported": ["none", "client_secret_post"]}
        if self.names_issuer:
            data |= {"authorization_response_iss_parameter_supported": True}
        metadata = Route("/.well-known/oauth-authorization-server", lambda request: JSONResponse(data))
        return Starlette(routes=[metadata, *routes])

    @property
    def secrets(self):
        return [*self.codes, *self.access, *self.refresh]

    # ---- what the SDK asks of a provider ----

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.told.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.told.append("authorize")
        if params.resource != self.resource:
            raise AuthorizeError(error="invalid_target", error_description=f"not {params.resource}")
        if not self.says_yes:
            raise AuthorizeError(error="access_denied")
        code = f"code-{secrets.token_hex(16)}"
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or ["use"],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        own = {"iss": self.origin} if self.names_issuer else {}
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state, **own)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        self.told.append("token")
        return self._tokens(client, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.told.append("refresh")
        if not self.says_yes:
            raise TokenError(error="invalid_grant")
        del self.refresh[refresh_token.token]
        return self._tokens(client, refresh_token.resource)

    def _tokens(self, client, resource):
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        common = {"client_id": client.client_id, "scopes": ["use"], "resource": resource}
        expires = int(time.time() + self.lives_s)
        self.access[access] = AccessToken(token=access, expires_at=expires, **common)
        self.refresh[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lives_s, scope="use")

    async def load_access_token(self, token):
        return self.access.get(token)

    async def verify_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)


def protected_app(people, origin):
    """A server that takes the tokens of `people` for itself only."""
    people.resource = f"{origin}/mcp"
    server = MCPServer(
        "protected",
        token_verifier=people,
        log_level="ERROR",
        auth=AuthSettings(
            issuer_url=people.origin,
            resource_server_url=people.resource,
            required_scopes=["use"],
            validate_token_resource=True,
        ),
    )
    calls = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool(annotations=ToolAnnotations(read_only_hint=False))
    def act(n: int) -> str:
        """Act."""
        calls.append(n)
        return f"acted {n}"

    app = server.streamable_http_app()
    people.calls = calls
    return app


@contextlib.asynccontextmanager
async def protected(people):
    """The address of a protected server."""
    async with served(people.app):
        made = []

        def make(origin):
            made.append(protected_app(people, origin))
            return made[-1]

        async with served(make) as origin:
            yield f"{origin}/mcp"


async def browse(address):
    """What a browser does: follow every redirect to its end; the last answer."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=10) as browser:
        return await browser.get(address)


def with_query(url, **pairs):
    return f"{url}?{urlencode(pairs)}"
