"""Model providers. Labels: the providers' error pages and what their SDKs retry."""

from __future__ import annotations

import importlib
from typing import Any

from tests.corpus.case import http_response, table


def _lib(name: str) -> Any:
    import httpx

    module = importlib.import_module(f"{name}._exceptions")
    return getattr(module, "httpx2", httpx)


def _sdk(
    name: str, cls: str, status: int, error: dict[str, Any] | str, headers: dict[str, str] | None = None
) -> BaseException:
    """As the SDKs do it: openai hands on the inner object, anthropic the whole body."""
    sdk = importlib.import_module(name)
    body = (
        error
        if isinstance(error, str)
        else {"error": error, **({"type": "error"} if name == "anthropic" else {})}
    )
    response = http_response(status, body, headers, method="POST", lib=_lib(name))
    given = body if name == "anthropic" or isinstance(body, str) else error
    return getattr(sdk, cls)(f"Error code: {status} - {body}", response=response, body=given)


def _request(name: str) -> Any:
    return _lib(name).Request("POST", "https://api.example.test/v1/x")


def _connection(name: str, cause: str = "", lib: str = "httpx") -> BaseException:
    sdk = importlib.import_module(name)
    exc = sdk.APIConnectionError(request=_request(name))
    if cause:
        exc.__cause__ = getattr(importlib.import_module(lib), cause)("x")
    return exc


def _time(name: str, cause: str = "") -> BaseException:
    exc = importlib.import_module(name).APITimeoutError(request=_request(name))
    if cause:
        exc.__cause__ = getattr(importlib.import_module("httpx"), cause)("")
    return exc


def _openai(
    status: int,
    cls: str,
    message: str,
    code: str | None = None,
    type: str = "invalid_request_error",
    headers: Any = None,
) -> BaseException:
    return _sdk(
        "openai", cls, status, {"message": message, "type": type, "param": None, "code": code}, headers
    )


def _claude(status: int, cls: str, type: str, message: str, headers: Any = None) -> BaseException:
    return _sdk("anthropic", cls, status, {"type": type, "message": message}, headers)


def _genai(status: int, word: str, message: str, details: list[Any] | None = None) -> BaseException:
    from google.genai import errors

    cls = errors.ServerError if status >= 500 else errors.ClientError
    return cls(
        status, {"error": {"code": status, "status": word, "message": message, "details": details or []}}
    )


def _violation(quota: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}


def _cohere(cls: str, body: Any) -> BaseException:
    errors = importlib.import_module("cohere.errors")
    return getattr(errors, cls)(body)


def _mistral(status: int, body: str) -> BaseException:
    errors = importlib.import_module("mistralai.client.errors")
    return errors.SDKError("API error occurred", http_response(status, body, method="POST"), body)


def _litellm(cls: str, message: str) -> BaseException:
    errors = importlib.import_module("litellm.exceptions")
    return getattr(errors, cls)(message=message, model="m", llm_provider="p")


