"""failsoft: the reliability runtime between a language model and its tools.

The floors; a room imports only downwards:

    cli                                       one file per command
    lab, page                                 experiments, and the operator's page
    agent, adapters, durable, chaos, testing  loops, foreign frameworks, fakes
    harness                                   the main path: admit, claim, guard( invoke ), report
    isolation, stores, telemetry              where bodies run, what is kept, what is told
    tools                                     what a tool is
    arguments, classify, policies, ledger, feedback   thinking without input and output
    core                                      the words that all share
"""

from __future__ import annotations

from failsoft.classify import Classifier, classify, classify_response
from failsoft.core.calls import NotDone, Progress, ToolCall
from failsoft.core.context import CallContext, current
from failsoft.core.errors import AgentError, UsageError
from failsoft.core.results import ToolResult
from failsoft.feedback import Feedback, Redactor, redact
from failsoft.harness.batch import interrupted_results
from failsoft.harness.harness import Harness
from failsoft.harness.run import Run
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
    "AgentError",
    "Breaker",
    "Bulkhead",
    "CallContext",
    "Classifier",
    "Fallback",
    "Feedback",
    "Harness",
    "NotDone",
    "Output",
    "Policy",
    "Progress",
    "Rate",
    "Redactor",
    "Retry",
    "RetryBudget",
    "Run",
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
