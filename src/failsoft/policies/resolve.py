"""From layers to what holds: tool over harness over defaults, and where each part came from."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from failsoft.core.annotations import Standing
from failsoft.core.errors import UsageError
from failsoft.policies.defaults import DEFAULTS
from failsoft.policies.policy import PARTS, EffectivePolicy, Policy
from failsoft.policies.unset import Unset

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["resolve", "resolve_layers"]


def resolve(
    default: Policy = DEFAULTS,
    harness: Policy = Policy(),
    tool: Policy = Policy(),
    *,
    standing: Standing = Standing.UNDECLARED,
) -> EffectivePolicy:
    """What holds for a tool of `standing`.

    Where the attempt's time-out was not given, that of a tool that is not repeatable lasts as long as the total.

    Raises:
        UsageError: A part that no layer says anything about.
    """
    return resolve_layers((("default", default), ("harness", harness), ("tool", tool)), standing=standing)


def resolve_layers(
    layers: Iterable[tuple[str, Policy]], *, standing: Standing = Standing.UNDECLARED
) -> EffectivePolicy:
    """The same for any number of layers, each with its name: a later one wins over those before it.

    Raises:
        UsageError: A part that no layer says anything about.
    """
    parts: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for layer, policy in layers:
        for name in PARTS:
            value = getattr(policy, name)
            if not isinstance(value, Unset):
                parts[name], origin[name] = value, policy.source or layer
    missing = [name for name in PARTS if name not in parts]
    if missing:
        raise UsageError(
            f"no layer says anything about {missing[0]!r}\n\nhint: begin with failsoft.policies.DEFAULTS"
        )
    parts["timeout"] = parts["timeout"].for_standing(standing is Standing.REPEATABLE)
    return EffectivePolicy(**parts, origin=MappingProxyType(origin))
