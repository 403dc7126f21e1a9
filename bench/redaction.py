"""How fast redaction reads: ordinary error text, text full of hits, and hostile text.

    ./run py bench/redaction.py

Ratios matter, not seconds: the floor is one pass of `str.lower` and one of a compiled pattern over the same text.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import time

from failsoft.core.calls import ToolCall
from failsoft.core.errors import make_error
from failsoft.feedback import Feedback, redact

ORDINARY = [
    "The service answered 503: upstream connect error or disconnect before headers, reset reason: connection failure.",
    "Validation failed: amount must be greater than 0, currency must be one of EUR, USD, GBP; got 'euro'.",
    "no such table: orders_2026 (while running the report of last month); did you mean orders?",
    "Request timed out after 30.0 seconds while waiting for the answer of the catalogue service, attempt 2 of 3.",
    "could not serialize access due to concurrent update; the transaction was rolled back and nothing was changed",
    "Rate limit reached for requests per min. Limit: 60. Current: 61. Please try again in 12 s.",
    "Error 404: customer 48213 was not found in region eu-west-1. Check the customer number and try again.",
    "[Errno 2] No such file or directory: '/srv/app/data/reports/2026-03/summary.csv'",
    "Client error '422 Unprocessable Entity' for url 'https://api.shop.example/v2/orders/17?expand=lines&lang=en'",
    "The message could not be delivered: mailbox is full. The recipient's server said: 452 4.2.2 over quota.",
]
DENSE = [
    'connection to server at "db7.corp.internal" (10.20.30.40), port 5432 failed for user "svc_reader" password=x7Kd93',
    "401 for https://u:secret-1@host.internal:8443/v1?api_key=abcdef0123456789 Authorization: Bearer eyJhbGciOi.J9x.y2Q",
    "open '/home/alice/.config/acme/prod-token.json' and C:\\Users\\alice\\AppData\\acme\\cache.db on redis:6379",
]
HOSTILE = {
    "slashes": "/a" * 500_000,
    "backslashes": "\\" * 1_000_000,
    "dots": "a." * 500_000,
    "colons": "a:1" * 333_333,
    "hex and colons": "ab:" * 333_333,
    "at signs": "a:b@" * 250_000,
    "quotes": 'password="' * 100_000,
    "key words": "token key auth pass " * 50_000,
    "one word": "a" * 1_000_000,
    "angle brackets": "<" * 1_000_000,
    "key beginnings": "sk-" * 333_333,
    "URLs": "://" * 333_333,
    "frames": 'File "x", line 1, in y\n' * 43_000,
    "tracebacks": "Traceback (most recent call last):\n" * 28_000,
    "PEM": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "blanks": " " * 1_000_000,
    "digits": "1." * 500_000,
}


def seconds(action, least_s: float = 0.5) -> float:
    """The best of some runs, in seconds a run."""
    best, end = float("inf"), time.perf_counter() + least_s
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def rate(texts: list[str], level: str) -> float:
    """Megabytes a second over separate texts."""
    size = sum(len(text.encode()) for text in texts)
    return size / seconds(lambda: [redact(text, level=level) for text in texts]) / 1e6


def main() -> None:
    long = ["\n".join(ORDINARY)] * 20
    page = ["\n".join(ORDINARY * 20)]
    figures: dict[str, float] = {}
    for level in ("operator", "model"):
        figures[f"ordinary, 100 characters each, {level}"] = rate(ORDINARY, level)
        figures[f"ordinary, 1 kB each, {level}"] = rate(long, level)
        figures[f"ordinary, 20 kB each, {level}"] = rate(page, level)
        figures[f"full of hits, {level}"] = rate(DENSE, level)
    text = page[0]
    word = re.compile(r"[A-Za-z0-9_\-]{20,}")
    figures["floor: one pattern over the text"] = len(text) / seconds(lambda: word.search(text)) / 1e6
    for name, figure in figures.items():
        print(f"{name:45} {figure:9.1f} MB/s")
    error = make_error(
        "invalid_argument", ORDINARY[1], context={"problems": [{"field": "amount", "problem": "too small"}]}
    )
    call = ToolCall("c1", "pay", {"amount": -1, "currency": "euro"})
    print(f"{'one model view':45} {seconds(lambda: Feedback().render(error, call=call)) * 1e6:9.1f} µs")
    worst = 0.0
    for name, text in HOSTILE.items():
        took = seconds(lambda text=text: redact(text), 0)
        worst = max(worst, took)
        print(f"hostile, 1 MB: {name:30} {took * 1e3:9.1f} ms")
    machine = f"{platform.machine()} {platform.python_implementation()} {platform.python_version()}"
    print(
        json.dumps(
            {
                "machine": machine,
                "figures": {k: round(v, 1) for k, v in figures.items()},
                "worst_s": round(worst, 3),
            }
        )
    )
    sys.exit(0)


if __name__ == "__main__":
    main()
