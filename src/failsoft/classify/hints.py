"""When to come back, and whether at all: the one parser of every form in which a service says so.

    headers: retry-after-ms, x-ms-retry-after-ms, x-amz-retry-after (ms), Retry-After (RFC 9110 10.2.3), grpc-retry-pushback-ms
             (gRFC A6), x-should-retry, and for calls refused by a limit the time at which its window starts anew:
             x-ratelimit-reset*, anthropic-ratelimit-*-reset, ratelimit-reset and RateLimit (IETF draft)
    bodies:  google.rpc.RetryInfo, `retry_after`, `retry_after_ms`, and words such as "try again in 1.2s"

A hint is a floor for the wait. Nonsense is ignored: negative, NaN, infinite, unreadable, beyond the year 9999.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from .headers import lower_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["NO_HINT", "Hint", "duration_s", "hint_of", "retry_after"]


@dataclass(frozen=True, slots=True)
class Hint:
    """What a service asks for.

    Args:
        retry_after_s: Seconds to wait at least; None where nothing readable was said.
        should_retry: An explicit yes or no; None where nothing was said.
    """

    retry_after_s: float | None = None
    should_retry: bool | None = None


NO_HINT: Final = Hint()

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
_UNITS: Final = {
    "d": 86_400.0, "day": 86_400.0, "days": 86_400.0,
    "h": 3_600.0, "hr": 3_600.0, "hour": 3_600.0, "hours": 3_600.0,
    "m": 60.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,12})?(?:ms|us|µs|ns|[dhms]))+", re.ASCII)
_PIECE = re.compile(
    r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s?(days?|hours?|hr|min(?:ute)?s?|sec(?:ond)?s?|milliseconds?|ms|us|µs|ns|[dhms])"
)
_WORDS = re.compile(
    r"(?:try again|retry|retrying|wait|available again|resets?|reset)\s+(?:after|in|for|at least)?\s*(?:about\s+)?"
    r"((?:[0-9]{1,12}(?:\.[0-9]{1,12})?\s?(?:days?|hours?|hr|minutes?|mins?|seconds?|secs?|milliseconds?|ms|[dhms])"
    r"(?:[\s,]+(?:and\s+)?|(?=[0-9])|(?![a-z])))+)",
    re.IGNORECASE | re.ASCII,
)
_IETF = re.compile(r"(?:^|[;,\s])(t|reset|r|remaining)\s*=\s*([0-9]{1,18})(?=$|[;,\s])", re.ASCII)

# Above this a bare number is a moment (seconds since the epoch), below it a length.
_EPOCH_S: Final = 500_000_000.0
_EPOCH_MS: Final = 100_000_000_000.0
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def retry_after(
    headers: Any = None,
    body: Any = None,
    *,
    now: datetime | None = None,
    exc: BaseException | None = None,
    resets: bool = True,
) -> Hint:
    """The hint in an answer or an exception.

    Args:
        headers: Mapping or pairs; names in any case.
        body: The parsed body, or its text.
        now: The present moment, for hints that are moments; naive means UTC.
        exc: An exception that may carry `retry_after` or gRPC trailers.
        resets: Whether headers about the limit's next window count; only where a limit refused the call.
    """
    fields = lower_headers(headers)
    if exc is not None:
        fields = {**_trailers(exc), **fields}
    return hint_of(fields, body, now, exc=exc, resets=resets)


def hint_of(
    fields: Mapping[str, str],
    body: Any,
    now: datetime | None,
    *,
    exc: BaseException | None = None,
    resets: bool = True,
) -> Hint:
    """The same for headers whose names are in lower case already."""
    moment = _utc(now)
    should = _should_retry(fields)
    for read in (_from_headers, *((_from_resets,) if resets else ())):
        wait = _sane(read(fields, moment), moment)
        if wait is not None:
            return Hint(wait, should)
    for found in (_from_exception(exc), _from_body(body)):
        wait = _sane(found, moment)
        if wait is not None:
            return Hint(wait, should)
    return Hint(None, should) if should is not None else NO_HINT


def _utc(now: datetime | None) -> datetime:
    if now is None:
        return datetime.now(UTC)
    return now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)


def _sane(wait: float | None, now: datetime) -> float | None:
    """The wait, if it is one that can be waited for."""
    if wait is None or not math.isfinite(wait) or wait < 0:
        return None
    return wait if wait < (_LAST - now).total_seconds() else None


def _number(text: object) -> float | None:
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        try:
            value = float(text)
        except OverflowError:
            return None
        return value if math.isfinite(value) and value >= 0 else None
    if not isinstance(text, str):
        return None
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def duration_s(text: object) -> float | None:
    """Seconds of a duration such as `1m0s`, `6ms`, `38.25s`; None for anything else."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text.strip()):
        return None
    return _sum(text)


def _sum(text: str) -> float:
    # Rounded to the nanosecond: 0.001 * 450 is not 0.45 in binary.
    return round(sum(float(n) * _UNITS[unit.lower()] for n, unit in _PIECE.findall(text.lower())), 9)


