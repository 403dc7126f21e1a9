"""What a server and its authorization server say of how their clients log in: metadata found, and checked.

    protected resource metadata (RFC 9728) ── names the authorization server ── its metadata (RFC 8414, or OpenID's)

Source of the order and the checks: the Model Context Protocol, "Authorization", 2025-06-18 and later; where a server has no
metadata of its own, the revision 2025-03-26: its origin is the authorization server.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

import httpx2

from failsoft.adapters.mcp.logins import shown
from failsoft.core.errors import Unavailable
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Discovery", "Found", "origin_of"]

log = logging.getLogger("failsoft.mcp")

_FRESH_S: Final = 60.0
_ENDPOINTS: Final = {
    "authorization_endpoint": "/authorize",
    "token_endpoint": "/token",
    "registration_endpoint": "/register",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found.

    Args:
        resource: The server's metadata; None where it has none.
        identifier: How authorization servers know the server: the `resource` that tokens are asked for.
        server: The authorization server's metadata.
    """

    resource: dict[str, Any] | None
    identifier: str
    server: dict[str, Any]


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class Discovery:
    """See the module.

    Args:
        url: The server's endpoint.
        client: Sends the requests.
    """

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self._url, self._client = url, client
        self._hint: str | None = None
        self._found: Found | None = None
        self._found_at = float("-inf")

    def hint(self, metadata_url: str | None) -> None:
        """Where the server's last refusal says that its metadata is."""
        if metadata_url is not None and metadata_url != self._hint:
            self._hint, self._found = metadata_url, None

    async def find(self) -> Found:
        """What is known, asked for anew each minute.

        Raises:
            Unavailable: It is not there, or does not fit together.
        """
        if self._found is None or time.monotonic() - self._found_at > _FRESH_S:
            self._found, self._found_at = await self._look(), time.monotonic()
        return self._found

    async def _look(self) -> Found:
        resource = await self._resource()
        if resource is None:
            origin = origin_of(self._url)
            return Found(resource=None, identifier=shown(self._url), server=await self._legacy(origin))
        issuers = resource.get("authorization_servers")
        if not isinstance(issuers, list) or not issuers or not isinstance(issuers[0], str):
            raise _unusable("the server names no authorization server")
        return Found(
            resource=resource, identifier=resource["resource"], server=await self._server(issuers[0])
        )

    async def _resource(self) -> dict[str, Any] | None:
        origin, path = origin_of(self._url), urlsplit(self._url).path.rstrip("/")
        well_known = f"{origin}/.well-known/oauth-protected-resource"
        for url in dict.fromkeys(filter(None, (self._hint, well_known + path, well_known))):
            data = await self._get(url)
            if data is None:
                continue
            # A client cannot see any more that a token is asked for somebody else's server, so it is seen to here.
            if not _covers(data.get("resource"), self._url):
                raise _unusable("the server's metadata is about another server")
            return data
        return None

    async def _server(self, issuer: str) -> dict[str, Any]:
        for url in _addresses(issuer):
            data = await self._get(url)
            if data is None:
                continue
            if str(data.get("issuer")).rstrip("/") != issuer.rstrip("/"):
                raise _unusable("the authorization server's metadata is about another one")
            return data
        raise _unusable("the authorization server has no metadata")

    async def _legacy(self, origin: str) -> dict[str, Any]:
        data = await self._get(f"{origin}/.well-known/oauth-authorization-server")
        if data is not None:
            if str(data.get("issuer")).rstrip("/") != origin:
                raise _unusable("the authorization server's metadata is about another one")
            return data
        made = {name: urljoin(origin, path) for name, path in _ENDPOINTS.items()}
        return {
            "issuer": origin,
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            **made,
        }

    async def _get(self, url: str) -> dict[str, Any] | None:
        """A document; None where there is none."""
        if urlsplit(url).scheme not in ("http", "https"):
            return None
        try:
            answer = await self._client.get(url, headers={"accept": "application/json"})
        except httpx2.HTTPError as exc:
            raise _unusable(f"what says how to log in could not be reached ({type(exc).__name__})") from exc
        if answer.status_code >= 500:
            raise _unusable(f"what says how to log in answers HTTP {answer.status_code}")
        try:
            data = answer.json() if answer.status_code == 200 else None
        except ValueError:
            return None
        return data if isinstance(data, dict) else None


def _addresses(issuer: str) -> Iterator[str]:
    """Where an authorization server's metadata may be, in the order of the specification."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _covers(resource: Any, url: str) -> bool:
    """Whether a resource identifier is the server's, or of what the server is a part of."""
    if not isinstance(resource, str) or origin_of(resource).lower() != origin_of(url).lower():
        return False
    return f"{urlsplit(url).path.rstrip('/')}/".startswith(f"{urlsplit(resource).path.rstrip('/')}/")


def _unusable(why: str) -> Unavailable:
    return Unavailable(f"Logging in is not possible: {why}.", reason="no_login", effect=Effect.NONE)
