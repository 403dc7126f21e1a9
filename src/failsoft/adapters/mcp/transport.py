"""What a link needs of the way to a server, whether that is a pipe or HTTP."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.errors import AgentError

__all__ = ["Receiver", "Transport", "about"]

about: ContextVar[Any] = ContextVar("failsoft_mcp_about", default=None)
"""The id of the request on whose stream a server says what is being handed on now; None where that cannot be told."""


class Receiver(Protocol):
    """Who hears what comes from the server; called on the event loop, in order."""

    def on_line(self, line: bytes) -> None:
        """One message, or garbage, without the line's end."""
        ...

    def on_end(self, why: str) -> None:
        """The connection is gone; nothing comes after this."""
        ...

    def on_failure(self, id: Any, error: AgentError) -> None:
        """One request will not be answered; the connection lives."""
        ...

    def on_interrupted(self, id: Any) -> None:
        """The server has closed the stream of a request before its answer, and goes on with it on the next."""
        ...

    def on_blocked(self, blocked: bool) -> None:
        """The server does not read; send nothing more until it does."""
        ...


class Transport(Protocol):
    """One connection to a server; opened once, never opened again."""

    async def open(self, receiver: Receiver) -> None:
        """Connect.

        Raises:
            AgentError: kind `unavailable` or `not_found`: there is nothing to connect to.
        """
        ...

    def send(self, line: bytes, message: Message) -> None:
        """Write one message; `line` is what is to be written, with its end.

        Raises:
            ConnectionError: The connection is gone.
        """
        ...

    def pause(self, paused: bool) -> None:
        """Stop reading from the server, or go on."""
        ...

    def kill(self) -> None:
        """End the server's side at once, where that is in our hands; `on_end` follows."""
        ...

    async def close(self) -> None:
        """End the connection in order, within a few seconds."""
        ...
