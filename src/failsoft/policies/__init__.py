"""policies owns: may this call go, how long, again, or what instead? Decisions only: no waiting, no clock, no dice."""

from failsoft.policies import presets, stack
from failsoft.policies._breaker_site import BreakerChange, BreakerSite, BreakerStats, ProbeGate
from failsoft.policies.breaker import Breaker
from failsoft.policies.breaker_state import BreakerState, new_state
from failsoft.policies.budget import RetryBudget, RetryBudgetState, withdraw_all
from failsoft.policies.bulkhead import Bulkhead, BulkheadState
from failsoft.policies.defaults import DEFAULTS
from failsoft.policies.fallback import Fallback, LastGoodState, UseFunction, UseLastGood, UseTool, UseValue
from failsoft.policies.isolation import Isolation
from failsoft.policies.outcome import outcome_of
from failsoft.policies.output import Output
from failsoft.policies.policy import EffectivePolicy, Policy
from failsoft.policies.rate import Rate, RateState, Reservation
from failsoft.policies.registry import BreakerRegistry
from failsoft.policies.resolve import resolve, resolve_layers
from failsoft.policies.retry import Retry, RetryDecision
from failsoft.policies.timeout import Timeout
from failsoft.policies.unset import UNSET, Unset

__all__ = [
    "DEFAULTS",
    "UNSET",
    "Breaker",
    "BreakerChange",
    "BreakerRegistry",
    "BreakerSite",
    "BreakerState",
    "BreakerStats",
    "Bulkhead",
    "BulkheadState",
    "EffectivePolicy",
    "Fallback",
    "Isolation",
    "LastGoodState",
    "Output",
    "Policy",
    "ProbeGate",
    "Rate",
    "RateState",
    "Reservation",
    "Retry",
    "RetryBudget",
    "RetryBudgetState",
    "RetryDecision",
    "Timeout",
    "Unset",
    "UseFunction",
    "UseLastGood",
    "UseTool",
    "UseValue",
    "new_state",
    "outcome_of",
    "presets",
    "resolve",
    "resolve_layers",
    "stack",
    "withdraw_all",
]