CASES = [
    *table("openai", [
        ("rate limit", "rate_limited retry none", lambda: _openai(429, "RateLimitError", "Rate limit reached for m on tokens per min (TPM): Limit 30000. Please try again in 1.2s.", "rate_limit_exceeded", "tokens", {"x-ratelimit-reset-tokens": "1.2s"})),
        ("no quota", "quota_exhausted no none", lambda: _openai(429, "RateLimitError", "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota")),
        ("requests per day", "quota_exhausted no none", lambda: _openai(429, "RateLimitError", "Rate limit reached for m on requests per day (RPD): Limit 200, Used 200.", "rate_limit_exceeded", "requests")),
        ("hard limit", "quota_exhausted no none", lambda: _openai(400, "BadRequestError", "Billing hard limit has been reached", "billing_hard_limit_reached")),
        ("context", "model_error no none", lambda: _openai(400, "BadRequestError", "This model's maximum context length is 8192 tokens.", "context_length_exceeded")),
        ("content policy", "model_error no none", lambda: _openai(400, "BadRequestError", "Your request was rejected by the safety system.", "content_policy_violation")),
        ("azure filter", "model_error no none", lambda: _openai(400, "BadRequestError", "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "content_filter", "")),
        ("bad parameter", "invalid_argument no none", lambda: _openai(400, "BadRequestError", "Unsupported parameter: 'max_tokens'", "unsupported_parameter")),
        ("bad key", "permission_denied no none", lambda: _openai(401, "AuthenticationError", "Incorrect API key provided", "invalid_api_key")),
        ("region", "permission_denied no none", lambda: _openai(403, "PermissionDeniedError", "Country, region, or territory not supported", "unsupported_country_region_territory", "request_forbidden")),
        ("model missing", "not_found no none", lambda: _openai(404, "NotFoundError", "The model `x` does not exist", "model_not_found")),
        ("conflict", "conflict no none", lambda: _openai(409, "ConflictError", "conflict")),
        ("unprocessable", "invalid_argument no none", lambda: _openai(422, "UnprocessableEntityError", "bad")),
        ("server", "unavailable retry maybe", lambda: _openai(500, "InternalServerError", "The server had an error", None, "server_error")),
        ("unavailable", "unavailable retry maybe", lambda: _openai(503, "InternalServerError", "Service Unavailable", None, "server_error")),
        ("overloaded", "unavailable retry none", lambda: _openai(503, "InternalServerError", "The engine is currently overloaded, please try again later", None, "server_error")),
        ("gateway", "timeout retry maybe", lambda: _sdk("openai", "InternalServerError", 504, "<html><title>504 Gateway Time-out</title></html>")),
        ("timeout", "timeout retry maybe", lambda: _time("openai")),
        ("connect timeout", "timeout retry none", lambda: _time("openai", "ConnectTimeout")),
        ("pool timeout", "timeout retry none", lambda: _time("openai", "PoolTimeout")),
        ("connection", "network retry maybe", lambda: _connection("openai")),
        ("refused", "network retry none", lambda: _connection("openai", "ConnectError")),
        ("broke", "network retry maybe", lambda: _connection("openai", "ReadError")),
        ("stream event", "unavailable retry maybe", lambda: importlib.import_module("openai").APIError("x", _request("openai"), body={"type": "server_error", "message": "The server had an error while processing your request", "code": None})),
        ("stream event rate", "rate_limited retry none", lambda: importlib.import_module("openai").APIError("x", _request("openai"), body={"type": "tokens", "message": "Rate limit reached", "code": "rate_limit_exceeded"})),
        ("no key given", "permission_denied no none", lambda: importlib.import_module("openai").OpenAIError("The api_key client option must be set either by passing api_key to the client")),
        ("content filter stop", "model_error no none", lambda: importlib.import_module("openai").ContentFilterFinishReasonError()),
        ("answer breaks the schema", "invalid_output no none", lambda: importlib.import_module("openai").APIResponseValidationError(http_response(200, {}, lib=_lib("openai")), None)),
    ]),
    *table("anthropic", [
        ("rate limit", "rate_limited retry none", lambda: _claude(429, "RateLimitError", "rate_limit_error", "This request would exceed your organization's rate limit", {"retry-after": "12"})),
        ("overloaded", "unavailable retry none", lambda: _claude(529, "OverloadedError", "overloaded_error", "Overloaded")),
        ("overloaded in a stream", "unavailable retry none", lambda: _claude(200, "APIStatusError", "overloaded_error", "Overloaded")),
        ("server error in a stream", "unavailable retry maybe", lambda: _claude(200, "APIStatusError", "api_error", "Internal server error")),
        ("server", "unavailable retry maybe", lambda: _claude(500, "InternalServerError", "api_error", "Internal server error")),
        ("timeout in the service", "timeout retry maybe", lambda: _claude(504, "GatewayTimeoutError", "timeout_error", "The request timed out")),
        ("prompt too long", "model_error no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
        ("max_tokens and input", "model_error no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
        ("credit", "quota_exhausted no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "Your credit balance is too low to access the API.")),
        ("usage limit", "quota_exhausted no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "You have reached your specified API usage limits. Your usage limit is exceeded.")),
        ("billing", "quota_exhausted no none", lambda: _claude(402, "PaymentRequiredError", "billing_error", "payment is due")),
        ("bad request", "invalid_argument no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "messages: at least one message is required")),
        ("filter", "model_error no none", lambda: _claude(400, "BadRequestError", "invalid_request_error", "Output blocked by content filtering policy")),
        ("key", "permission_denied no none", lambda: _claude(401, "AuthenticationError", "authentication_error", "invalid x-api-key")),
        ("permission", "permission_denied no none", lambda: _claude(403, "PermissionDeniedError", "permission_error", "no access")),
        ("not found", "not_found no none", lambda: _claude(404, "NotFoundError", "not_found_error", "model: x")),
        ("too large", "invalid_argument no none", lambda: _claude(413, "ContentTooLargeError", "request_too_large", "Request exceeds the maximum size")),
        ("timeout", "timeout retry maybe", lambda: _time("anthropic")),
        ("connect timeout", "timeout retry none", lambda: _time("anthropic", "ConnectTimeout")),
        ("connection", "network retry maybe", lambda: _connection("anthropic")),
        ("certificate", "unavailable no none", lambda: _tls("anthropic")),
        ("spend limit", "quota_exhausted no none", lambda: _claude(429, "ContractSpendLimitReachedError", "rate_limit_error", "spend limit reached")),
        ("CDN page", "unavailable retry maybe", lambda: _sdk("anthropic", "InternalServerError", 520, "<html>520</html>")),
    ]),
    *table("google-genai", [
        ("per minute", "rate_limited retry none", lambda: _genai(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric", [_violation("GenerateRequestsPerMinutePerProjectPerModel")])),
        ("per day", "quota_exhausted no none", lambda: _genai(429, "RESOURCE_EXHAUSTED", "quota", [_violation("GenerateRequestsPerDayPerProjectPerModel")])),
        ("bare 429", "rate_limited retry none", lambda: _genai(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")),
        ("overloaded", "unavailable retry none", lambda: _genai(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")),
        ("internal", "unavailable retry maybe", lambda: _genai(500, "INTERNAL", "An internal error has occurred.")),
        ("deadline", "timeout retry maybe", lambda: _genai(504, "DEADLINE_EXCEEDED", "Deadline expired")),
        ("argument", "invalid_argument no none", lambda: _genai(400, "INVALID_ARGUMENT", "Unknown name 'x'")),
        ("key", "permission_denied no none", lambda: _genai(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
        ("permission", "permission_denied no none", lambda: _genai(403, "PERMISSION_DENIED", "denied")),
        ("model", "not_found no none", lambda: _genai(404, "NOT_FOUND", "models/x is not found")),
        ("tokens", "model_error no none", lambda: _genai(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")),
        ("location", "conflict no none", lambda: _genai(400, "FAILED_PRECONDITION", "User location is not supported for the API use.")),
    ]),
    *table("cohere", [
        ("rate", "rate_limited retry none", lambda: _cohere("TooManyRequestsError", {"message": "too many requests"})),
        ("bad", "invalid_argument no none", lambda: _cohere("BadRequestError", {"message": "invalid type"})),
        ("key", "permission_denied no none", lambda: _cohere("UnauthorizedError", {"message": "invalid api token"})),
        ("server", "unavailable retry maybe", lambda: _cohere("InternalServerError", {"message": "internal"})),
        ("unavailable", "unavailable retry maybe", lambda: _cohere("ServiceUnavailableError", {"message": "no"})),
        ("not found", "not_found no none", lambda: _cohere("NotFoundError", {"message": "model not found"})),
        ("gateway", "timeout retry maybe", lambda: _cohere("GatewayTimeoutError", {"message": "slow"})),
    ]),
    *table("mistral", [
        ("rate", "rate_limited retry none", lambda: _mistral(429, '{"message": "Requests rate limit exceeded"}')),
        ("capacity", "rate_limited retry none", lambda: _mistral(429, '{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","code":"3505"}')),
        ("key", "permission_denied no none", lambda: _mistral(401, '{"message":"Unauthorized"}')),
        ("server", "unavailable retry maybe", lambda: _mistral(500, '{"message":"Service unavailable."}')),
        ("validation", "invalid_argument no none", lambda: _mistral(422, '{"detail":[{"loc":["body","model"],"msg":"Field required","type":"missing"}]}')),
    ]),
    *table("litellm", [
        ("rate", "rate_limited retry none", lambda: _litellm("RateLimitError", "OpenAIException - Rate limit reached")),
        ("context", "model_error no none", lambda: _litellm("ContextWindowExceededError", "too long")),
        ("policy", "model_error no none", lambda: _litellm("ContentPolicyViolationError", "no")),
        ("timeout", "timeout retry maybe", lambda: _litellm("Timeout", "Request timed out")),
        ("key", "permission_denied no none", lambda: _litellm("AuthenticationError", "bad key")),
        ("unavailable", "unavailable retry maybe", lambda: _litellm("ServiceUnavailableError", "down")),
        ("not found", "not_found no none", lambda: _litellm("NotFoundError", "no model")),
        ("bad", "invalid_argument no none", lambda: _litellm("BadRequestError", "bad")),
        ("budget", "quota_exhausted no none", lambda: importlib.import_module("litellm.exceptions").BudgetExceededError(10.0, 5.0)),
    ]),
]  # fmt: skip


def _tls(name: str) -> BaseException:
    import ssl

    import httpx

    exc = _connection(name)
    outer = httpx.ConnectError(
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1)"
    )
    outer.__cause__ = ssl.SSLCertVerificationError(1, str(outer))
    exc.__cause__ = outer
    return exc
