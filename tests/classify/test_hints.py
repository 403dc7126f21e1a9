"""When to come back: every form, and every kind of nonsense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failsoft.classify import Hint, retry_after
from failsoft.classify.hints import duration_s

NOW = datetime(2026, 3, 2, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "120"}, 120.0),
        ({"RETRY-AFTER": "2.5"}, 2.5),
        ({"retry-after": "0"}, 0.0),
        ({"Retry-After": "Mon, 02 Mar 2026 10:01:30 GMT"}, 90.0),
        ({"Retry-After": "Mon, 02 Mar 2026 12:01:30 +0200"}, 90.0),
        ({"Retry-After": "Mon, 02 Mar 2026 10:01:30"}, 90.0),
        ({"Retry-After": "Monday, 02-Mar-26 10:01:30 GMT"}, 90.0),
        ({"Retry-After": "Mon, 02 Mar 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"x-amz-retry-after": "3000"}, 3.0),
        ({"grpc-retry-pushback-ms": "40"}, 0.04),
        ({"x-ratelimit-reset": "1772445660"}, 60.0),
        ({"x-ratelimit-reset": "1772445660000"}, 60.0),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"x-rate-limit-reset": "30"}, 30.0),
        ({"x-ratelimit-reset-requests": "1m0s"}, 60.0),
        ({"x-ratelimit-reset-tokens": "6ms"}, 0.006),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"anthropic-ratelimit-tokens-reset": "2026-03-02T10:00:20Z"}, 20.0),
        ({"ratelimit-reset": "15"}, 15.0),
        ({"RateLimit": '"default";r=0;t=30'}, 30.0),
        ({"RateLimit": "limit=10, remaining=0, reset=40"}, 40.0),
        ([("Retry-After", "7"), ("Retry-After", "9")], 7.0),
        ([(b"Retry-After", b"7")], 7.0),
        (None, None),
        ({}, None),
    ],
)
def test_headers(headers: Any, wait: float | None) -> None:
    """Each header form is read as the seconds that it means."""
    assert retry_after(headers, now=NOW).retry_after_s == wait


@pytest.mark.parametrize(
    "text",
    ["-1", "-0.5", "nan", "NaN", "inf", "Infinity", "-inf", "1e3", "0x10", "1_000", "abc", "", "  ", "1m0s", "٣",
     "99999999999999", "9" * 400, "Fri, 31 Dec 99999 23:59:59 GMT", "Mon, 99 Foo 2026 10:00:00 GMT", "1.2.3", "5;q=1"],
)  # fmt: skip
def test_nonsense(text: str) -> None:
    """What is no number of seconds and no date is ignored."""
    assert retry_after({"Retry-After": text}, now=NOW) == Hint(None, None)


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        ({"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "38.25s"}]}}, 38.25),
        ({"error": {"details": [{"retryDelay": "0.5s"}]}}, 0.5),
        ({"error": {"message": "Rate limit reached. Please try again in 1.2s. Visit us."}}, 1.2),
        ({"error": {"message": "Please try again in 6m0s."}}, 360.0),
        ({"error": {"message": "Please try again in 450ms."}}, 0.45),
        ({"error": {"message": "Please retry after 7 seconds."}}, 7.0),
        ({"message": "You are being rate limited.", "retry_after": 0.65}, 0.65),
        ({"parameters": {"retry_after": 35}}, 35.0),
        ({"retry_after_ms": 1500}, 1.5),
        ([{"error": {"details": [{"retryDelay": "3s"}]}}], 3.0),
        ("Try again in 20s", 20.0),
        ({"retry_after": -3}, None),
        ({"retry_after": float("nan")}, None),
        ({"retry_after": True}, None),
        ({"retryDelay": "soon"}, None),
        ({"message": "try again later"}, None),
        (None, None),
    ],
)
def test_bodies(body: Any, wait: float | None) -> None:
    """A hint in the body is found where no header says anything."""
    assert retry_after(None, body, now=NOW).retry_after_s == wait


def test_header_before_body() -> None:
    """A header wins over the body, which often repeats it less exactly."""
    assert retry_after({"Retry-After": "5"}, {"retry_after": 60}, now=NOW).retry_after_s == 5.0


def test_used_up_limit_counts() -> None:
    """Of several limits the one that is used up says when to come back."""
    headers = {
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-tokens": "9m0s",
        "x-ratelimit-remaining-tokens": "12000",
    }
    assert retry_after(headers, now=NOW).retry_after_s == 2.0


def test_limit_that_is_left_says_nothing() -> None:
    """The next window of a limit that is not used up is no reason to wait."""
    headers = {"x-ratelimit-reset": "1772449200", "x-ratelimit-remaining": "4999"}
    assert retry_after(headers, now=NOW).retry_after_s is None


def test_windows_only_on_request() -> None:
    """Headers about windows are left aside where no limit refused the call."""
    assert retry_after({"x-ratelimit-reset": "30"}, now=NOW, resets=False).retry_after_s is None


@pytest.mark.parametrize(("text", "said"), [("true", True), ("False", False), ("maybe", None), ("", None)])
def test_should_retry(text: str, said: bool | None) -> None:
    """An explicit yes or no is handed on."""
    assert retry_after({"x-should-retry": text}, now=NOW).should_retry is said


@pytest.mark.parametrize("text", ["-1", "abc", ""])
def test_pushback_that_forbids(text: str) -> None:
    """A gRPC pushback that is negative or unreadable means: do not retry."""
    assert retry_after({"grpc-retry-pushback-ms": text}, now=NOW) == Hint(None, False)


def test_exception_attributes() -> None:
    """An exception's own `retry_after` is read, as a number or a duration."""
    exc = RuntimeError()
    exc.retry_after = timedelta(seconds=3)  # type: ignore[attr-defined]
    assert retry_after(exc=exc, now=NOW).retry_after_s == 3.0


