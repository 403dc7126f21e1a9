"""Servers from the `mcp.json` that desktop clients use, with what failsoft is told of each under `failsoft`.

{"mcpServers": {"files": {"command": "npx", "args": ["..."], "env": {"A": "b"},
                          "failsoft": {"trust": "cautious", "tools": {"get_*": {"read_only": true}}}},
                "remote": {"url": "https://...", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from failsoft.adapters.mcp.child import Child
from failsoft.adapters.mcp.effects import ServerOptions
from failsoft.adapters.mcp.logins import shown
from failsoft.adapters.mcp.restarts import Restarts
from failsoft.adapters.mcp.variables import expanded, expanded_table, expanded_where_set
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from failsoft.adapters.mcp.transport import Transport

__all__ = ["ServerSpec", "load_servers"]

_TABLES: Final = ("mcpServers", "servers")
_OWN: Final = ("trust", "tools", "restarts", "hang_s", "start_s", "remember_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server: how it is reached, and what is said of it. Either `argv` or `url`.

    `${NAME}` in a URL, in headers and in the environment stands for a variable of this process's environment, and is
    filled in when the server is reached, so that a value is not shown with the rest.

    Args:
        name: For people, for prefixes on a clash, and as the scope of its ledger.
        argv: Its command line.
        env: Added to this process's environment.
        cwd: Where it runs.
        url: Of its streamable HTTP endpoint.
        headers: Sent with each request there.
        passes_authorization: Whether the client's own `Authorization` is sent there; for clients over HTTP.
        options: What is said of its tools.
        restarts: How often it may be started again.
        hang_s: Seconds after which a server that answers nothing is killed.
        start_s: Seconds for its handshake when it is started again.
        remember_s: Seconds for which an identical protected call of a session gets the recorded result.
    """

    name: str
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    passes_authorization: bool = False
    options: ServerOptions = field(default_factory=ServerOptions)
    restarts: Restarts = field(default_factory=Restarts)
    hang_s: float = 30.0
    start_s: float = 30.0
    remember_s: float = 0.0

    def connect(self) -> Transport:
        """A fresh connection, not opened yet.

        Raises:
            UsageError: The package for HTTP is missing, or a variable is.
        """
        if self.url is None:
            argv = [expanded_where_set(word) for word in self.argv]
            return Child(argv, env=expanded_table(self.env, f"{self.name}: env"), cwd=self.cwd)
        try:
            # Brings an HTTP client that pipes do not need.
            from failsoft.adapters.mcp.bearer import Bearer
            from failsoft.adapters.mcp.remote import Remote
        except ModuleNotFoundError as exc:
            raise UsageError(
                "a server behind a URL needs a package\n\nhint: pip install 'failsoft[mcp]'"
            ) from exc
        url, headers = self.reached_at()
        has_own = self.passes_authorization or any(name.lower() == "authorization" for name in headers)
        return Remote(
            url,
            headers,
            auth=None if has_own else Bearer(url),
            passes_authorization=self.passes_authorization,
        )

    def reached_at(self) -> tuple[str, dict[str, str]]:
        """The URL and the headers, with their variables filled in.

        Raises:
            UsageError: A variable is not set.
        """
        url = expanded(self.url or "", f"{self.name}: url")
        return url, expanded_table(self.headers, f"{self.name}: headers")

    def check(self) -> None:
        """Find out now what could not work later.

        Raises:
            UsageError: A variable is not set; the URL is none.
        """
        expanded_table(self.env, f"{self.name}: env")
        if self.url is None:
            return
        url, _ = self.reached_at()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{self.name}: the URL of a server begins with http:// or https:// and a host, got {shown(url)!r}"
            )


def load_servers(path: str | os.PathLike[str]) -> list[ServerSpec]:
    """The servers of a file; those marked `disabled` are left out.

    Raises:
        UsageError: The file cannot be read, or says what cannot work; the message names the place.
    """
    label = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as exc:
        raise UsageError(f"{label} cannot be read: {exc}") from exc
    table = next((data[name] for name in _TABLES if isinstance(data, dict) and name in data), None)
    if not isinstance(table, dict) or not table:
        raise UsageError(
            f'{label} has no servers\n\nhint: {{"mcpServers": {{"name": {{"command": "..."}}}}}}'
        )
    return [
        spec_of(name, entry, f"{label}: {name}")
        for name, entry in table.items()
        if not (isinstance(entry, dict) and entry.get("disabled"))
    ]


def spec_of(name: str, entry: Any, where: str) -> ServerSpec:
    """One server of a file.

    Raises:
        UsageError: It cannot work.
    """
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        raise UsageError(f"{where}: a server has either a `command` or a `url`")
    own = entry.get("failsoft", {})
    unknown = set(own) - set(_OWN) if isinstance(own, dict) else {"failsoft"}
    if unknown:
        raise UsageError(
            f"{where}: failsoft knows no {sorted(unknown)[0]!r}\n\nhint: words: {', '.join(_OWN)}"
        )
    words: dict[str, Any] = {
        word: _seconds(own[word], f"{where}: {word}")
        for word in ("hang_s", "start_s", "remember_s")
        if word in own
    }
    try:
        said = _texts(own.get("tools", {}), where, values=dict)
        options = ServerOptions(trust=own.get("trust", "all"), tools=said)
    except UsageError as exc:
        raise UsageError(f"{where}: {exc}") from exc
    if "restarts" in own:
        words["restarts"] = _restarts(own["restarts"], where)
    if "url" in entry:
        headers = _texts(entry.get("headers", {}), where)
        return ServerSpec(name=name, url=str(entry["url"]), headers=headers, options=options, **words)
    args = entry.get("args", [])
    if not isinstance(args, list):
        raise UsageError(f"{where}: args is a list, got {args!r}")
    return ServerSpec(
        name=name,
        argv=(str(entry["command"]), *map(str, args)),
        env=_texts(entry.get("env", {}), where),
        cwd=entry.get("cwd"),
        options=options,
        **words,
    )


def _restarts(value: Any, where: str) -> Restarts:
    if isinstance(value, int) and not isinstance(value, bool):
        return Restarts(most=value)
    try:
        return Restarts(**value)
    except TypeError as exc:
        raise UsageError(f"{where}: restarts is a number or a table of options, got {value!r}") from exc


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"{where} is a number of seconds, got {value!r}")
    return float(value)


def _texts(value: Any, where: str, values: type = str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: wanted a table, got {value!r}")
    return {str(name): part if values is dict else str(part) for name, part in value.items()}
