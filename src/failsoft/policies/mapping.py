"""Policies from plain data, such as a table of `failsoft.toml`, with errors that name the place and the near words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from failsoft.core.errors import UsageError
from failsoft.policies._checks import nearest, refuse
from failsoft.policies.breaker import Breaker
from failsoft.policies.budget import RetryBudget
from failsoft.policies.bulkhead import Bulkhead
from failsoft.policies.fallback import Fallback
from failsoft.policies.isolation import Isolation
from failsoft.policies.output import Output
from failsoft.policies.policy import PARTS, Policy
from failsoft.policies.rate import Rate
from failsoft.policies.retry import Retry
from failsoft.policies.timeout import Timeout

__all__ = ["policy_from"]

_RECORDS: Final[dict[str, type]] = {
    "timeout": Timeout,
    "retry": Retry,
    "retry_budget": RetryBudget,
    "breaker": Breaker,
    "bulkhead": Bulkhead,
    "rate": Rate,
    "fallback": Fallback,
    "isolation": Isolation,
    "output": Output,
}


def policy_from(values: Mapping[str, Any], where: str = "failsoft.toml") -> Policy:
    """A policy from a mapping of parts; a part is a table, a plain value, or false for off.

    Raises:
        UsageError: An unknown word or a value that cannot work; begins with `where` and the place in it.
    """
    if not isinstance(values, Mapping):
        raise refuse(where, "a table of policies", values)
    parts: dict[str, Any] = {}
    for name, value in values.items():
        if name not in PARTS:
            raise UsageError(f"{where}: there is no policy {name!r}\n\nhint: {nearest(str(name), PARTS)}")
        try:
            made = _record(name, value) if isinstance(value, Mapping) else value
            # Made here and once more below, so that an error names the part that it is about.
            parts[name] = getattr(Policy(**{name: made}), name)
        except UsageError as exc:
            raise UsageError(f"{where}: {name}: {exc}") from exc
    return Policy(**parts, source=where)


def _record(part: str, table: Mapping[str, Any]) -> Any:
    record = _RECORDS.get(part)
    if record is None:
        raise refuse(f"Policy.{part}", "a word", dict(table))
    options = inspect.signature(record).parameters
    for name in table:
        if name not in options:
            raise UsageError(
                f"{record.__name__} has no option {name!r}\n\nhint: {nearest(str(name), options)}"
            )
    needed = [
        name for name, option in options.items() if option.default is option.empty and name not in table
    ]
    if needed:
        raise UsageError(f"{record.__name__} needs {needed[0]!r}")
    return record(**table)
