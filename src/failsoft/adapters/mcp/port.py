"""One HTTP client's way back: which of its open streams a message goes to, and what waits for a client that comes back.

Rules of this file
- What answers a request ends the stream of that request. What is said about a request goes there too, where that can be
  told: by its token, its subscription, the stream it came on, or because one request is all there is.
- A client of a session that loses its connection has not cancelled anything: its streams go on, and it can come back to
  them with the id of the last event it has seen.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.inbound import status_of
from failsoft.adapters.mcp.transport import about

if TYPE_CHECKING:
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Port", "Stream"]

_MAX_WAITING: Final = 1000
_MAX_LEFT: Final = 20
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
# What servers say in the middle of a request of the client's, and hardly ever without one.
_AMID: Final = ("elicitation/create", "roots/list", "sampling/createMessage", "notifications/message")


class Stream:
    """What is said about one request until its answer; or all else, for a client that listens.

    Attributes:
        number: Its place among the port's streams, for ids of events.
        sent: How many messages were read.
        status: The answer's status for HTTP, once there is one.
        ended: Whether the answer is there.
    """

    __slots__ = (
        "_coming",
        "_news",
        "_past",
        "_reader",
        "_stopped",
        "client_id",
        "ended",
        "id",
        "message",
        "number",
        "sent",
        "status",
    )

    def __init__(self, number: int, id: Any = None, message: Message | None = None) -> None:
        self.number, self.id, self.message = number, id, message or {}
        self.client_id = self.message.get("id")
        self.sent, self.status, self.ended = 0, 200, False
        self._coming: deque[bytes] = deque()
        self._past: deque[bytes] = deque(maxlen=_MAX_WAITING)
        self._news = asyncio.Event()
        self._reader = 0
        self._stopped = False

    @property
    def token(self) -> Any:
        """The token under which the request wants to hear of its progress."""
        return wire.progress_token(self.message)

    @property
    def is_read(self) -> bool:
        """Whether somebody reads it now."""
        return self._reader > 0

    def put(self, line: bytes, *, last: bool = False) -> None:
        """Add one message."""
        if len(self._coming) >= _MAX_WAITING and not self.is_read and not last:
            return
        self._coming.append(line)
        self.ended = self.ended or last
        self._news.set()

    def stop(self) -> None:
        """Have the one who reads now leave, as the server wants it; what comes waits for the next."""
        self._stopped = True
        self._news.set()

    def read(self, after: int | None = None) -> int:
        """Begin to read, in the place of whoever did; the number that `next` wants.

        Args:
            after: How many messages the reader has seen; None goes on where the last one has left.
        """
        back = 0 if after is None else min(max(0, self.sent - after), len(self._past))
        for _ in range(back):
            self._coming.appendleft(self._past.pop())
        self.sent -= back
        self._reader = abs(self._reader) + 1
        self._stopped = False
        self._news.set()
        return self._reader

    def leave(self, reader: int) -> None:
        """Stop reading; whether this was the reader."""
        if reader == self._reader:
            self._reader = -reader

    async def next(self, reader: int, *, keep: bool = False) -> bytes | None:
        """The next message; None where the reader is to leave.

        Args:
            reader: As `read` gave it.
            keep: Whether the message can be asked for again.
        """
        while reader == self._reader:
            if self._coming:
                self.sent += 1
                line = self._coming.popleft()
                if keep:
                    self._past.append(line)
                return line
            if self.ended or self._stopped:
                return None
            self._news.clear()
            await self._news.wait()
        return None

    @property
    def is_over(self) -> bool:
        """Whether the answer was read."""
        return self.ended and not self._coming


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
        self._numbers = itertools.count(1)
        self._streams: dict[Any, Stream] = {}
        self._tokens: dict[Any, Any] = {}
        self._unasked = Stream(0)

    @property
    def is_open(self) -> bool:
        """Whether the client listens, or waits for an answer."""
        return self._unasked.is_read or bool(self._streams)

    # ---- from the client ----

    def request(self, message: Message) -> Stream:
        """Hand a request on; the stream that its answer will come on."""
        number = next(self._numbers)
        own: Any = f"{self.id}-{number}" if self.stateless else message["id"]
        stream = Stream(number, own, message)
        self._streams[own] = stream
        token = stream.token
        if token is not None:
            self._tokens[own if self.stateless else token] = own
        if self.stateless:
            message = {**message, "id": own}
            if token is not None:
                meta = {**wire.meta_of(message), "progressToken": own}
                message["params"] = {**message["params"], "_meta": meta}
        self.front.from_client(wire.encode(message).rstrip())
        return stream

    def listen(self) -> Stream:
        """The stream for what belongs to no request; the last listener gets it."""
        return self._unasked

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """The stream that an event was on, and the event's place; None where it is gone."""
        number, _, place = event_id.partition("-")
        if not (number.isdecimal() and place.isdecimal()):
            return None
        streams = (self._unasked, *self._streams.values())
        found = next((each for each in streams if each.number == int(number)), None)
        return None if found is None else (found, int(place))

    def close(self, stream: Stream) -> None:
        """A stream has had its answer."""
        if self._streams.get(stream.id) is stream:
            del self._streams[stream.id]
            self._tokens.pop(stream.id if self.stateless else stream.token, None)

    def abandon(self, stream: Stream) -> None:
        """The client has left a stream before its end: without a session that is its way to cancel."""
        if stream.id is None:
            return
        if self.stateless:
            self.close(stream)
            params = {"requestId": stream.id, "reason": "the client has left"}
            self.front.from_client(wire.encode(wire.notification("notifications/cancelled", params)).rstrip())
            return
        left = [each for each in self._streams.values() if each.ended and not each.is_read]
        for each in left[:-_MAX_LEFT]:
            self.close(each)

    def interrupt(self, id: Any) -> None:
        """The server has closed the stream of a request, to go on with it on the next."""
        stream = self._streams.get(id) if wire.is_id(id) else None
        if stream is not None and not self.stateless:
            stream.stop()

    # ---- to the client ----

    def send(self, line: bytes, message: Message | None) -> None:
        """Put one message on the stream that it belongs to."""
        known = wire.parse(line) if message is None else message
        if "method" not in known:
            self._answer(known, line)
            return
        stream = self._belongs_to(known)
        if stream is None:
            return
        changed = self._for_client(known, stream) if self.stateless else known
        stream.put(line if changed is known else wire.encode(changed))

    def _answer(self, message: Message, line: bytes) -> None:
        stream = self._streams.get(message.get("id"))
        if stream is None:
            return
        stream.status = status_of(message)
        if self.stateless:
            line = wire.encode({**self._for_client(message, stream), "id": stream.client_id})
        stream.put(line, last=True)

    def _belongs_to(self, message: Message) -> Stream | None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        subscription, token = wire.meta_of(message).get(_SUBSCRIPTION), params.get("progressToken")
        for own in (subscription, self._tokens.get(token) if wire.is_id(token) else None, about.get()):
            if wire.is_id(own) and own in self._streams:
                return self._streams[own]
        if self.stateless:
            return self._sole(message["method"])
        newest = next(reversed(self._streams.values()), None)
        if message["method"] in _AMID and newest is not None:
            return newest
        return self._unasked if self._unasked.is_read or newest is None else newest

    def _sole(self, method: str) -> Stream | None:
        """The one client that a message can be for; several strangers are not told of each other."""
        streams: list[Stream] = list(self._streams.values())
        if method == "notifications/message":
            streams = [each for each in streams if _LOG_LEVEL in wire.meta_of(each.message)]
        return streams[0] if len(streams) == 1 else None

    def _for_client(self, message: Message, stream: Stream) -> Message:
        """A message with the client's own names for what was renamed on the way in."""
        for part in ("params", "result"):
            told = message.get(part)
            meta = told.get("_meta") if isinstance(told, dict) else None
            if isinstance(meta, dict) and meta.get(_SUBSCRIPTION) == stream.id:
                meta = {**meta, _SUBSCRIPTION: stream.client_id}
                message = {**message, part: {**message[part], "_meta": meta}}
        if message.get("method") == "notifications/progress":
            message = {**message, "params": {**message["params"], "progressToken": stream.token}}
        return message

    def pause(self, paused: bool) -> None:
        """Nothing to do: each request has its own connection."""
