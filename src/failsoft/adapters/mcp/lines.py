"""Bytes from a pipe, cut into lines. A line is found in one pass, however many pieces it comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_LINE_BYTES", "LineTooLong", "Lines"]

# Ten times the largest message that servers are known to send; more without a line's end is not JSON-RPC.
MAX_LINE_BYTES: Final = 256 * 1024 * 1024


class LineTooLong(Exception):
    """There was no end of a line in `MAX_LINE_BYTES` bytes."""


class Lines:
    """Collects pieces and gives whole lines, without their ends and without blank ones."""

    __slots__ = ("_limit", "_parts", "_size")

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are whole with this piece.

        Raises:
            LineTooLong: What has come since the last line's end is more than the limit.
        """
        *ends, rest = data.split(b"\n")
        for piece in ends:
            line = piece
            if self._parts:
                self._parts.append(piece)
                line = b"".join(self._parts)
                self._parts, self._size = [], 0
            if line and not line.isspace():
                yield line
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                self._parts, self._size = [], 0
                raise LineTooLong(f"no end of a line in {self._limit} bytes")

    def rest(self) -> bytes:
        """What came after the last line's end; forgotten with this."""
        left, self._parts, self._size = b"".join(self._parts), [], 0
        return left
