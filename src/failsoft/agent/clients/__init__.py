"""clients owns one file per way to reach a model: official SDKs, a function, and several clients in a row."""

from failsoft.agent.clients.anthropic import AnthropicClient
from failsoft.agent.clients.callable import CallableClient
from failsoft.agent.clients.fallback import FallbackClient
from failsoft.agent.clients.openai import OpenAIClient

__all__ = ["AnthropicClient", "CallableClient", "FallbackClient", "OpenAIClient"]
