"""The stack: how the policies of one tool nest, and what is refused before any call is made.

    deadline( fallback( total timeout( retry( breaker( rate( bulkhead( attempt timeout( invoke ))))))))

Why so: the fallback covers rejections too; the total bounds the waits; the breaker sees every attempt and ends the
loop of retries; each attempt costs rate; a hang counts as a failure because the attempt's time-out is innermost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from failsoft.core.annotations import Annotations, Standing
from failsoft.core.errors import UsageError
from failsoft.policies._checks import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from failsoft.policies.policy import EffectivePolicy

__all__ = ["ToolFacts", "check", "check_all", "describe", "nesting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What must be known of a tool to check its policies.

    Args:
        name: The tool's name.
        annotations: Its effects as declared.
        streams: Whether its body is a generator.
    """

    name: str
    annotations: Annotations = field(default_factory=Annotations)
    streams: bool = False


def check(
    policy: EffectivePolicy, tool: ToolFacts, others: Mapping[str, ToolFacts] | None = None
) -> tuple[str, ...]:
    """Hints about the policies of `tool`: allowed, but perhaps not meant.

    Args:
        policy: What holds for the tool.
        tool: The tool.
        others: All tools by name; without them names of fallbacks are not looked up.

    Raises:
        UsageError: A stack that cannot work or would do harm, with every reason.
    """
    problems = [*_fallback_problems(policy, tool, others), *_time_problems(policy)]
    if problems:
        lines = "".join(f"\n- {problem}" for problem in problems)
        raise UsageError(f"the policies of tool {tool.name!r} cannot work together:{lines}")
    return tuple(_hints(policy, tool))


def check_all(tools: Mapping[str, tuple[EffectivePolicy, ToolFacts]]) -> dict[str, tuple[str, ...]]:
    """Check every tool among the others, circles of fallbacks included; gives the hints by tool.

    Raises:
        UsageError: As `check`, for the first tool that has a problem.
    """
    facts = {name: fact for name, (_, fact) in tools.items()}
    hints = {name: check(policy, fact, facts) for name, (policy, fact) in tools.items()}
    after = {name: policy.fallback.tools if policy.fallback else () for name, (policy, _) in tools.items()}
    for name in tools:
        path = _circle(name, after)
        if path:
            raise UsageError(
                f"fallbacks go in a circle: {' → '.join(path)}\n\nhint: end the chain with a tool without one"
            )
    return hints


