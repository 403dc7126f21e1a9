"""Operations `classify_exception` and `classify_response`: what a failure is, and what the model is told of it.

The text is taken twice: from the error alone, and from a call of a tool that fails so.
"""

from __future__ import annotations

from typing import Any

from failsoft.classify import classify, classify_response
from failsoft.harness.harness import Harness
from failsoft.policies import Policy
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen, of_error, text_of

__all__ = ["run_classify_exception", "run_classify_response"]


async def _told(failure: BaseException) -> str:
    """What the model is told where a tool's body raises this."""

    def body() -> str:
        raise failure

    tool = Tool.from_schema("tool", {"type": "object", "properties": {}}, body, read_only=True)
    async with Harness([tool], policy=Policy(retry=None), store="memory") as harness:
        return text_of((await harness.call("tool", {})).content)


async def run_classify_exception(row: dict[str, Any]) -> Seen:
    """One exception."""
    made = build.exception(row["exception"])
    error = classify(made, method=row.get("method"), now=build.moment(row.get("now")))
    return of_error(error, await _told(made))


async def run_classify_response(row: dict[str, Any]) -> Seen:
    """One HTTP answer."""
    answer = row["response"]
    error = classify_response(
        answer["status"],
        answer.get("headers"),
        build.value(answer.get("body")),
        method=(row.get("request") or {}).get("method", "GET"),
        now=build.moment(row.get("now")),
    )
    return of_error(error) if error is None else of_error(error, await _told(error))
