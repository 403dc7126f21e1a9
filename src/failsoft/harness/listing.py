"""The tools as a model sees them, and what an open breaker changes about that where it was asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.tools.dialects import dialect as dialect_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.harness.plan import Plan
    from failsoft.harness.shared import Shared
    from failsoft.tools import Tool

__all__ = ["tool_list"]


def tool_list(shared: Shared, dialect: str) -> list[dict[str, Any]]:
    """The tools in a provider's shape.

    `when_open` decides about a tool whose breaker is open: `offer` leaves it as it is, because prompt caches live on the
    list; `describe` says so in its description; `withhold` leaves it out.

    Raises:
        UsageError: For an unknown dialect.
    """
    chosen = dialect_named(dialect)
    return [chosen.schema_of(tool) for tool in _offered(shared)]


def _offered(shared: Shared) -> Iterator[Tool[..., Any]]:
    now = shared.monotonic()
    for plan in shared.plans.values():
        when_open = plan.policy.when_open
        wait_s = None if when_open == "offer" else _open_for_s(plan, now)
        if wait_s is None:
            yield plan.tool
        elif when_open == "describe":
            yield _described(shared, plan, wait_s)


def _open_for_s(plan: Plan, now: float) -> float | None:
    """Seconds for which the tool's breaker refuses calls; None where it does not. Breakers by key say nothing of a tool."""
    if plan.breaker is None or plan.breaker.state == "closed":
        return None
    wait_s = plan.breaker.retry_after(now)
    return float("inf") if wait_s is None else wait_s or None


def _described(shared: Shared, plan: Plan, wait_s: float) -> Tool[..., Any]:
    when = "" if wait_s == float("inf") else f" for about {wait_s:.0f} s"
    others = shared.registry.others_in_category(plan.tool)
    instead = f" Of the same kind: {', '.join(others)}." if others else ""
    note = f"Paused{when}, because it kept failing.{instead}"
    return plan.tool.replace(description=f"{plan.tool.description}\n\n{note}".strip())
