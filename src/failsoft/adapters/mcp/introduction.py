"""What a client has told a server about itself, kept so that a fresh process can be told again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Introduction"]


class Introduction:
    """The state of a session that lives in the server: handshake, log level, subscriptions."""

    __slots__ = ("capabilities", "initialize", "initialized", "level", "protocol", "subscriptions")

    def __init__(self) -> None:
        self.initialize: Any = None
        self.initialized = False
        self.protocol: str | None = None
        self.capabilities: dict[str, Any] = {}
        self.level: Any = None
        self.subscriptions: dict[str, Any] = {}

    def sent(self, message: Message) -> None:
        """Note what a client's message changes in the server's state."""
        method, params = message["method"], message.get("params")
        if method == "initialize":
            self.initialize = params
        elif method == "notifications/initialized":
            self.initialized = True
        elif method == "logging/setLevel":
            self.level = params
        elif method in ("resources/subscribe", "resources/unsubscribe") and isinstance(params, dict):
            uri = str(params.get("uri"))
            self.subscriptions.pop(uri, None)
            if method == "resources/subscribe":
                self.subscriptions[uri] = params

    def answered(self, result: Any) -> None:
        """Note what the server said of itself."""
        if isinstance(result, dict):
            self.protocol = result.get("protocolVersion")
            capabilities = result.get("capabilities")
            self.capabilities = capabilities if isinstance(capabilities, dict) else {}

    @property
    def is_answered(self) -> bool:
        """Whether the handshake has been made, so that it is to be made again."""
        return self.protocol is not None

    def again(self) -> list[tuple[str, Any]]:
        """The requests that follow a repeated handshake."""
        made: list[tuple[str, Any]] = []
        if self.level is not None:
            made.append(("logging/setLevel", self.level))
        made += [("resources/subscribe", params) for params in self.subscriptions.values()]
        return made