def _circle(start: str, after: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    paths: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for name in after[path[-1]]:
            if name == start:
                return (*path, name)
            if name not in seen:
                seen.add(name)
                paths.append((*path, name))
    return ()


def _fallback_problems(
    policy: EffectivePolicy, tool: ToolFacts, others: Mapping[str, ToolFacts] | None
) -> Iterator[str]:
    names = policy.fallback.tools if policy.fallback else ()
    for name in names:
        if name == tool.name:
            yield f"fallback: {name!r} is the tool itself; that is what retry is for"
        elif others is None:
            continue
        elif name not in others:
            yield f"fallback: there is no tool {name!r}; {nearest(name, others)}"
        else:
            reason = _harm(tool.annotations, others[name].annotations)
            if reason:
                yield f"fallback: from {tool.name!r} to {name!r}: {reason}"


def _harm(here: Annotations, there: Annotations) -> str:
    if here.read_only and there.standing is Standing.PROTECTED:
        return "a tool that only reads would be answered by one that acts"
    if here.read_only or there.read_only:
        return ""
    if here.standing is Standing.PROTECTED:
        return "both may act and the first must not be repeated, so the effect could happen twice"
    if here.idempotent and there.standing is Standing.PROTECTED:
        return "the first may have acted before it failed and the second must not be repeated"
    return ""


def _time_problems(policy: EffectivePolicy) -> Iterator[str]:
    timeout, breaker = policy.timeout, policy.breaker
    for name, part in (("bulkhead", policy.bulkhead), ("rate", policy.rate)):
        if part is not None and part.max_wait_s is not None and part.max_wait_s > timeout.total_s:
            yield f"{name}: max_wait_s ({part.max_wait_s:g} s) is longer than the total ({timeout.total_s:g} s)"
    lease_s = None if breaker is None else breaker.probe_lease_s
    if lease_s is not None and lease_s < timeout.longest_attempt_s:
        yield (
            f"breaker: probe_lease_s ({lease_s:g} s) is shorter than an attempt ({timeout.longest_attempt_s:g} s),"
            " so a probe would be given up while it runs"
        )


def _hints(policy: EffectivePolicy, tool: ToolFacts) -> Iterator[str]:
    retry, said = policy.retry, _is_said(policy, "retry")
    retries = retry is not None and retry.max_attempts > 1
    if retries and said and tool.streams:
        yield "retry: a generator is tried again only as long as nothing came out of it"
    if retries and said and tool.annotations.standing is not Standing.REPEATABLE:
        yield "retry: only failures that prove that nothing happened are retried; declare read_only or idempotent for more"
    if retry is not None and retries and retry.jitter == "none" and retry.base_s >= policy.timeout.total_s:
        yield "retry: the first wait is as long as the total, so there is never a second attempt"
    if policy.retry_budget is not None and not retries and _is_said(policy, "retry_budget"):
        yield "retry_budget: there are no retries to limit"
    if policy.breaker is None and policy.when_open != "offer":
        yield f"when_open: {policy.when_open!r} does nothing without a breaker"
    slow_s = None if policy.breaker is None else policy.breaker.slow_s
    if slow_s is not None and slow_s >= policy.timeout.longest_attempt_s:
        yield "breaker: slow_s is not below the attempt's time-out, so no call can be slow and succeed"
    if policy.bulkhead is not None and policy.bulkhead.max_wait_s is not None and not policy.bulkhead.queue:
        yield "bulkhead: max_wait_s does nothing without a queue"
    stand_ins = policy.fallback is not None and len(policy.fallback.steps) > len(policy.fallback.tools)
    if stand_ins and not tool.annotations.read_only:
        yield "fallback: a failure that may have had an effect is never covered by a value; declare read_only if it has none"


def _is_said(policy: EffectivePolicy, part: str) -> bool:
    origin = policy.origin.get(part, "")
    return origin != "default" and not origin.startswith("preset ")


def nesting(policy: EffectivePolicy) -> tuple[str, ...]:
    """The names of what is on, from the outside in."""
    on = (
        ("deadline", True),
        ("fallback", policy.fallback is not None),
        ("total_timeout", True),
        ("retry", policy.retry is not None and policy.retry.max_attempts > 1),
        ("breaker", policy.breaker is not None),
        ("rate", policy.rate is not None),
        ("bulkhead", policy.bulkhead is not None),
        ("attempt_timeout", True),
        ("invoke", True),
    )
    return tuple(name for name, is_on in on if is_on)


def describe(policy: EffectivePolicy) -> str:
    """The nesting for people: one line each, indented, with the values that matter and where they come from."""
    details = _details(policy)
    lines = []
    for depth, name in enumerate(nesting(policy)):
        part, text = details.get(name, ("", ""))
        origin = f"  [{policy.origin.get(part, '?')}]" if part else ""
        lines.append("  " * depth + name.replace("_", " ") + (f": {text}" if text else "") + origin)
    return "\n".join(lines)


def _details(policy: EffectivePolicy) -> dict[str, tuple[str, str]]:
    timeout, attempt = policy.timeout, policy.timeout.attempt_s
    attempts = ", ".join(f"{s:g}" for s in attempt) if isinstance(attempt, tuple) else f"{attempt:g}"
    idle = f", silence {timeout.idle_s:g} s" if timeout.idle_s is not None else ""
    details = {
        "total_timeout": ("timeout", f"{timeout.total_s:g} s"),
        "attempt_timeout": ("timeout", f"{attempts} s{idle}, grace {timeout.grace_s:g} s"),
        "invoke": ("isolation", policy.isolation.mode),
    }
    if policy.fallback is not None:
        details["fallback"] = ("fallback", ", then ".join(step.word for step in policy.fallback.steps))
    if policy.retry is not None:
        retry = policy.retry
        backoff = retry.backoff if isinstance(retry.backoff, str) else "own function"
        text = f"{retry.max_attempts} attempts, {backoff} from {retry.base_s:g} s up to {retry.cap_s:g} s"
        details["retry"] = ("retry", f"{text}, {retry.jitter} jitter")
    if policy.breaker is not None:
        breaker = policy.breaker
        window = f"{breaker.window_s:g} s" if breaker.window_s is not None else f"{breaker.window} calls"
        hard = f" or {breaker.hard_failures} hard failures in a row" if breaker.hard_failures else ""
        rate = f"{breaker.failure_rate * 100:g} % of {window} failed"
        details["breaker"] = (
            "breaker",
            f"{rate}{hard}; open {breaker.open_s:g} s up to {breaker.max_open_s:g} s",
        )
    if policy.rate is not None:
        details["rate"] = ("rate", f"{policy.rate.limit} per {policy.rate.per_s:g} s")
    if policy.bulkhead is not None:
        details["bulkhead"] = (
            "bulkhead",
            f"{policy.bulkhead.limit} at once, {policy.bulkhead.queue} waiting",
        )
    return details
