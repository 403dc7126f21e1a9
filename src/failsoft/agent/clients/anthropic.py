"""`AnthropicClient`: the Messages API by the official SDK, its retries off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from failsoft.agent.clients._messages import turn_of
from failsoft.agent.clients._sdk import PerLoop, answer_body, broken_streams, cut_answer, load, ready_made
from failsoft.core.errors import PermissionDenied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.turns import ModelRequest, ModelTurn

__all__ = ["AnthropicClient"]


# Where the SDK looks for something to show to the endpoint.
_CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
)


class AnthropicClient:
    """A model behind the Messages API; any compatible endpoint by `base_url`.

    Safe to share between runs, threads and event loops.

    Args:
        model: The model's name.
        api_key: Default what the SDK finds, `ANTHROPIC_API_KEY` first; a compatible endpoint gets a made-up one where
            nothing is found.
        base_url: Default the provider's own, or `ANTHROPIC_BASE_URL`.
        timeout_s: Seconds for one request; apart from tool time-outs. When streaming, seconds without a new piece.
        max_tokens: Most tokens of one answer.
        cache: Whether to ask for prompt caching; default at the provider's own endpoint only, because compatible ones
            may refuse what they do not know.
        options: More parameters for `messages.create`, such as `temperature` or `thinking`.
    """

    dialect = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 60.0,
        max_tokens: int = 8_192,
        cache: bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.timeout_s = timeout_s
        self.max_tokens = max_tokens
        self.options = dict(options or {})
        if base_url is None if cache is None else cache:
            self.options.setdefault("cache_control", {"type": "ephemeral"})
        if (
            api_key is None
            and base_url is not None
            and not any(os.environ.get(name) for name in _CREDENTIALS)
        ):
            api_key = "not-needed"
        sdk = load("anthropic", "anthropic")
        self._clients = PerLoop(
            lambda: sdk.AsyncAnthropic(api_key=api_key, base_url=base_url, timeout=timeout_s, max_retries=0)
        )

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """One request, no retries.

        Raises:
            Exception: The SDK's own, or `ModelError` for an answer that cannot be read.
        """
        messages = self._clients.get().messages
        parameters = self._parameters(request)
        try:
            if request.on_text is not None:
                with broken_streams():
                    return turn_of(await _streamed(messages, parameters, request.on_text))
            response = await messages.with_raw_response.create(**parameters)
        except TypeError as exc:
            if "authentication" not in str(exc):
                raise
            raise PermissionDenied(
                "There is no key for the model.", reason="missing_key", suggestion="Set ANTHROPIC_API_KEY."
            ) from exc
        return turn_of(answer_body(response.http_response))

    def _parameters(self, request: ModelRequest) -> dict[str, Any]:
        left_s = self.timeout_s if request.timeout_s is None else min(self.timeout_s, request.timeout_s)
        parameters: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens or self.max_tokens,
            "messages": request.messages,
            "timeout": left_s,
            **self.options,
        }
        if request.system:
            parameters["system"] = request.system
        if request.tools:
            parameters["tools"] = request.tools
            if request.withhold_tools:
                parameters["tool_choice"] = {"type": "none"}
        return ready_made(parameters, "messages")

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.aclose()

    def __repr__(self) -> str:
        return f"AnthropicClient({self.model!r})"


async def _streamed(
    messages: Any, parameters: dict[str, Any], on_text: Callable[[str], object]
) -> dict[str, Any]:
    async with messages.stream(**parameters) as stream:
        async for text in stream.text_stream:
            on_text(text)
        message = (await stream.get_final_message()).to_dict()
    if message.get("stop_reason") is None:
        raise cut_answer()
    for block in message.get("content", ()):
        block.pop("parsed_output", None)  # the SDK's own, which the API does not take back
    return dict(message)
