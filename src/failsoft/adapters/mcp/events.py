"""Server-sent events, taken apart. Source: WHATWG HTML, "Server-sent events"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Events", "event"]


class Events:
    """Collects the bytes of a stream and gives the data of whole events.

    Attributes:
        last_id: The id of the last event that had one.
        retry_s: Seconds to wait before a new connection, where the server said so.
    """

    __slots__ = ("_data", "_rest", "last_id", "retry_s")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.last_id: str | None = None
        self.retry_s: float | None = None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of the events that are whole with this piece."""
        text = self._rest + piece
        # A carriage return at the end may be half of a line's end.
        held = b"\r" if text.endswith(b"\r") else b""
        *lines, rest = (
            text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        )
        self._rest = rest + held
        for line in lines:
            if line:
                self._take(line)
            elif self._data:
                data, self._data = b"\n".join(self._data), []
                yield data

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace") or None
        elif field == b"retry" and value.isdigit():
            self.retry_s = int(value) / 1000


def event(data: bytes) -> bytes:
    """One event of one line of data."""
    return b"event: message\ndata: " + data.rstrip() + b"\n\n"
