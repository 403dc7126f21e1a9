"""The limits of a run, all explicit. Reaching one: hint, then block, then escalate, then stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from failsoft.core.errors import UsageError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run may go.

    Args:
        max_turns: Model answers in a run; in the last one the model may only answer. Default 30: long tasks
            measured on agents need 10 to 25 turns, and beyond that most runs only repeat themselves.
        max_calls: Calls handed to tools. Default 100: three a turn.
        max_errors: Failed calls in a run. Default 10: a model that has not found its way by then does not.
        same_call_failures: Consecutive failures of one call before the hint; the next one is not run. Default 2.
        unknown_tool_calls: Turns in a row that ask for a tool that is not there before the last hint. Default 2.
        stall_repeats: Identical successes with the same result before the hint; at twice as many the call is not run.
            Default 3. Tools with `poll=True` and results that change are no stall.
        output_repairs: How often a structured answer that does not fit, an empty turn or a cut-off answer is asked
            for again. Default 2.
        error_chars_per_run: Characters of error text in the history before repeated errors are cut to one line. Default 12,000.
        wall_s: Seconds for the whole run. Default no limit.
        tokens: Tokens for the whole run, as the provider counts them. Default no limit.

    Raises:
        UsageError: A value cannot work.
    """

    max_turns: int = 30
    max_calls: int = 100
    max_errors: int = 10
    same_call_failures: int = 2
    unknown_tool_calls: int = 2
    stall_repeats: int = 3
    output_repairs: int = 2
    error_chars_per_run: int = 12_000
    wall_s: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "wall_s":
                if value is not None and not (_is_number(value) and 0 < value < math.inf):
                    raise UsageError(f"Limits.wall_s must be a number of seconds > 0 or None, got {value!r}")
                continue
            if field.name == "tokens" and value is None:
                continue
            lowest = 0 if field.name in ("output_repairs", "error_chars_per_run") else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise UsageError(f"Limits.{field.name} must be a whole number >= {lowest}, got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