def test_naive_now_is_utc() -> None:
    """A moment without a zone is UTC, whatever the machine's zone is."""
    naive = NOW.replace(tzinfo=None)
    assert retry_after({"Retry-After": "Mon, 02 Mar 2026 10:01:30 GMT"}, now=naive).retry_after_s == 90.0


_NAMES = ["retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-tokens", "ratelimit",
          "ratelimit-reset", "x-should-retry", "grpc-retry-pushback-ms", "x-amz-retry-after"]  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["retry_after", "retryDelay", "message", "details", "error"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(_NAMES), st.text(max_size=40)), _JSON)
def test_never_nonsense(headers: dict[str, str], body: Any) -> None:
    """Whatever comes in, the wait is absent or a finite number of seconds that a calendar can hold."""
    hint = retry_after(headers, body, now=NOW)
    assert hint.retry_after_s is None or 0 <= hint.retry_after_s < 1e12
    assert hint.should_retry in (None, True, False)


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**9))
def test_seconds_round_trip(seconds: int) -> None:
    """A plain number of seconds comes back as it was sent."""
    assert retry_after({"Retry-After": str(seconds)}, now=NOW).retry_after_s == seconds


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1)))
def test_dates_round_trip(moment: datetime) -> None:
    """A date means the seconds until it, and a past one means now."""
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    wanted = max(0.0, (moment - NOW).total_seconds())
    assert retry_after({"Retry-After": format_datetime(moment, usegmt=True)}, now=NOW).retry_after_s == wanted


@settings(deadline=None)
@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_durations_add_up(hours: int, minutes: int, seconds: int, ms: int) -> None:
    """A duration is the sum of its parts."""
    total = hours * 3600 + minutes * 60 + seconds + ms / 1000
    assert duration_s(f"{hours}h{minutes}m{seconds}s{ms}ms") == pytest.approx(total)
