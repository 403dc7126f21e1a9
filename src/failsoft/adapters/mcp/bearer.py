"""Adds the token of a stored login to requests, with a fresh one in time.

The SDK's own flow holds a lock until a request is answered, so that calls would wait for each other; here it only gets new
tokens, once for all who wait.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import httpx2

from failsoft.adapters.mcp import logins
from failsoft.core.errors import AgentError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from failsoft.adapters.mcp.logins import Login

__all__ = ["Bearer"]

log = logging.getLogger("failsoft.mcp")


class Bearer(httpx2.Auth):
    """See the module.

    Args:
        url: The server's endpoint, whose login is used. One that is made while this lives is found too.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._login: Login | None = logins.load(url)
        self._lock = asyncio.Lock()
        self._spent: str | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send it with a token; once more with a fresh one where that is refused."""
        if self._login is not None and self._login.is_over:
            await self._renew(self._login.access_token)
        sent = self._sign(request)
        answer = yield request
        if answer.status_code == 401 and await self._renew(sent):
            self._sign(request)
            yield request

    def _sign(self, request: httpx2.Request) -> str | None:
        if self._login is None:
            return None
        request.headers["authorization"] = f"Bearer {self._login.access_token}"
        return self._login.access_token

    async def _renew(self, refused: str | None) -> bool:
        """Get another token than this one, by whatever way; whether there is one."""
        async with self._lock:
            # Somebody else may have got one: in this process, or in another that shares the file.
            found = self._login if self._is_other(self._login, refused) else logins.load(self._url)
            if self._is_other(found, refused):
                self._login = found
                return True
            if found is None or refused == self._spent:
                return False
            try:
                from failsoft.adapters.mcp.oauth import refreshed  # the SDK takes a second to import

                fresh = await refreshed(found)
            except ModuleNotFoundError as exc:
                raise UsageError("a login needs a package\n\nhint: pip install 'failsoft[login]'") from exc
            except AgentError as exc:
                log.warning("the login to the server could not be renewed: %s", exc)
                return False
            if fresh is None:
                # Another process may have used the refresh token up a moment ago.
                again = logins.load(self._url)
                fresh = again if self._is_other(again, refused) else None
            if fresh is None:
                self._spent = refused
                log.warning("the login to the server is over: log in again by `failsoft mcp --login`")
                return False
            self._login = fresh
            return True

    def _is_other(self, login: Login | None, refused: str | None) -> bool:
        return login is not None and login.access_token != refused and not login.is_over
