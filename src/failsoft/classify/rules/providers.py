"""Model providers: openai, anthropic, google-genai, cohere, mistral, litellm."""

from __future__ import annotations

from typing import Any

from failsoft.classify.rules.answers import answered, answered_as
from failsoft.classify.rules.row import Context, row
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Domain, Effect, ErrorKind, Owner

__all__ = ["ROWS"]

K, NONE, POSSIBLE, HUMAN = ErrorKind, Effect.NONE, Effect.POSSIBLE, Owner.HUMAN
_QUOTA = answered_as(verdict(K.QUOTA_EXHAUSTED))
_OVERFLOW = answered_as(verdict(K.MODEL_ERROR, "context_overflow", owner=Owner.MODEL))
_FILTER = answered_as(verdict(K.MODEL_ERROR, "content_filter", owner=Owner.MODEL))


def _by_answer_or_words(exc: Any, context: Context) -> Verdict | None:
    """An error event in a stream: a body without a status of its own."""
    found = answered(exc, context)
    return None if found is None or found.kind == K.UNKNOWN else found


_OPENAI = (
    row("openai.APITimeoutError anthropic.APITimeoutError", K.TIMEOUT, "request_timeout", inner=True, of_model=True),
    row("openai.APIConnectionError anthropic.APIConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("anthropic.ContractSpendLimitReachedError anthropic.EnforcedSpendLimitReachedError", read=_QUOTA, of_model=True),
    row("anthropic.OrganizationOnHoldError", read=answered_as(verdict(K.PERMISSION_DENIED, "forbidden"))),
    row("openai.APIResponseValidationError anthropic.APIResponseValidationError", K.INVALID_OUTPUT, "unreadable_answer", NONE, domain=Domain.MODEL),
    row("openai.APIStatusError anthropic.APIStatusError", read=answered, of_model=True),
    row("openai.APIError anthropic.APIError", read=_by_answer_or_words, of_model=True),
    row("openai.APIError anthropic.APIError", K.MODEL_ERROR, "cut_stream", NONE, True, say=True),
    row("openai.LengthFinishReasonError", K.MODEL_ERROR, "output_limit", NONE),
    row("openai.ContentFilterFinishReasonError", K.MODEL_ERROR, "content_filter", NONE),
    row("openai.WebSocketConnectionClosedError", K.NETWORK, "connection_closed", context={"needs_reconnect": True}),
    row("openai.WebSocketQueueFullError", K.OVERLOADED, "queue_full"),
    row("anthropic.RetryableError", K.UNAVAILABLE, of_model=True),
    row("anthropic.CredentialsError", K.PERMISSION_DENIED, "unauthenticated", NONE, say=True),
    row("openai.OpenAIError anthropic.AnthropicError", K.PERMISSION_DENIED, "no_credentials", NONE, text=r"api_key|credentials|auth"),
    row("openai.OpenAIError anthropic.AnthropicError", K.INTERNAL, "client_misuse", say=True, weak=True),
)  # fmt: skip

_LITELLM = (
    row("litellm.Timeout", K.TIMEOUT, "request_timeout", inner=True, of_model=True),
    row("litellm.ContextWindowExceededError", read=_OVERFLOW),
    row("litellm.ContentPolicyViolationError litellm.RejectedRequestError litellm.GuardrailRaisedException", read=_FILTER),
    row("litellm.ContentPolicyViolationError litellm.GuardrailRaisedException litellm.BlockedPiiEntityError", K.MODEL_ERROR, "content_filter", NONE),
    row("litellm.BudgetExceededError litellm.PaymentRequiredError", K.QUOTA_EXHAUSTED, of_model=True),
    row("litellm.MidStreamFallbackError", K.MODEL_ERROR, "cut_stream", NONE, True),
    row("litellm.UnsupportedParamsError litellm.LiteLLMUnknownProvider", K.INVALID_ARGUMENT, "", NONE, say=True),
)  # fmt: skip

_OTHERS = (
    row("google.genai.APIError", read=answered, of_model=True),
    row("google.genai.UnknownFunctionCallArgumentError google.genai.UnsupportedFunctionError", K.INTERNAL, "client_misuse", say=True),
    row("google.genai.UnknownApiResponseError", K.INVALID_OUTPUT, "unreadable_answer", NONE, domain=Domain.MODEL),
    row("google.genai.ContinuationInterruptedError", K.MODEL_ERROR, "cut_stream", NONE, True),
    row("cohere.ApiError", read=answered, of_model=True),
    row("mistralai.NoResponseError", K.NETWORK, "connection_lost"),
    row("mistralai.ResponseValidationError", K.INVALID_OUTPUT, "unreadable_answer", NONE, domain=Domain.MODEL),
    row("mistralai.MistralError mistralai.SDKError", read=answered, of_model=True),
)  # fmt: skip

ROWS = _OPENAI + _LITELLM + _OTHERS
