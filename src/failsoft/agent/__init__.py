"""agent owns the loop between a model and its tools: it finishes, escalates or stops, and always says why.

Read `loop.py` first.
"""

from failsoft.agent.agent import Agent
from failsoft.agent.clients import AnthropicClient, CallableClient, FallbackClient, OpenAIClient
from failsoft.agent.escalation import Answer, Case
from failsoft.agent.limits import Limits
from failsoft.agent.outcome import Outcome, StopReason

__all__ = [
    "Agent",
    "Answer",
    "AnthropicClient",
    "CallableClient",
    "Case",
    "FallbackClient",
    "Limits",
    "OpenAIClient",
    "Outcome",
    "StopReason",
]
