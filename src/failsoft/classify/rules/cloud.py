"""Clouds and RPC: botocore and boto3, google-api-core, google-auth, azure-core, grpc."""

from __future__ import annotations

from typing import Any, Final

from failsoft.classify.hints import retry_after
from failsoft.classify.rules.answers import answered, answered_as
from failsoft.classify.rules.phrases import certificate
from failsoft.classify.rules.row import Context, row
from failsoft.classify.sentences import sentence
from failsoft.classify.text import one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["ROWS"]

K, NONE, POSSIBLE, HUMAN = ErrorKind, Effect.NONE, Effect.POSSIBLE, Owner.HUMAN
_RACE = verdict(K.CONFLICT, "serialization_failure", NONE, True)


def _certificate(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return certificate(text_of(exc))


_AWS = (
    row("botocore.ClientError botocore.EventStreamError", read=answered),
    row("botocore.SSLError", read=_certificate),
    row("botocore.ConnectTimeoutError", K.TIMEOUT, "connect_timeout", NONE),
    row("botocore.EndpointConnectionError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("botocore.ProxyConnectionError", K.NETWORK, "proxy_failed", NONE),
    row("botocore.ReadTimeoutError", K.TIMEOUT, "read_timeout"),
    row("botocore.SSLError", K.NETWORK, "tls_hiccup", inner=True),
    row("botocore.ConnectionClosedError botocore.ResponseStreamingError botocore.IncompleteReadError", K.NETWORK, "connection_lost"),
    row("botocore.HTTPClientError botocore.ConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("botocore.NoCredentialsError botocore.PartialCredentialsError botocore.CredentialRetrievalError", K.PERMISSION_DENIED, "no_credentials", NONE),
    row("botocore.NoAuthTokenError botocore.TokenRetrievalError botocore.SSOError botocore.LoginError", K.PERMISSION_DENIED, "no_credentials", NONE),
    row("botocore.ParamValidationError botocore.ValidationError botocore.MissingParametersError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("botocore.InvalidExpressionError botocore.PaginationError botocore.OperationNotPageableError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("botocore.ProfileNotFound botocore.NoRegionError botocore.ConfigNotFound botocore.ConfigParseError botocore.UnknownServiceError", K.UNAVAILABLE, "not_configured", NONE, False, say=True, owner=HUMAN),
    row("botocore.UnknownRegionError botocore.InvalidConfigError botocore.EndpointProviderError", K.UNAVAILABLE, "not_configured", NONE, False, say=True, owner=HUMAN),
    row("botocore.WaiterError", K.TIMEOUT, "not_ready_in_time", POSSIBLE, text=r"max attempts exceeded", say=True),
    row("botocore.WaiterError", K.UNAVAILABLE, "terminal_state", POSSIBLE, False, say=True),
    row("botocore.ChecksumError botocore.FlexibleChecksumError", K.INVALID_OUTPUT, "checksum", POSSIBLE),
    row("botocore.CapacityNotAvailableError", K.RATE_LIMITED, "", NONE),
    row("botocore.BotoCoreError", K.INTERNAL, "client_misuse", say=True),
    row("s3transfer.RetriesExceededError boto3.S3UploadFailedError", K.UNAVAILABLE, "retries_exhausted", inner=True, say=True),
)  # fmt: skip

_GOOGLE = (
    row("google.api_core.Aborted", read=answered_as(_RACE)),
    row("google.api_core.AlreadyExists", read=answered_as(verdict(K.CONFLICT, "already_exists"))),
    row("google.api_core.FailedPrecondition", read=answered_as(verdict(K.CONFLICT, "failed_precondition"))),
    row("google.api_core.Cancelled", read=answered_as(verdict(K.CANCELLED))),
    row("google.api_core.DeadlineExceeded", read=answered_as(verdict(K.TIMEOUT, "deadline_exceeded"))),
    row("google.api_core.DataLoss", read=answered_as(verdict(K.UNAVAILABLE, "data_loss", POSSIBLE, False))),
    row("google.api_core.RetryError", K.TIMEOUT, "retries_exhausted", transparent=True),
    row("google.api_core.GoogleAPICallError", read=answered),
    row("google.api_core.GoogleAPIError", K.INTERNAL, "client_misuse", say=True),
    row("google.auth.TransportError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("google.auth.RefreshError google.auth.DefaultCredentialsError google.auth.GoogleAuthError", K.PERMISSION_DENIED, "unauthenticated", NONE),
)  # fmt: skip

_AZURE = (
    row("azure.core.ServiceRequestTimeoutError", K.TIMEOUT, "connect_timeout", NONE),
    row("azure.core.ServiceRequestError", read=_certificate),
    row("azure.core.ServiceRequestError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("azure.core.ServiceResponseTimeoutError", K.TIMEOUT, "read_timeout"),
    row("azure.core.IncompleteReadError azure.core.ServiceResponseError", K.NETWORK, "connection_lost"),
    row("azure.core.DecodeError azure.core.DeserializationError", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("azure.core.TooManyRedirectsError", K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False),
    row("azure.core.HttpResponseError azure.core.ClientAuthenticationError azure.core.ResourceNotFoundError", read=answered),
    row("azure.core.ResourceExistsError azure.core.ResourceModifiedError", read=answered),
    row("azure.core.ClientAuthenticationError azure.identity.CredentialUnavailableError", K.PERMISSION_DENIED, "unauthenticated", NONE),
    row("azure.core.ResourceNotFoundError", K.NOT_FOUND, say=True),
    row("azure.core.ResourceExistsError", K.CONFLICT, "already_exists", say=True),
    row("azure.core.ResourceModifiedError", K.CONFLICT, "precondition_failed"),
    row("azure.core.SerializationError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("azure.core.AzureError", K.UNAVAILABLE, "", POSSIBLE, False, inner=True, say=True),
)  # fmt: skip

# gRPC status codes; UNAVAILABLE "is not always safe to retry" (grpc.io, status codes).
_GRPC: Final[dict[str, Verdict]] = {
    "CANCELLED": verdict(K.CANCELLED),
    "UNKNOWN": verdict(K.UNKNOWN, "grpc_unknown"),
    "INVALID_ARGUMENT": verdict(K.INVALID_ARGUMENT),
    "DEADLINE_EXCEEDED": verdict(K.TIMEOUT, "deadline_exceeded"),
    "NOT_FOUND": verdict(K.NOT_FOUND),
    "ALREADY_EXISTS": verdict(K.CONFLICT, "already_exists"),
    "PERMISSION_DENIED": verdict(K.PERMISSION_DENIED, "forbidden"),
    "RESOURCE_EXHAUSTED": verdict(K.RATE_LIMITED),
    "FAILED_PRECONDITION": verdict(K.CONFLICT, "failed_precondition"),
    "ABORTED": _RACE,
    "OUT_OF_RANGE": verdict(K.INVALID_ARGUMENT, "out_of_range"),
    "UNIMPLEMENTED": verdict(K.UNAVAILABLE, "not_implemented", NONE, False),
    "INTERNAL": verdict(K.UNAVAILABLE, "grpc_internal"),
    "UNAVAILABLE": verdict(K.UNAVAILABLE, "grpc_unavailable"),
    "DATA_LOSS": verdict(K.UNAVAILABLE, "data_loss", POSSIBLE, False),
    "UNAUTHENTICATED": verdict(K.PERMISSION_DENIED, "unauthenticated"),
}
_UNSENT = (
    "failed to connect to all addresses",
    "connection refused",
    "name resolution",
    "dns resolution failed",
)


def _grpc(exc: Any, context: Context) -> Verdict | None:
    try:
        name, details = exc.code().name, exc.details() or ""
    except Exception:
        return None
    found = _GRPC.get(name)
    if found is None:
        return None
    if name == "UNAVAILABLE" and any(words in details.lower() for words in _UNSENT):
        found = certificate(details) or verdict(K.NETWORK, "connect_failed", NONE)
    elif name == "RESOURCE_EXHAUSTED" and "per day" in details.lower():
        found = verdict(K.QUOTA_EXHAUSTED, "daily_quota")
    said = one_line(details, 180)
    shown = found.message or sentence(found.reason, found.kind)
    if said and found.kind != K.NETWORK and not found.message:
        found = found.but(message=f"{shown} The service says: {said}")
    hint = retry_after(None, details, now=context.now, exc=exc)
    if hint.should_retry is False:
        found = found.but(retryable=False)
    return found.but(retry_after_s=hint.retry_after_s) if found.retryable else found


_RPC = (
    row("grpc.RpcError", read=_grpc),
    row("grpc.RpcError", K.UNAVAILABLE, "grpc_unavailable", say=True),
    row("grpc.FutureTimeoutError", K.TIMEOUT, "request_timeout"),
    row("grpc.FutureCancelledError", K.CANCELLED),
)

ROWS = _AWS + _GOOGLE + _AZURE + _RPC
