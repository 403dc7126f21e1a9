"""How long it takes to classify what was raised or answered.

    ./run py bench/errors.py

Floors of the same run: making the error alone, and asking `isinstance` for every class of a table of the same length.
"""

from __future__ import annotations

import json
import platform
import timeit

import httpx
import requests

from failsoft.classify import classify, classify_response
from failsoft.classify.rules.table import ROWS, plan_of
from failsoft.core.errors import make_error


def microseconds(action) -> float:
    """The best of seven runs, in microseconds a call."""
    action()
    number = 2_000
    return min(timeit.repeat(action, number=number, repeat=7)) / number * 1e6


def raised_status(status: int, body: dict) -> httpx.HTTPStatusError:
    """An httpx error with a body that was read."""
    request = httpx.Request("POST", "https://api.example.test/v1/orders")
    response = httpx.Response(status, json=body, headers={"retry-after": "3"}, request=request)
    return httpx.HTTPStatusError("x", request=request, response=response)


def main() -> None:
    names = {name for row in ROWS for name in row.names}
    table = [type(f"Known{number}", (Exception,), {}) for number in range(len(names))]
    timeout = httpx.ReadTimeout("")

    def one_by_one() -> bool:
        return any(isinstance(timeout, cls) for cls in table)

    wrapped = RuntimeError("could not load")
    wrapped.__cause__ = ConnectionRefusedError(111, "Connection refused")
    actions = {
        "floor: the error alone": lambda: make_error("timeout", "The request timed out."),
        f"floor: isinstance over {len(table)} classes": one_by_one,
        "httpx.ReadTimeout": lambda: classify(timeout),
        "ConnectionRefusedError": lambda e=ConnectionRefusedError(111, "x"): classify(e),
        "FileNotFoundError": lambda e=FileNotFoundError(2, "No such file or directory", "a.txt"): classify(e),
        "ValueError": lambda e=ValueError("amount must be positive"): classify(e),
        "httpx.ConnectError": lambda e=httpx.ConnectError("[Errno 111] Connection refused"): classify(e),
        "requests.ConnectionError": lambda e=requests.ConnectionError("Connection aborted."): classify(e),
        "unknown type, plain words": lambda e=RuntimeError("the robot is on its side"): classify(e),
        "unknown type around a known one": lambda: classify(wrapped),
        "httpx.HTTPStatusError with a body": lambda e=raised_status(429, {"error": {"message": "slow"}}): (
            classify(e)
        ),
        "answer 503 without a body": lambda: classify_response(503, {"retry-after": "3"}, None),
        "first sight of a type": lambda: plan_of(httpx.ReadTimeout),
    }
    figures = {name: microseconds(action) for name, action in actions.items()}
    floor = figures[f"floor: isinstance over {len(table)} classes"]
    for name, figure in figures.items():
        print(f"{name:40} {figure:8.2f} µs   {figure / floor:6.2f} × isinstance")
    machine = f"{platform.machine()} {platform.python_implementation()} {platform.python_version()}"
    print(
        json.dumps(
            {"machine": machine, "figures": {name: round(figure, 2) for name, figure in figures.items()}}
        )
    )


if __name__ == "__main__":
    main()
