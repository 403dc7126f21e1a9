"""`AnthropicClient`: the Messages API by the official SDK, its retries off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.agent.clients._sdk import PerLoop, cut_answer, load, loads, unreadable_answer
from failsoft.core.errors import PermissionDenied
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.turns import ModelRequest

__all__ = ["AnthropicClient"]

_ENDS = {
    "end_turn": TurnEnd.FINISHED,
    "stop_sequence": TurnEnd.FINISHED,
    "tool_use": TurnEnd.CALLS,
    "max_tokens": TurnEnd.TRUNCATED,
    "pause_turn": TurnEnd.PAUSED,
    "refusal": TurnEnd.REFUSED,
    "model_context_window_exceeded": TurnEnd.CONTEXT_FULL,
}


class AnthropicClient:
    """A model behind the Messages API; any compatible endpoint by `base_url`.

    Safe to share between runs, threads and event loops.

    Args:
        model: The model's name.
        api_key: Default what the SDK finds, `ANTHROPIC_API_KEY` first.
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
                return turn_from(await _streamed(messages, parameters, request.on_text))
            response = await messages.with_raw_response.create(**parameters)
        except TypeError as exc:
            if "authentication" not in str(exc):
                raise
            raise PermissionDenied(
                "There is no key for the model.", reason="missing_key", suggestion="Set ANTHROPIC_API_KEY."
            ) from exc
        return turn_from(loads(response.http_response.content))

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
        return parameters

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


def turn_from(message: dict[str, Any]) -> ModelTurn:
    """The turn in a response of the Messages API.

    Raises:
        ModelError: It is no message.
    """
    content = message.get("content")
    if not isinstance(content, list) or message.get("role") != "assistant":
        raise unreadable_answer()
    # Empty text is refused when it is sent back; everything else goes back as it came.
    blocks = [
        b for b in content if not (isinstance(b, dict) and b.get("type") == "text" and not b.get("text"))
    ]
    message = {**message, "content": blocks}
    calls = tuple(calls_from("anthropic", message))
    word = str(message.get("stop_reason"))
    details = message.get("stop_details") or {}
    return ModelTurn(
        messages=({"role": "assistant", "content": blocks},) if blocks else (),
        dialect="anthropic",
        text="".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        calls=calls,
        end=_ENDS.get(word, TurnEnd.CALLS if calls else TurnEnd.FINISHED),
        usage=_usage(message.get("usage") or {}),
        model=str(message.get("model", "")),
        detail=str(details.get("explanation") or "") if isinstance(details, dict) else "",
        raw=message,
    )


def _usage(given: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=given.get("input_tokens") or 0,
        output_tokens=given.get("output_tokens") or 0,
        cache_read_tokens=given.get("cache_read_input_tokens") or 0,
        cache_write_tokens=given.get("cache_creation_input_tokens") or 0,
        requests=1,
    )
