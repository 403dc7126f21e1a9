"""Headers in whatever shape a client library keeps them, as one plain mapping with lower-case names."""

from __future__ import annotations

from typing import Any

__all__ = ["lower_headers"]

_MOST = 500


def lower_headers(headers: Any) -> dict[str, str]:
    """Names in lower case to text; the first of several values wins; what cannot be read is left out."""
    if not headers:
        return {}
    try:
        pairs = headers.items() if hasattr(headers, "items") else headers
        fields: dict[str, str] = {}
        for count, (name, value) in enumerate(pairs):
            if count == _MOST:
                break
            text = _text(value)
            if text is not None:
                fields.setdefault((_text(name) or "").lower(), text)
    except Exception:
        return {}
    return fields


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list | tuple):
        return _text(value[0]) if value else None
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else None
