"""What the model reads of a tool's result: text or content blocks, bounded, and never a failure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from failsoft.tools.blocks import MAX_BLOCK_BYTES, blocks_from, from_bytes, from_data_url, without_blobs
from failsoft.tools.jsonable import text_of_bytes, to_plain

__all__ = ["EMPTY", "NOTHING", "Rendered", "render_value", "safe_text"]

EMPTY = "(empty result)"
"""What the model reads of an empty text: providers refuse an empty result."""
NOTHING = "(done; nothing was returned)"
"""What the model reads of None."""

_SIMPLE = (dict, list, int, bool, float)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A result as the model reads it.

    Args:
        content: Text, or blocks where there are images or documents.
        cut: How many characters of the text are left out.
        full: The whole text where some was cut, for paging.
    """

    content: str | list[dict[str, Any]]
    cut: int = 0
    full: str | None = None


def render_value(
    value: Any,
    *,
    max_chars: int | None = 10_000,
    max_block_bytes: int = MAX_BLOCK_BYTES,
) -> Rendered:
    """The content of a result for the model.

    Args:
        value: Whatever the tool returned.
        max_chars: Longest text, its notice of the cut included; None for no limit.
        max_block_bytes: Largest image or document; a larger one is described.

    Never raises for a value: what cannot be shown is named.
    """
    if isinstance(value, str):
        value = value if type(value) is str else str.__str__(value)
        if (
            (max_chars is None or len(value) <= max_chars)
            and value.isascii()
            and value
            and not value.isspace()
        ):
            return Rendered(value)
        picture = (
            None if max_chars is None or len(value) <= max_chars else from_data_url(value, max_block_bytes)
        )
        return _bounded(value, max_chars) if picture is None else _bounded_blocks([picture], max_chars)
    try:
        made = _block_or_text(value, max_chars, max_block_bytes)
    except Exception as exc:
        made = f"({type(value).__name__}, cannot be shown: {type(exc).__name__})"
    if isinstance(made, str):
        return _bounded(made, max_chars)
    return _bounded_blocks(made, max_chars)


def _block_or_text(value: Any, max_chars: int | None, max_bytes: int) -> str | list[dict[str, Any]]:
    if value is None:
        return NOTHING
    if isinstance(value, bytes | bytearray | memoryview):
        block = from_bytes(bytes(value), max_bytes)
        return text_of_bytes(bytes(value)) if block is None else [block]
    picture = _picture(value, max_bytes)
    if picture is not None:
        return [picture]
    if isinstance(value, BaseModel):
        value = to_plain(value)
    elif isinstance(value, list | tuple) and any(isinstance(item, BaseModel) for item in value):
        value = [to_plain(item) if isinstance(item, BaseModel) else item for item in value]
    blocks = blocks_from(value, max_bytes)
    if blocks is not None:
        return blocks
    text = _json(value)
    if max_chars is None or len(text) <= max_chars:
        return text
    return _json(without_blobs(to_plain(value)))


def _picture(value: Any, max_bytes: int) -> dict[str, Any] | None:
    """What draws itself in notebooks (PIL, matplotlib) gives its PNG the same way here."""
    draw = getattr(type(value), "_repr_png_", None)
    data = draw(value) if callable(draw) else None
    return from_bytes(data, max_bytes) if isinstance(data, bytes) else None


def _json(value: Any) -> str:
    if type(value) in _SIMPLE:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            pass
    plain = to_plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def safe_text(text: str) -> str:
    """Text that UTF-8 can carry: halves of a pair are joined, lone ones replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _cut(text: str, max_chars: int) -> tuple[str, int]:
    """The beginning of a text with a notice that says how much there is, and how many characters are shown."""
    size = len(text)
    longest = len(f"\n[truncated: the first {max_chars} of {size} characters]")
    shown = max(0, max_chars - longest)
    return f"{text[:shown]}\n[truncated: the first {shown} of {size} characters]", shown


def _bounded(text: str, max_chars: int | None) -> Rendered:
    text = safe_text(text)
    if not text.strip():
        return Rendered(EMPTY if not text else f"(blank result: {len(text)} characters of white space)")
    if max_chars is None or len(text) <= max_chars:
        return Rendered(text)
    made, shown = _cut(text, max_chars)
    return Rendered(made, len(text) - shown, text)


def _bounded_blocks(blocks: list[dict[str, Any]], max_chars: int | None) -> Rendered:
    """Text blocks share one limit; binary blocks stay whole. Nothing but text is one text."""
    if all(block["type"] == "text" for block in blocks):
        return _bounded("\n".join(block["text"] for block in blocks), max_chars)
    texts = [safe_text(block["text"]) for block in blocks if block["type"] == "text"]
    total = sum(len(text) for text in texts)
    if max_chars is None or total <= max_chars:
        made = [
            {**block, "text": safe_text(block["text"])} if block["type"] == "text" else block
            for block in blocks
        ]
        return Rendered([block for block in made if block["type"] != "text" or block["text"].strip()])
    short = _bounded("\n".join(texts), max_chars)
    rest = [block for block in blocks if block["type"] != "text"]
    return Rendered([{"type": "text", "text": short.content}, *rest], short.cut, short.full)
