"""`OpenAIClient`: Chat Completions and Responses by the official SDK, its retries off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from failsoft.agent.clients import _chat, _responses
from failsoft.agent.clients._sdk import PerLoop, answer_body, broken_streams, load, ready_made
from failsoft.core.errors import PermissionDenied, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.turns import ModelRequest, ModelTurn

__all__ = ["OpenAIClient"]


class OpenAIClient:
    """A model behind one of OpenAI's APIs; any compatible endpoint by `base_url`.

    Safe to share between runs, threads and event loops.

    Args:
        model: The model's name.
        api: `chat` for Chat Completions, `responses` for Responses.
        api_key: Default `OPENAI_API_KEY`; a compatible endpoint that wants none gets a made-up one.
        base_url: Default the provider's own, or `OPENAI_BASE_URL`.
        timeout_s: Seconds for one request; apart from tool time-outs. When streaming, seconds without a new piece.
        max_tokens: Most tokens of one answer; default the model's own limit.
        tool_dialect: Shapes of the tool list: `openai`, `openai-strict`, or `lenient` for endpoints that refuse
            parts of JSON Schema. Default follows `api`.
        options: More parameters for `create`, such as `temperature` or `reasoning_effort`.

    Raises:
        UsageError: `api` is something else, or the SDK is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        api: Literal["chat", "responses"] = "chat",
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 60.0,
        max_tokens: int | None = None,
        tool_dialect: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if api not in ("chat", "responses"):
            raise UsageError(f"api must be 'chat' or 'responses', got {api!r}")
        self.model = model
        self.api = api
        self.dialect = "openai" if api == "chat" else "openai-responses"
        self.tool_dialect = tool_dialect or self.dialect
        self.timeout_s = timeout_s
        self.max_tokens = max_tokens
        self.options = dict(options or {})
        self._foreign = base_url is not None or bool(os.environ.get("OPENAI_BASE_URL"))
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("not-needed" if self._foreign else None)
        self._has_key = key is not None
        sdk = load("openai", "openai")
        self._clients = PerLoop(
            lambda: sdk.AsyncOpenAI(api_key=key, base_url=base_url, timeout=timeout_s, max_retries=0)
        )

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """One request, no retries.

        Raises:
            Exception: The SDK's own, or `ModelError` for an answer that cannot be read.
        """
        if not self._has_key:
            hint = "Set OPENAI_API_KEY."
            raise PermissionDenied("There is no key for the model.", reason="missing_key", suggestion=hint)
        sdk = self._clients.get()
        parameters = self._parameters(request)
        if self.api == "chat":
            if request.on_text is None:
                response = await sdk.chat.completions.with_raw_response.create(**parameters)
                return _chat.turn_of(answer_body(response.http_response))
            parameters |= {"stream": True, "stream_options": {"include_usage": True}}
            with broken_streams():
                async with await sdk.chat.completions.create(**parameters) as chunks:
                    return _chat.turn_of(await _chat.gathered(chunks, request.on_text))
        if request.on_text is None:
            response = await sdk.responses.with_raw_response.create(**parameters)
            return _responses.turn_of(answer_body(response.http_response))
        with broken_streams():
            async with await sdk.responses.create(**parameters, stream=True) as events:
                return _responses.turn_of(await _responses.gathered(events, request.on_text))

    def _parameters(self, request: ModelRequest) -> dict[str, Any]:
        if self.api == "chat":
            made = _chat.parameters_of(request, readable_arguments=self._foreign)
            # Compatible endpoints know the older word.
            limit = "max_tokens" if self._foreign else "max_completion_tokens"
        else:
            made, limit = _responses.parameters_of(request), "max_output_tokens"
        most = request.max_tokens or self.max_tokens
        if most is not None:
            made[limit] = most
        left_s = self.timeout_s if request.timeout_s is None else min(self.timeout_s, request.timeout_s)
        conversation = "messages" if self.api == "chat" else "input"
        return ready_made({"model": self.model, "timeout": left_s, **self.options, **made}, conversation)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.aclose()

    def __repr__(self) -> str:
        return f"OpenAIClient({self.model!r}, api={self.api!r})"
