"""The trace that a call belongs to, on its way into a worker and in effect there, by OpenTelemetry's own propagators.

Imported only where the program has loaded OpenTelemetry itself: a program without traces pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context, propagate

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["carried", "follow"]


def carried() -> dict[str, str]:
    """The present trace as text fields, such as `traceparent` (W3C Trace Context); empty where there is none."""
    fields: dict[str, str] = {}
    propagate.inject(fields)
    return fields


def follow(fields: Mapping[str, str]) -> None:
    """Let what comes in this context belong to the trace of `fields`."""
    context.attach(propagate.extract(fields))
