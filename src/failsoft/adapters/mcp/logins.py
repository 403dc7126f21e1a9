"""Logins to servers behind URLs, kept for the user: one file a server, readable by nobody else.

$FAILSOFT_HOME/logins, else ~/.failsoft/logins      folder 0700, files 0600, written whole or not at all
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

__all__ = ["Login", "forget", "load", "path_of", "save", "shown"]

_VERSION: Final = 1
# A token that ends while a request is on its way is of no use to it.
_EARLY_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What one login gave. Its `repr` holds no token.

    Args:
        url: The server's endpoint.
        tokens: The token response, as RFC 6749 has it.
        expires_at: Epoch seconds at which the access token ends; None where nothing is known of that.
        client: This client's registration at the authorization server.
        server: The authorization server's metadata (RFC 8414), which a later refresh needs.
        resource: The server's own metadata (RFC 9728).
    """

    url: str
    tokens: dict[str, Any] = field(repr=False)
    expires_at: float | None = None
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    server: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None

    @property
    def access_token(self) -> str:
        """What is sent to the server."""
        return str(self.tokens["access_token"])

    @property
    def is_over(self) -> bool:
        """Whether its access token has ended, or is about to."""
        return self.expires_at is not None and time.time() >= self.expires_at - _EARLY_S


def shown(url: str) -> str:
    """A URL for people: without user, password, query and fragment, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def path_of(url: str) -> Path:
    """The file of a server's login."""
    home = os.environ.get("FAILSOFT_HOME")
    folder = (Path(home) if home else Path.home() / ".failsoft") / "logins"
    host = re.sub(r"[^a-z0-9.-]", "_", (urlsplit(url).hostname or "server").lower())
    return folder / f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:12]}.json"


def load(url: str) -> Login | None:
    """A server's login; None where there is none, or none that can be read."""
    try:
        data = json.loads(path_of(url).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or data.get("v") != _VERSION or data.get("url") != url:
        return None
    tokens = data.get("tokens")
    if not isinstance(tokens, dict) or not isinstance(tokens.get("access_token"), str):
        return None
    return Login(
        url=url,
        tokens=tokens,
        expires_at=data.get("expires_at"),
        client=data.get("client") or {},
        server=data.get("server"),
        resource=data.get("resource"),
    )


def save(login: Login) -> Path:
    """Write a login; the file is whole at any moment, and never readable by others.

    Raises:
        OSError: It cannot be written.
    """
    path = path_of(login.url)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    data = {"v": _VERSION, **{name: getattr(login, name) for name in Login.__slots__}}
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def forget(url: str) -> bool:
    """Delete a server's login; whether there was one."""
    try:
        path_of(url).unlink()
    except FileNotFoundError:
        return False
    return True
