"""Logging in to a server by OAuth, and new tokens for old ones, by the official SDK's client.

    discovery, registration, the person's browser, a redirect to this machine, tokens ── all of it the SDK's flow

Source of the rules: the Model Context Protocol, "Authorization", 2025-06-18 and later; RFC 8252 for the redirect.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from failsoft.adapters.mcp import logins, wire
from failsoft.adapters.mcp.headers import SESSION, VERSION
from failsoft.adapters.mcp.logins import Login
from failsoft.adapters.mcp.merging import own_info
from failsoft.adapters.mcp.serving import Server, bound
from failsoft.core.errors import PermissionDenied, Unavailable
from failsoft.core.kinds import Effect, Owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

__all__ = ["log_in", "refreshed"]

log = logging.getLogger("failsoft.mcp")

# The SDK's flow logs its errors with their texts, which quote what servers answered to tokens.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)

_REQUEST_S: Final = 30.0
_PERSON_S: Final = 300.0
_BACK: Final = "/callback"  # fixed, so that a client can be registered by hand; `state` tells strangers apart
_HELLO: Final = "2025-11-25"
_BOTH: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
_PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>failsoft</title><p>{text} This window can be closed."
)
_FAILURES: Final = (
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
    httpx2.HTTPError,
    ValidationError,
    ValueError,
)


class _Keep:
    """The SDK's storage: one login in memory."""

    def __init__(self, login: Login | None, client: OAuthClientInformationFull | None) -> None:
        self.tokens = None if login is None else OAuthToken.model_validate(login.tokens)
        self.client = client
        if login is not None and login.client:
            self.client = OAuthClientInformationFull.model_validate(login.client)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _Redirect:
    """Where the browser comes back to: a page on a port of this machine, until somebody came."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server = Server(Starlette(routes=[Route(_BACK, self._serve)]))
        self._serving: asyncio.Task[None] | None = None

    def open(self, port: int) -> str:
        """Listen; the address.

        Raises:
            OSError: The port cannot be had.
        """
        sock = bound(port)
        self._serving = asyncio.create_task(self._server.serve(sockets=[sock]))
        return f"http://127.0.0.1:{sock.getsockname()[1]}{_BACK}"

    async def _serve(self, request: Request) -> Response:
        query = request.query_params
        result = AuthorizationCodeResult(
            code=query.get("code", ""), state=query.get("state"), iss=query.get("iss")
        )
        if not self.answer.done():
            self.answer.set_result(result)
        text = "You are logged in." if result.code else "The login was refused."
        return HTMLResponse(_PAGE.format(text=text), headers={"connection": "close"})

    async def close(self) -> None:
        """Stop listening, when the page has been sent."""
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving


def _provider(
    login: Login | None,
    url: str,
    keep: _Keep,
    redirect_uri: str,
    redirect: Callable[[str], Awaitable[None]] | None = None,
    callback: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "failsoft",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
    )
    made = OAuthClientProvider(url, metadata, keep, redirect_handler=redirect, callback_handler=callback)
    if login is not None:
        # The SDK keeps neither across a restart, and without them would ask the wrong server for new tokens, too late.
        if login.server is not None:
            made.context.oauth_metadata = OAuthMetadata.model_validate(login.server)
        if login.resource is not None:
            made.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
                login.resource
            )
    return made


def _login_of(url: str, provider: OAuthClientProvider, keep: _Keep) -> Login:
    tokens, context = keep.tokens, provider.context
    assert tokens is not None
    return Login(
        url=url,
        tokens=_plain(tokens),
        expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
        client={} if keep.client is None else _plain(keep.client),
        server=None if context.oauth_metadata is None else _plain(context.oauth_metadata),
        resource=None
        if context.protected_resource_metadata is None
        else _plain(context.protected_resource_metadata),
    )


def _plain(model: Any) -> dict[str, Any]:
    plain: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain


async def log_in(
    url: str,
    show: Callable[[str], Awaitable[None]],
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    port: int = 0,
    person_s: float = _PERSON_S,
    headers: dict[str, str] | None = None,
) -> Login | None:
    """Have a person log in, and keep what that gives.

    Args:
        url: The server's endpoint.
        show: Brings the person to the authorization server: is given the address for their browser.
        client_id: Of a client that is registered already; default registers one.
        client_secret: The same client's.
        port: Where the browser comes back to, on this machine; 0 for a free one.
        person_s: Seconds that the person has.
        headers: Sent to the server too.

    Returns:
        The login; None where the server asks for none.

    Raises:
        PermissionDenied: There is no login: refused, not possible, or nobody came back.
        Unavailable: The server or its authorization server does not answer.
    """
    redirect = _Redirect()
    try:
        address = redirect.open(port)
    except OSError as exc:
        raise Unavailable(
            f"Port {port} cannot be had for the way back from the browser: {exc.strerror}.",
            reason="port_in_use",
            effect=Effect.NONE,
        ) from exc

    async def came_back() -> AuthorizationCodeResult:
        async with asyncio.timeout(person_s):
            return await redirect.answer

    keep = _Keep(None, _known_client(client_id, client_secret, address))
    provider = _provider(None, url, keep, address, show, came_back)
    try:
        status = await _knock(url, provider, headers or {}, keep)
    except TimeoutError as exc:
        raise _refused(f"nobody came back from the browser in {person_s:g} s") from exc
    except _FAILURES as exc:
        raise _failed(exc) from exc
    finally:
        await redirect.close()
    if keep.tokens is None and status < 300:
        return None
    _check(status, keep)
    login = _login_of(url, provider, keep)
    try:
        logins.save(login)
    except OSError as exc:
        raise Unavailable(
            f"The login cannot be kept in {logins.path_of(url).parent}: {exc.strerror}.",
            reason="not_kept",
            effect=Effect.NONE,
        ) from exc
    return login


def _known_client(
    client_id: str | None, client_secret: str | None, address: str
) -> OAuthClientInformationFull | None:
    if client_id is None:
        return None
    return OAuthClientInformationFull.model_validate(
        {
            "client_id": client_id,
            "client_secret": client_secret,
            "redirect_uris": [address],
            "token_endpoint_auth_method": "none" if client_secret is None else "client_secret_post",
        }
    )


def _check(status: int, keep: _Keep) -> None:
    """Whether the flow has come to a login.

    Raises:
        PermissionDenied: It was not begun, or the server does not take what it gave.
        Unavailable: The server answers something else.
    """
    if status in (401, 403):
        if keep.tokens is None:
            raise _refused(f"the server answers HTTP {status} and names no way to log in")
        raise _refused(f"the server does not take the new token (HTTP {status})")
    if keep.tokens is None:
        raise Unavailable(
            f"The server answers HTTP {status}, and asks for no login.",
            reason=f"http_{status}",
            effect=Effect.NONE,
        )


async def _knock(url: str, auth: httpx2.Auth, headers: dict[str, str], keep: _Keep) -> int:
    """Ask the server for what it may want a login for: a handshake, then its tools; the status in the end."""
    params = {"protocolVersion": _HELLO, "capabilities": {}, "clientInfo": own_info()}
    asked = [("initialize", params), ("tools/list", {})]
    sent = dict(_BOTH)
    async with httpx2.AsyncClient(auth=auth, timeout=_REQUEST_S, headers=headers) as client:
        for id, (method, given) in enumerate(asked):
            body = wire.encode(wire.request(id, method, given))
            async with client.stream("POST", url, content=body, headers=sent) as answer:
                status = answer.status_code
                if SESSION in answer.headers:
                    sent[SESSION] = answer.headers[SESSION]
            if keep.tokens is not None or status >= 300:
                break
            sent[VERSION] = _HELLO
        if SESSION in sent:
            await client.delete(url, headers=sent)
    return status


async def refreshed(login: Login) -> Login | None:
    """A login with a new access token, written down; None where its server gives none any more.

    Raises:
        Unavailable: The authorization server does not answer.
    """
    if not login.tokens.get("refresh_token"):
        return None
    keep = _Keep(login, None)
    provider = _provider(login, login.url, keep, "http://127.0.0.1/")
    provider.context.token_expiry_time = 1.0  # so that the flow begins with the refresh
    request = httpx2.Request("POST", login.url, headers={"mcp-protocol-version": _HELLO})
    flow = provider.async_auth_flow(request)
    try:
        async with httpx2.AsyncClient(timeout=_REQUEST_S) as client:
            asked = await anext(flow)
            if asked is request:
                return None
            # The next thing the flow wants to send is the request itself, which it only lends its token to.
            while asked is not request:
                answer = await client.send(asked)
                if answer.status_code >= 500:
                    raise Unavailable(
                        f"The authorization server answers HTTP {answer.status_code}.", effect=Effect.NONE
                    )
                asked = await flow.asend(answer)
    except _FAILURES as exc:
        raise _failed(exc) from exc
    finally:
        await flow.aclose()
    if keep.tokens is None or keep.tokens.access_token == login.access_token:
        return None
    made = replace(
        _login_of(login.url, provider, keep),
        client=login.client,
        server=login.server,
        resource=login.resource,
    )
    try:
        logins.save(made)
    except OSError as exc:  # good for as long as this process lives
        log.warning("the renewed login cannot be kept: %s", exc.strerror)
    return made


def _refused(why: str) -> PermissionDenied:
    return PermissionDenied(
        f"There is no login: {why}.", reason="login_failed", owner=Owner.HUMAN, effect=Effect.NONE
    )


def _failed(exc: Exception) -> PermissionDenied | Unavailable:
    """What went wrong, without what servers wrote: that may quote tokens."""
    if isinstance(exc, httpx2.HTTPError):
        return Unavailable(
            f"The server, or where it sends its clients to log in, could not be reached: {type(exc).__name__}.",
            reason="connect_failed",
            effect=Effect.NONE,
        )
    steps = {
        OAuthRegistrationError: "the authorization server did not register this client; --client-id takes one that is registered",
        OAuthTokenError: "the authorization server gave no token",
        OAuthFlowError: "the person refused, or the answers of the server and its authorization server do not fit together",
    }
    why = next((text for kind, text in steps.items() if isinstance(exc, kind)), "an answer cannot be read")
    return _refused(why)