def _until(moment: datetime, now: datetime) -> float:
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max(0.0, (moment - now).total_seconds())


def _date(text: str, now: datetime) -> float | None:
    """Seconds until an HTTP date or an ISO moment; a naive one is UTC, a past one is 0."""
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return _until(parse(text.strip()), now)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _from_headers(fields: Mapping[str, str], now: datetime) -> float | None:
    for name in ("retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after", "grpc-retry-pushback-ms"):
        wait = _number(fields.get(name))
        if wait is not None:
            return wait / 1_000
    text = fields.get("retry-after")
    if text is None:
        return None
    wait = _number(text)
    return wait if wait is not None or not any(c.isalpha() for c in text) else _date(text, now)


def _should_retry(fields: Mapping[str, str]) -> bool | None:
    said = fields.get("x-should-retry", "").strip().lower()
    if said in ("true", "false"):
        return said == "true"
    pushback = fields.get("grpc-retry-pushback-ms")
    # gRFC A6: a value that is negative or cannot be read means "do not retry".
    return False if pushback is not None and _number(pushback) is None else None


def _from_resets(fields: Mapping[str, str], now: datetime) -> float | None:
    windows = list(_windows(fields, now))
    certain = [wait for wait, spent in windows if spent]
    return max(certain or [wait for wait, spent in windows if spent is None], default=None)


def _windows(fields: Mapping[str, str], now: datetime) -> Iterator[tuple[float, bool | None]]:
    """Each limit's seconds until its next window, and whether it is used up, where that is said."""
    for name, text in fields.items():
        if "reset" in name and "limit" in name and "ratelimit" in name.replace("rate-limit", "ratelimit"):
            wait = _sane(_moment_or_length(text, now), now)
            if wait is not None:
                left = _number(fields.get(name.replace("-reset", "-remaining").replace("-after", "")))
                yield wait, None if left is None else left < 1
    said = dict(_IETF.findall(fields["ratelimit"])) if "ratelimit" in fields else {}
    wait = _number(said.get("t", said.get("reset")))
    if wait is not None:
        left = _number(said.get("r", said.get("remaining")))
        yield wait, None if left is None else left < 1


def _moment_or_length(text: str, now: datetime) -> float | None:
    value = _number(text)
    if value is None:
        found = duration_s(text)
        return found if found is not None or not any(c.isalpha() for c in text) else _date(text, now)
    if value >= _EPOCH_MS:
        value /= 1_000
    elif value < _EPOCH_S:
        return value
    return max(0.0, value - now.timestamp())


def _trailers(exc: BaseException) -> dict[str, str]:
    """Trailing metadata of a gRPC error."""
    ask = getattr(exc, "trailing_metadata", None)
    try:
        return lower_headers(ask() if callable(ask) else None)
    except Exception:
        return {}


def _from_exception(exc: BaseException | None) -> float | None:
    for name in ("retry_after_s", "retry_after", "retry_delay"):
        value = getattr(exc, name, None) if exc is not None else None
        if isinstance(value, timedelta):
            return value.total_seconds()
        wait = _number(value)
        if wait is not None:
            return wait
    return None


def _from_body(body: Any) -> float | None:
    if body is None or isinstance(body, str):
        return _from_words(body) if body else None
    for node in _nodes(body):
        for name, read in _BODY_FIELDS.items():
            wait = read(node.get(name))
            if wait is not None:
                return wait
    for node in _nodes(body):
        for name in ("message", "detail", "error", "raw"):
            text = node.get(name)
            wait = _from_words(text) if isinstance(text, str) else None
            if wait is not None:
                return wait
    return None


def _nodes(body: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The mappings inside a body, outer ones first, five levels and fifty items a list at most."""
    if isinstance(body, dict):
        yield body
    elif not isinstance(body, list):
        return
    if depth < 5:
        for inner in list(body.values() if isinstance(body, dict) else body)[:50]:
            yield from _nodes(inner, depth + 1)


def _milliseconds(value: object) -> float | None:
    wait = _number(value)
    return None if wait is None else wait / 1_000


def _delay(value: object) -> float | None:
    """A protobuf duration: `"38.25s"` in JSON, seconds and nanos when unpacked."""
    if isinstance(value, dict):
        seconds, nanos = _number(value.get("seconds", 0)), _number(value.get("nanos", 0))
        return None if seconds is None or nanos is None else seconds + nanos / 1e9
    return duration_s(value)


_BODY_FIELDS: Final[Mapping[str, Callable[[object], float | None]]] = {
    "retryDelay": _delay,
    "retry_delay": _delay,
    "retry_after_ms": _milliseconds,
    "retryAfterMs": _milliseconds,
    "retry_after": _number,
    "retryAfter": _number,
    "retry_after_seconds": _number,
    "retryAfterSeconds": _number,
}


def _from_words(text: str) -> float | None:
    found = _WORDS.search(text[:4_000])
    return _sum(found.group(1)) if found else None
