"""Content blocks: images, documents and text side by side, in one neutral shape that every dialect can turn into its own.

The shape is that of Anthropic's blocks: `{"type": "image", "source": {"type": "base64", "media_type", "data"}}`.
Binary content is whole or it is described; it is never cut.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["MAX_BLOCK_BYTES", "blocks_from", "from_bytes", "from_data_url", "media_type_of", "without_blobs"]

# Anthropic takes images of up to 5 MB of base64; others take more.
MAX_BLOCK_BYTES = 3_750_000

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_KINDS = ("text", "image", "document", "audio", "resource", "resource_link")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+=-]+)*;base64,")
# The first bytes of PNG, JPEG, GIF, PDF and RIFF, as base64 writes them.
_BASE64_MAGIC = ("iVBORw0KGgo", "/9j/", "R0lGOD", "JVBERi0", "UklGR")
_MIN_BLOB_CHARS = 500
_RESULT_FIELDS = frozenset(
    {
        "content",
        "isError",
        "is_error",
        "structuredContent",
        "structured_content",
        "_meta",
        "meta",
        "resultType",
    }
    | {"result_type"}
)


def media_type_of(data: bytes) -> str | None:
    """What bytes are, by their first ones: an image, a PDF, or None."""
    for magic, media in _MAGIC:
        if data.startswith(magic):
            return media
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def from_bytes(data: bytes, max_bytes: int = MAX_BLOCK_BYTES) -> dict[str, Any] | None:
    """A block for bytes that are an image or a PDF; None for others."""
    media = media_type_of(data[:16])
    if media is None:
        return None
    kind = "image" if media in _IMAGES else "document"
    if len(data) > max_bytes:
        return _left_out(kind, media, len(data), f"larger than {max_bytes} bytes")
    return _binary(kind, media, base64.b64encode(data).decode("ascii"))


def blocks_from(value: Any, max_bytes: int = MAX_BLOCK_BYTES) -> list[dict[str, Any]] | None:
    """The blocks that a value is made of; None where it is ordinary data.

    Blocks are: an MCP result, one block, a list of nothing but blocks, and a list of texts and images.
    Anthropic's, MCP's and OpenAI's shapes are understood.
    """
    if isinstance(value, Mapping):
        if "content" in value and _RESULT_FIELDS.issuperset(value):
            inner = blocks_from(value["content"], max_bytes)
            if inner is not None or value["content"]:
                return inner
        return [_neutral(value, max_bytes)] if _is_block(value) and value.get("type") != "text" else None
    if not isinstance(value, list | tuple) or not value:
        return None
    if all(_is_block(item) for item in value):
        return [_neutral(item, max_bytes) for item in value]
    made = [_mixed(item, max_bytes) for item in value]
    blocks = [item for item in made if item is not None]
    return blocks if len(blocks) == len(made) and any(item["type"] != "text" for item in blocks) else None


def _mixed(item: Any, max_bytes: int) -> dict[str, Any] | None:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if isinstance(item, bytes):
        return from_bytes(item, max_bytes)
    return _neutral(item, max_bytes) if _is_block(item) else None


def from_data_url(url: str, max_bytes: int = MAX_BLOCK_BYTES) -> dict[str, Any] | None:
    """A block for `data:image/png;base64,...`, or its description; None for any other text."""
    found = _DATA_URL.match(url)
    if found is None:
        return None
    media = found.group(1) or ""
    kind = media.partition("/")[0] if media.startswith(("image/", "audio/")) else "document"
    return _checked(kind, media, url[found.end() :], max_bytes)


def without_blobs(value: Any) -> Any:
    """Plain data in which images and documents written as base64 are described: cut in two they say nothing."""
    if isinstance(value, dict):
        return {name: without_blobs(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_blobs(part) for part in value]
    if not isinstance(value, str) or len(value) < _MIN_BLOB_CHARS:
        return value
    if value.startswith(_BASE64_MAGIC) or _DATA_URL.match(value):
        return f"({len(value)} characters of base64, not shown)"
    return value


def _renamed(item: Any) -> Any:
    """OpenAI's blocks under the names of the others."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": item.get("text")}
    if kind not in ("image_url", "input_image"):
        return item
    url = item.get("image_url")
    url = url.get("url") if isinstance(url, Mapping) else url
    if not isinstance(url, str):
        return item
    return from_data_url(url) or {"type": "image", "source": {"type": "url", "url": url}}


def _is_block(item: Any) -> bool:
    item = _renamed(item)
    if not isinstance(item, Mapping) or item.get("type") not in _KINDS:
        return False
    if item["type"] == "text":
        return isinstance(item.get("text"), str)
    if item["type"] == "resource":
        return isinstance(item.get("resource"), Mapping)
    if item["type"] == "resource_link":
        return isinstance(item.get("uri"), str)
    return isinstance(item.get("data"), str) or isinstance(item.get("source"), Mapping)


def _neutral(item: Mapping[str, Any], max_bytes: int) -> dict[str, Any]:
    item = _renamed(item)
    kind = str(item["type"])
    if kind == "text":
        return {"type": "text", "text": item["text"]}
    if kind == "resource_link":
        return {"type": "text", "text": f"[{item.get('name') or 'resource'}: {item['uri']}]"}
    if kind == "resource":
        return _resource(item["resource"], max_bytes)
    source = item.get("source")
    if not isinstance(source, Mapping):
        media = item.get("mimeType") or item.get("mime_type") or ""
        return _checked(kind, str(media), item["data"], max_bytes)
    if source.get("type") == "url" and isinstance(source.get("url"), str):
        return {"type": kind, "source": {"type": "url", "url": source["url"]}}
    if source.get("type") in ("text", "content"):
        inner = source.get("data") or source.get("content")
        return {"type": "text", "text": inner if isinstance(inner, str) else str(inner)}
    return _checked(kind, str(source.get("media_type") or ""), source.get("data"), max_bytes)


def _resource(resource: Mapping[str, Any], max_bytes: int) -> dict[str, Any]:
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    media = str(resource.get("mimeType") or resource.get("mime_type") or "")
    if not isinstance(blob, str):
        return {"type": "text", "text": f"[resource: {resource.get('uri', 'without address')}]"}
    return _checked("image" if media.startswith("image/") else "document", media, blob, max_bytes)


def _checked(kind: str, media: str, data: Any, max_bytes: int) -> dict[str, Any]:
    """A binary block that a provider will take, or its description: a refused block would poison the conversation."""
    if not isinstance(data, str):
        return _left_out(kind, media, 0, "without data")
    size = len(data) * 3 // 4
    if size > max_bytes:
        return _left_out(kind, media, size, f"larger than {max_bytes} bytes")
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _left_out(kind, media, size, "its base64 is damaged")
    if kind == "audio":
        return _binary(kind, media or "audio/wav", data)
    # Providers refuse an image whose declared type is not its real one.
    media = media_type_of(decoded[:16]) or media
    if kind == "image" and media not in _IMAGES:
        return _left_out(kind, media, len(decoded), "a type that models cannot see")
    if kind == "document" and media != "application/pdf":
        return _left_out(kind, media, len(decoded), "a type that models cannot read")
    return _binary("document" if media == "application/pdf" else kind, media, data)


def _binary(kind: str, media: str, data: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media, "data": data}}


def _left_out(kind: str, media: str, size: int, why: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{kind} left out: {media or 'unknown type'}, {size} bytes, {why}]"}
