"""failsoft: the reliability runtime between a language model and its tools.

The floors; a room imports only downwards:

    cli                                               one file per command
    lab, page                                         experiments, and the operator's page
    agent, adapters, durable, chaos, testing          loops, foreign frameworks, fakes
    harness                                           the main path: admit, claim, guard( invoke ), report
    isolation, stores, telemetry                      where bodies run, what is kept, what is told
    tools                                             what a tool is
    arguments, classify, policies, ledger, feedback   thinking without input and output
    core                                              the words that all share

Names are loaded when they are first used: a program that only defines tools does not pay for stores and clients.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.agent import (
        Agent,
        AnthropicClient,
        CallableClient,
        FallbackClient,
        Limits,
        OpenAIClient,
        Outcome,
    )
    from failsoft.classify import Classifier, classify, classify_response
    from failsoft.core.calls import NotDone, Progress, ToolCall
    from failsoft.core.context import CallContext, current
    from failsoft.core.errors import AgentError, UsageError
    from failsoft.core.results import ToolResult
    from failsoft.feedback import Feedback, Redactor, redact
    from failsoft.harness.batch import interrupted_results
    from failsoft.harness.harness import Harness
    from failsoft.policies import (
        Breaker,
        Bulkhead,
        Fallback,
        Output,
        Policy,
        Rate,
        Retry,
        RetryBudget,
        Timeout,
    )
    from failsoft.tools import Tool, tool
    from failsoft.tools.dialects import calls_from, to_message, to_messages

__all__ = [
    "Agent",
    "AgentError",
    "AnthropicClient",
    "Breaker",
    "Bulkhead",
    "CallContext",
    "CallableClient",
    "Classifier",
    "Fallback",
    "FallbackClient",
    "Feedback",
    "Harness",
    "Limits",
    "NotDone",
    "OpenAIClient",
    "Outcome",
    "Output",
    "Policy",
    "Progress",
    "Rate",
    "Redactor",
    "Retry",
    "RetryBudget",
    "Timeout",
    "Tool",
    "ToolCall",
    "ToolResult",
    "UsageError",
    "calls_from",
    "classify",
    "classify_response",
    "current",
    "interrupted_results",
    "redact",
    "to_message",
    "to_messages",
    "tool",
]

_HOME = {
    "failsoft.agent": (
        "Agent AnthropicClient CallableClient FallbackClient Limits OpenAIClient Outcome"  # one line a module
    ),
    "failsoft.classify.classifier": "Classifier classify classify_response",
    "failsoft.core.calls": "NotDone Progress ToolCall",
    "failsoft.core.context": "CallContext current",
    "failsoft.core.errors": "AgentError UsageError",
    "failsoft.core.results": "ToolResult",
    "failsoft.feedback": "Feedback Redactor redact",
    "failsoft.harness.batch": "interrupted_results",
    "failsoft.harness.harness": "Harness",
    "failsoft.policies": "Breaker Bulkhead Fallback Output Policy Rate Retry RetryBudget Timeout",
    "failsoft.tools.decorator": "tool",
    "failsoft.tools.definition": "Tool",
    "failsoft.tools.dialects": "calls_from to_message to_messages",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'failsoft' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
