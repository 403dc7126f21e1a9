"""One HTTP response that reads a stream of messages, with places that a client can come back to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from failsoft.adapters.mcp.events import event
from failsoft.adapters.mcp.headers import SESSION

if TYPE_CHECKING:
    from failsoft.adapters.mcp.port import Port, Stream

__all__ = ["Reading"]

_RETRY_MS: Final = 500


class Reading:
    """One response that reads a stream: from the request itself, or from where a client comes back to it.

    Args:
        stream: What is read.
        port: Whose it is.
        after: How many messages the client has seen; None for all that nobody has read.
        primed: Whether the client is told at once where to come back to.
    """

    def __init__(self, stream: Stream, port: Port, *, after: int | None = None, primed: bool = False) -> None:
        self.stream, self.primed, self._port = stream, primed, port
        self._reader = stream.read(after)

    @property
    def headers(self) -> dict[str, str]:
        """Of the response."""
        return {} if self._port.stateless else {SESSION: self._port.id}

    async def next(self) -> bytes | None:
        """The next message; None at the end."""
        return await self.stream.next(self._reader, keep=not self._port.stateless)

    def event(self, line: bytes) -> bytes:
        """A message with its place, where a client can come back to it."""
        if self._port.stateless:
            return event(line)
        return self._place() + event(line)

    def priming(self) -> bytes:
        """An event that says nothing but where the stream begins, and when to come back."""
        return self._place() + b"retry: %d\ndata: \n\n" % _RETRY_MS

    def _place(self) -> bytes:
        return b"id: %d-%d\n" % (self.stream.number, self.stream.sent)

    def end(self) -> None:
        """The response has ended, or its client has left."""
        self.stream.leave(self._reader)
        if self.stream.is_over:
            self._port.close(self.stream)
        else:
            self._port.abandon(self.stream)
