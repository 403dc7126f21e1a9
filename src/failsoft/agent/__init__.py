"""agent owns the loop between a model and its tools: it finishes, escalates or stops, and always says why.

Read `loop.py` first.
"""

from failsoft.agent.agent import Agent
from failsoft.agent.clients import AnthropicClient, CallableClient, FallbackClient, OpenAIClient
from failsoft.agent.escalation import Answer, Case
from failsoft.agent.limits import Limits
from failsoft.agent.loop import interrupted_outcome
from failsoft.agent.outcome import Outcome, StopReason
from failsoft.agent.runs import FileRuns, MemoryRuns, StoreRuns

__all__ = [
    "Agent",
    "Answer",
    "AnthropicClient",
    "CallableClient",
    "Case",
    "FallbackClient",
    "FileRuns",
    "Limits",
    "MemoryRuns",
    "OpenAIClient",
    "Outcome",
    "StopReason",
    "StoreRuns",
    "interrupted_outcome",
]
