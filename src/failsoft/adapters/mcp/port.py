"""One HTTP client's way back: which of its open streams a message goes to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire

if TYPE_CHECKING:
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Port", "Stream"]

_MAX_WAITING: Final = 1000


class Stream:
    """One open response: of a request, until its answer; or of a client that listens."""

    __slots__ = ("_lines", "client_id", "id", "token")

    def __init__(self, id: Any = None, client_id: Any = None, token: Any = None) -> None:
        self.id, self.client_id, self.token = id, client_id, token
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, line: bytes) -> None:
        """Add one message."""
        self._lines.put_nowait(line)

    async def next(self) -> bytes:
        """The next message."""
        return await self._lines.get()

    def is_answer(self, line: bytes) -> bool:
        """Whether this is the answer that ends the stream."""
        if self.id is None:
            return False
        message = wire.parse(line)
        return "method" not in message and message.get("id") == self.client_id


class Port:
    """See the module.

    Args:
        id: The session's id.
        stateless: Whether clients of no session share it; their ids are then made unlike on the way in.
    """

    def __init__(self, id: str, *, stateless: bool) -> None:
        self.id, self.stateless = id, stateless
        self.front: Any = None
        self.used_at = asyncio.get_running_loop().time()
        self._streams: dict[Any, Stream] = {}
        self._tokens: dict[Any, Any] = {}
        self._listener: Stream | None = None
        self._kept: list[bytes] = []

    @property
    def is_open(self) -> bool:
        """Whether the client listens, or waits for an answer."""
        return self._listener is not None or bool(self._streams)

    # ---- from the client ----

    def request(self, message: Message) -> Stream:
        """Hand a request on; the stream that its answer will come on."""
        own: Any = wire.new_request_id() if self.stateless else message["id"]
        token = wire.progress_token(message)
        stream = Stream(own, message["id"], token)
        self._streams[own] = stream
        if self.stateless:
            message = {**message, "id": own}
            if token is not None:
                meta = {**wire.meta_of(message), "progressToken": own}
                message["params"] = {**message["params"], "_meta": meta}
                self._tokens[own] = own
        elif token is not None:
            self._tokens[token] = own
        self.front.from_client(wire.encode(message).rstrip())
        return stream

    def listen(self) -> Stream:
        """A stream for what belongs to no request; the last listener gets it."""
        self._listener = stream = Stream()
        for line in self._kept:
            stream.put(line)
        self._kept.clear()
        return stream

    def close(self, stream: Stream) -> None:
        """A stream has had its answer."""
        self._streams.pop(stream.id, None)
        self._tokens.pop(stream.id if self.stateless else stream.token, None)
        if self._listener is stream:
            self._listener = None

    def abandon(self, stream: Stream) -> None:
        """The client has left a stream before its end: without a session that is its way to cancel."""
        self.close(stream)
        if self.stateless and stream.id is not None:
            params = {"requestId": stream.id, "reason": "the client has left"}
            self.front.from_client(wire.encode(wire.notification("notifications/cancelled", params)).rstrip())

    # ---- to the client ----

    def send(self, line: bytes, message: Message | None) -> None:
        """Put one message on the stream that it belongs to."""
        known = wire.parse(line) if message is None else message
        if "method" not in known:
            stream = self._streams.get(known.get("id"))
            if stream is not None:
                stream.put(wire.encode({**known, "id": stream.client_id}) if self.stateless else line)
            return
        stream = self._by_token(known) or self._listener or next(reversed(self._streams.values()), None)
        if known["method"] == "notifications/progress" and stream is not None and self.stateless:
            params = {**known["params"], "progressToken": stream.token}
            line = wire.encode({**known, "params": params})
        if stream is not None:
            stream.put(line)
        elif len(self._kept) < _MAX_WAITING:
            self._kept.append(line)

    def _by_token(self, message: Message) -> Stream | None:
        params = message.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        own = self._tokens.get(token) if isinstance(token, str | int) else None
        return None if own is None else self._streams.get(own)

    def pause(self, paused: bool) -> None:
        """Nothing to do: each request has its own connection."""
