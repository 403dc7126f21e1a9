"""Everything about one tool that can be decided before a call, so that a call decides as little as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.harness.alarms import AlarmQueues

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.clock import Clock
    from failsoft.core.ports import Runner
    from failsoft.harness.gates import Gates
    from failsoft.policies import (
        BreakerRegistry,
        BreakerState,
        EffectivePolicy,
        LastGoodState,
        RetryBudgetState,
        Timeout,
    )
    from failsoft.tools import Tool

__all__ = ["Plan"]


class Plan:
    """One tool of a harness, made ready.

    Args:
        tool: The tool.
        policy: Its effective policy.
        clock: Tells the time.
    """

    __slots__ = (
        "accept",
        "alarms",
        "asks",
        "attempt_s",
        "awaits",
        "body",
        "breaker",
        "breakers",
        "budget",
        "claims",
        "context_parameter",
        "defaults",
        "fallback",
        "gates",
        "grace_s",
        "held_until",
        "hidden",
        "idle_s",
        "is_simple",
        "key_parameter",
        "last_good",
        "max_chars",
        "name",
        "parse",
        "passing",
        "plain",
        "policy",
        "protected",
        "read_only",
        "redirects",
        "repeatable",
        "retry",
        "revive",
        "roles",
        "runner",
        "timeout",
        "tool",
        "total_s",
        "waits",
        "yields",
    )

    def __init__(self, tool: Tool[..., Any], policy: EffectivePolicy, clock: Clock) -> None:
        effects, timeout = tool.annotations, policy.timeout
        self.tool, self.policy, self.name = tool, policy, tool.name
        self.parse = tool.reader.parse_values
        self.body: Callable[..., Any] = tool.fn
        self.awaits = not tool.is_async
        self.yields = tool.is_generator or tool.is_async_generator
        self.roles, self.asks = tool.roles, tool.approval != "never"
        self.context_parameter, self.key_parameter = tool.context_parameter, tool.idempotency_key
        self.hidden, self.defaults = tool.hidden, tool.defaults
        self.read_only = bool(effects.read_only)
        self.repeatable = self.read_only or bool(effects.idempotent) or self.key_parameter is not None
        self.protected = (
            effects.read_only is False or effects.idempotent is False or bool(effects.destructive)
        )
        self.claims = not (self.read_only or (effects.idempotent and self.key_parameter is None))
        self.timeout, self.retry, self.fallback = timeout, policy.retry, policy.fallback
        self.total_s = timeout.total_s
        self.grace_s = timeout.grace_s
        self.idle_s = timeout.idle_s
        self.attempt_s = _one_limit(timeout)
        self.alarms = AlarmQueues(clock.monotonic)
        self.max_chars = policy.output.max_chars if policy.output is not None else None
        self.breaker: BreakerState | None = None
        self.breakers: BreakerRegistry | None = None
        self.budget: RetryBudgetState | None = None
        self.gates: Gates | None = None
        self.runner: Runner | None = None
        self.accept: Callable[[Any], Any] | None = None
        self.revive: Callable[[Any], Any] | None = None
        self.last_good: LastGoodState | None = None
        self.redirects = False
        self.held_until = 0.0
        self.waits = self.claims
        self.passing: tuple[type[BaseException], ...] = ()
        # The hot path asks one question instead of four.
        self.is_simple = not (self.asks or self.claims or self.fallback is not None)
        self.plain = self.context_parameter is None and self.key_parameter is None and not self.roles

    def breaker_for(self, values: Mapping[str, Any], now: float) -> BreakerState | None:
        """The breaker that a call with these arguments goes through."""
        if self.breakers is None:
            return self.breaker
        return self.breakers.get(self.breakers.key_of(values), now)

    def __repr__(self) -> str:
        return f"Plan({self.name!r})"


def _one_limit(timeout: Timeout) -> float | None:
    """The attempt's limit in seconds where all attempts have the same; None where they differ."""
    return None if isinstance(timeout.attempt_s, tuple) else float(timeout.attempt_s)
