"""Run cases: an operation for each `op`, its rows one by one, and what is not as expected."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tests.cases import (
    batching,
    calling,
    classifying,
    executing,
    looping,
    naming,
    rendering,
    repeating,
    schemas,
    units,
)
from tests.cases.build import MissingLibrary
from tests.cases.expect import problems
from tests.cases.seen import Seen
from tests.cases.words import UnknownWord

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OPERATIONS", "Verdict", "run_case"]

OPERATIONS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "adapt_schema": schemas.run_adapt_schema,
    "backoff": units.run_backoff,
    "batch": batching.run_batch,
    "breaker": units.run_breaker,
    "call": calling.run_call,
    "call_pydantic": calling.run_call_pydantic,
    "classify_exception": classifying.run_classify_exception,
    "classify_response": classifying.run_classify_response,
    "execute": executing.run_execute,
    "idempotency": repeating.run_idempotency,
    "loop": looping.run_loop,
    "provider_names": naming.run_provider_names,
    "render_result": rendering.run_render_result,
    "resolve_name": naming.run_resolve_name,
}

Verdict = tuple[bool | None, str]


def _rows(case: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Input and expectation of each row; what stands beside the rows holds for all of them."""
    given, wanted = dict(case["input"]), dict(case["expect"])
    rows = given.pop("rows", None)
    expected = wanted.pop("rows", None)
    if rows is None:
        return [(given, wanted)]
    expected = [{}] * len(rows) if expected is None else expected
    return [({**given, **row}, {**wanted, **want}) for row, want in zip(rows, expected, strict=True)]


def _seen(operation: Callable[[dict[str, Any]], Any], row: dict[str, Any]) -> Seen:
    if inspect.iscoroutinefunction(operation):
        made: Seen = asyncio.run(operation(row))
        return made
    made = operation(row)
    return made


def _row_problems(
    operation: Callable[[dict[str, Any]], Any], row: dict[str, Any], want: dict[str, Any]
) -> list[str]:
    try:
        return problems(_seen(operation, row), want)
    except (MissingLibrary, UnknownWord):
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # what a runtime lets through must end its case and not the runner
        where = traceback.extract_tb(exc.__traceback__)[-1]
        return [f"raised {type(exc).__name__}: {exc} ({where.name}, line {where.lineno})"]


def run_case(case: Mapping[str, Any]) -> Verdict:
    """True, False or None, and what there is to say.

    None means that nothing was wrong and something could not be judged: an operation that is not built, a library that is
    not installed.
    """
    operation = OPERATIONS.get(case["input"].get("op", ""))
    if operation is None:
        return None, f"operation {case['input'].get('op')!r} is not built"
    wrong: list[str] = []
    skipped: list[str] = []
    rows = _rows(case)
    for number, (row, want) in enumerate(rows, 1):
        place = f"row {number}: " if len(rows) > 1 else ""
        try:
            wrong += [f"{place}{problem}" for problem in _row_problems(operation, row, want)]
        except MissingLibrary as exc:
            skipped.append(f"{place}not here: {exc}")
        except UnknownWord as exc:
            wrong.append(f"{place}no such word in the table: {exc}")
    if wrong:
        return False, "; ".join(wrong + skipped)
    return (None, "; ".join(skipped)) if skipped else (True, "")
