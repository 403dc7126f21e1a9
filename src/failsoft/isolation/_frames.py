"""The words of the pipe between the parent and a worker.

    parent → worker   size (4), size of the header (4), header (JSON), arguments (JSON)
    worker → parent   size (4), tag (1), flag (1), body

Sizes are big-endian and count what follows them; a flag of 1 says that the worker ends after this frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ACTED",
    "ERROR",
    "HEAD",
    "ITEM",
    "LOG",
    "NEVER_BEGAN",
    "PARTIAL",
    "PROGRESS",
    "RESULTS",
    "answer",
    "request",
    "split",
]

HEAD = 4
RESULTS = (b"j", b"t", b"s", b"b")  # see _codec.write_result
ERROR, NEVER_BEGAN, PARTIAL = b"E", b"N", b"Q"
PROGRESS, LOG, ACTED, ITEM = b"P", b"L", b"A", b"I"


def request(header: bytes, values: bytes) -> bytes:
    """A call, for the worker."""
    size = len(header)
    return b"".join(((4 + size + len(values)).to_bytes(4, "big"), size.to_bytes(4, "big"), header, values))


def answer(tag: bytes, body: bytes, *, last: bool = False) -> bytes:
    """A step or the end of a call, for the parent."""
    return b"".join(((2 + len(body)).to_bytes(4, "big"), tag, b"\1" if last else b"\0", body))


def split(buffer: bytearray) -> Iterator[bytes]:
    """The whole frames of a buffer, without their sizes; what is left is the begin of the next."""
    while len(buffer) >= HEAD:
        end = HEAD + int.from_bytes(buffer[:HEAD], "big")
        if len(buffer) < end:
            return
        frame = bytes(memoryview(buffer)[HEAD:end])
        del buffer[:end]
        yield frame
