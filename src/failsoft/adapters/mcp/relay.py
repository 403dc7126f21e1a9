"""Logging in to a server through the proxy: the client sees the proxy as the server and as its authorization server.

    client ── metadata, /authorize, /token, /register ── proxy ── the same at the true ones, for the true server

A client refuses metadata about another address than the one it has, and asks for tokens for that address; an
authorization server gives tokens only for the server that it knows. So addresses are translated on the way, and nothing
else: codes, proofs and tokens pass, and none is kept.

Rules of this file
- A code goes back only to where the client had asked for it; through here only where that is on this machine, because
  who registered what is not known here.
- Nothing that passes is logged.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from failsoft.adapters.mcp.discovery import Discovery
from failsoft.core.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from failsoft.adapters.mcp.carried import Refusal
    from failsoft.adapters.mcp.discovery import Found

__all__ = ["Relay"]

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_SERVER: Final = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
_BACK: Final = "/authorize/back"
_HANDED_ON: Final = ("authorization", "content-type", "accept", "mcp-protocol-version")
_NAMED: Final = re.compile(r'resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,]+))', re.IGNORECASE)
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
# What is bound to the true addresses, and would not hold here.
_BOUND: Final = (
    "signed_metadata",
    "pushed_authorization_request_endpoint",
    "dpop_signing_alg_values_supported",
    "mtls_endpoint_aliases",
)
_SIGNED: Final = ("private_key_jwt", "client_secret_jwt")
_PENDING_S: Final = 600.0
_MAX_PENDING: Final = 100
_REQUEST_S: Final = 30.0


class Relay:
    """See the module.

    Args:
        url: The server's endpoint.
        path: The proxy's own.
        guard: Refuses requests of strangers; None where a request may come in.
    """

    def __init__(self, url: str, path: str, guard: Callable[[Request], Response | None]) -> None:
        self._path, self._guard = path, guard
        self._client = httpx2.AsyncClient(timeout=_REQUEST_S, follow_redirects=False)
        self._discovery = Discovery(url, self._client)
        self._pending: dict[str, tuple[float, str, str | None]] = {}
        served = [
            (_RESOURCE, self._resource, "GET"),
            (_RESOURCE + path, self._resource, "GET"),
            *((known, self._server, "GET") for known in _SERVER),
            ("/authorize", self._authorize, "GET"),
            (_BACK, self._back, "GET"),
            ("/token", self._token, "POST"),
            ("/register", self._register, "POST"),
        ]
        self.routes = [Route(at, self._guarded(serve), methods=[method]) for at, serve, method in served]

    def _guarded(
        self, serve: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def served(request: Request) -> Response:
            refusal = self._guard(request)
            if refusal is not None:
                return refusal
            try:
                return await serve(request)
            except AgentError as exc:
                return _problem(502, "temporarily_unavailable", exc.message)
            except httpx2.HTTPError as exc:
                return _problem(502, "temporarily_unavailable", f"no answer: {type(exc).__name__}")

        return served

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    # ---- the server's refusal ----

    def answer(self, request: Request, refusal: Refusal) -> Response:
        """The server's refusal for the client, who finds the metadata here."""
        named = _NAMED.search(refusal.challenge)
        self._discovery.hint(named and (named[1] or named[2]))
        here = f'resource_metadata="{_base(request)}{_RESOURCE}{self._path}"'
        challenge = refusal.challenge
        if named is not None:
            challenge = _NAMED.sub(here, challenge)
        elif challenge.lower().startswith("bearer") or not challenge:
            rest = challenge[len("bearer") :].strip()
            challenge = f"Bearer {here}, {rest}" if rest else f"Bearer {here}"
        return Response(
            refusal.body,
            status_code=refusal.status,
            headers={"www-authenticate": challenge},
            media_type=refusal.media_type or None,
        )

    # ---- metadata ----

    async def _resource(self, request: Request) -> Response:
        found = await self._discovery.find()
        if found.resource is None:
            return _problem(404, "not_found", "the server has no metadata of its own")
        base = _base(request)
        own = {name: value for name, value in found.resource.items() if name not in _BOUND}
        return JSONResponse({**own, "resource": base + self._path, "authorization_servers": [base]})

    async def _server(self, request: Request) -> Response:
        server = (await self._discovery.find()).server
        base = _base(request)
        own = {name: value for name, value in server.items() if name not in _BOUND}
        own |= {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
        }
        if "registration_endpoint" in server:
            own["registration_endpoint"] = f"{base}/register"
        methods = server.get("token_endpoint_auth_methods_supported")
        if isinstance(methods, list):
            own["token_endpoint_auth_methods_supported"] = [each for each in methods if each not in _SIGNED]
        if _tells_issuer(server):  # such a client's way back cannot lead through here
            own.pop("client_id_metadata_document_supported", None)
        return JSONResponse(own)

    # ---- the flow ----

    async def _authorize(self, request: Request) -> Response:
        found = await self._discovery.find()
        given = _translated(list(request.query_params.multi_items()), found, None)
        values = dict(given)
        redirect_uri = values.get("redirect_uri", "")
        if self._leads_through(found, redirect_uri):
            state = secrets.token_urlsafe(24)
            self._forget_old()
            self._pending[state] = (time.monotonic(), redirect_uri, values.get("state"))
            given = [pair for pair in given if pair[0] not in ("state", "redirect_uri")]
            given += [("state", state), ("redirect_uri", _base(request) + _BACK)]
        endpoint = str(found.server.get("authorization_endpoint"))
        return RedirectResponse(_with_query(endpoint, given), status_code=302)

    async def _back(self, request: Request) -> Response:
        """From the authorization server to where the client waits, with our name where its own stood."""
        found = await self._discovery.find()
        came = dict(request.query_params)
        pending = self._pending.pop(came.pop("state", ""), None)
        issuer = came.pop("iss", None)
        if pending is None or issuer not in (None, found.server.get("issuer")):
            return _problem(400, "invalid_request", "nobody here waits for this")
        _, redirect_uri, state = pending
        # An answer that lacks its issuer lacks it for the client too, which has been promised one and refuses this.
        answer = [*came.items(), *([] if issuer is None else [("iss", _base(request))])]
        if state is not None:
            answer.append(("state", state))
        return RedirectResponse(_with_query(redirect_uri, answer), status_code=302)

    async def _token(self, request: Request) -> Response:
        found = await self._discovery.find()
        given = parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        redirect_uri = dict(given).get("redirect_uri", "")
        back = _base(request) + _BACK if self._leads_through(found, redirect_uri) else None
        body = urlencode(_translated(given, found, back)).encode()
        return await self._hand_on(request, str(found.server.get("token_endpoint")), body)

    async def _register(self, request: Request) -> Response:
        found = await self._discovery.find()
        endpoint = found.server.get("registration_endpoint")
        try:
            asked = await request.json()
        except ValueError:
            asked = None
        if not isinstance(endpoint, str) or not isinstance(asked, dict):
            return _problem(400, "invalid_client_metadata", "no client can be registered like this")
        uris = asked.get("redirect_uris")
        if not (isinstance(uris, list) and any(self._leads_through(found, str(each)) for each in uris)):
            return await self._hand_on(request, endpoint, await request.body())
        wanted = {**asked, "redirect_uris": [*uris, _base(request) + _BACK]}
        answer = await self._hand_on(request, endpoint, httpx2.Request("POST", endpoint, json=wanted).content)
        return _registered(answer, uris)

    async def _hand_on(self, request: Request, endpoint: str, body: bytes) -> Response:
        sent = {name: request.headers[name] for name in _HANDED_ON if name in request.headers}
        answer = await self._client.post(endpoint, content=body, headers=sent)
        kept = {"cache-control": "no-store"}
        if "www-authenticate" in answer.headers:
            kept["www-authenticate"] = answer.headers["www-authenticate"]
        return Response(
            answer.content,
            status_code=answer.status_code,
            headers=kept,
            media_type=answer.headers.get("content-type"),
        )

    def _leads_through(self, found: Found, redirect_uri: str) -> bool:
        """Whether the way back leads through here: the answer names its issuer, which for the client is the proxy."""
        return _tells_issuer(found.server) and urlsplit(redirect_uri).hostname in _LOOPBACK

    def _forget_old(self) -> None:
        long_ago = time.monotonic() - _PENDING_S
        for state, (since, _, _) in list(self._pending.items()):
            if since < long_ago or len(self._pending) >= _MAX_PENDING:
                del self._pending[state]


def _tells_issuer(server: dict[str, Any]) -> bool:
    """Whether its answers to the browser carry its name (RFC 9207)."""
    return server.get("authorization_response_iss_parameter_supported") is True


def _base(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers['host']}"


def _translated(
    given: list[tuple[str, str]], found: Found, redirect_uri: str | None
) -> list[tuple[str, str]]:
    """The same request for the true server."""
    made = []
    for name, value in given:
        if name == "resource":
            value = found.identifier
        elif name == "redirect_uri" and redirect_uri is not None:
            value = redirect_uri
        made.append((name, value))
    return made


def _with_query(url: str, pairs: list[tuple[str, str]]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(pairs)}"


def _registered(answer: Response, uris: list[Any]) -> Response:
    """A registration as the client had asked for it."""
    try:
        data = httpx2.Response(answer.status_code, content=bytes(answer.body)).json()
    except ValueError:
        return answer
    if not isinstance(data, dict) or "redirect_uris" not in data:
        return answer
    return JSONResponse(
        {**data, "redirect_uris": uris},
        status_code=answer.status_code,
        headers={"cache-control": "no-store"},
    )


def _problem(status: int, error: str, text: str) -> Response:
    return JSONResponse({"error": error, "error_description": text}, status_code=status)
