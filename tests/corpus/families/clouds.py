"""Clouds and RPC. Labels: botocore's and google-api-core's retry tables, gRPC's status code guide."""

from __future__ import annotations

import importlib
import socket
from typing import Any

from tests.corpus.case import caught, http_response, table


def _aws(code: str, status: int, message: str = "said", operation: str = "PutItem") -> BaseException:
    from botocore.exceptions import ClientError

    return ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 4},
        },
        operation,
    )


def _boto(cls: str, **fields: Any) -> BaseException:
    return getattr(importlib.import_module("botocore.exceptions"), cls)(**fields)


def _gapi(name: str, message: str = "said") -> BaseException:
    return getattr(importlib.import_module("google.api_core.exceptions"), name)(message)


def _gapi_retry() -> BaseException:
    errors = importlib.import_module("google.api_core.exceptions")
    exc = errors.RetryError("Timeout of 60.0s exceeded", errors.ServiceUnavailable("down"))
    exc.__cause__ = exc.cause
    return exc


def _azure(cls_name: str, status: int | None = None, code: str = "", message: str = "said") -> BaseException:
    cls = getattr(importlib.import_module("azure.core.exceptions"), cls_name)
    if status is None:
        return cls(message)
    response = http_response(status, {"error": {"code": code, "message": message}}, method="POST")
    response.reason = "Said"
    return cls(message=message, response=response)


def _grpc(code: str, details: str = "said", trailers: tuple[tuple[str, str], ...] = ()) -> BaseException:
    import grpc
    from grpc.aio import AioRpcError, Metadata

    return AioRpcError(getattr(grpc.StatusCode, code), Metadata(), Metadata(*trailers), details=details)


def _grpc_real() -> BaseException:
    import grpc

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        return caught(lambda: channel.unary_unary("/x.Y/Z")(b"", timeout=3))


CASES = [
    *table("aws", [
        ("throttled", "rate_limited retry none", lambda: _aws("ThrottlingException", 400)),
        ("throughput", "rate_limited retry none", lambda: _aws("ProvisionedThroughputExceededException", 400)),
        ("request limit", "rate_limited retry none", lambda: _aws("RequestLimitExceeded", 503)),
        ("too many", "rate_limited retry none", lambda: _aws("TooManyRequestsException", 429)),
        ("slow down", "unavailable retry none", lambda: _aws("SlowDown", 503)),
        ("service unavailable", "unavailable retry maybe", lambda: _aws("ServiceUnavailable", 503)),
        ("internal", "unavailable retry maybe", lambda: _aws("InternalError", 500)),
        ("internal server", "unavailable retry maybe", lambda: _aws("InternalServerError", 500)),
        ("request timeout", "timeout retry maybe", lambda: _aws("RequestTimeout", 400)),
        ("access", "permission_denied no none", lambda: _aws("AccessDenied", 403)),
        ("access exception", "permission_denied no none", lambda: _aws("AccessDeniedException", 400)),
        ("expired token", "permission_denied no none", lambda: _aws("ExpiredToken", 400)),
        ("bad signature", "permission_denied no none", lambda: _aws("SignatureDoesNotMatch", 403)),
        ("unrecognized", "permission_denied no none", lambda: _aws("UnrecognizedClientException", 400)),
        ("no bucket", "not_found no none", lambda: _aws("NoSuchBucket", 404)),
        ("no key", "not_found no none", lambda: _aws("NoSuchKey", 404)),
        ("head 404", "not_found no none", lambda: _aws("404", 404)),
        ("resource", "not_found no none", lambda: _aws("ResourceNotFoundException", 400)),
        ("condition", "conflict no none", lambda: _aws("ConditionalCheckFailedException", 400)),
        ("in use", "conflict no none", lambda: _aws("ResourceInUseException", 400)),
        ("transaction conflict", "conflict retry none", lambda: _aws("TransactionConflictException", 400)),
        ("bucket exists", "conflict no none", lambda: _aws("BucketAlreadyExists", 409)),
        ("validation", "invalid_argument no none", lambda: _aws("ValidationException", 400)),
        ("parameter", "invalid_argument no none", lambda: _aws("InvalidParameterValue", 400)),
        ("unknown code", "invalid_argument no none", lambda: _aws("SomethingOdd", 400)),
        ("limit", "quota_exhausted no none", lambda: _aws("ServiceQuotaExceededException", 402)),
        ("bedrock model not ready", "unavailable retry none", lambda: _aws("ModelNotReadyException", 429)),
        ("bedrock too long", "model_error no none", lambda: _aws("ValidationException", 400, "Input is too long for requested model.")),
        ("endpoint", "network retry none", lambda: _boto("EndpointConnectionError", endpoint_url="https://x.example.test")),
        ("connect timeout", "timeout retry none", lambda: _boto("ConnectTimeoutError", endpoint_url="https://x.example.test")),
        ("read timeout", "timeout retry maybe", lambda: _boto("ReadTimeoutError", endpoint_url="https://x.example.test")),
        ("closed", "network retry maybe", lambda: _boto("ConnectionClosedError", endpoint_url="https://x.example.test")),
        ("proxy", "network retry none", lambda: _boto("ProxyConnectionError", proxy_url="http://p.example.test")),
        ("certificate", "unavailable no none", lambda: _boto("SSLError", endpoint_url="https://x.example.test", error="[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate")),
        ("no credentials", "permission_denied no none", lambda: _boto("NoCredentialsError")),
        ("no region", "unavailable no none", lambda: _boto("NoRegionError")),
        ("parameters", "invalid_argument no none", lambda: _boto("ParamValidationError", report="Missing required parameter in input: \"Bucket\"")),
        ("waiter", "timeout retry maybe", lambda: _boto("WaiterError", name="x", reason="Max attempts exceeded", last_response={})),
    ]),
    *table("google-api-core", [
        ("not found", "not_found no none", lambda: _gapi("NotFound")),
        ("exists", "conflict no none", lambda: _gapi("AlreadyExists")),
        ("conflict", "conflict no none", lambda: _gapi("Conflict")),
        ("aborted", "conflict retry none", lambda: _gapi("Aborted")),
        ("argument", "invalid_argument no none", lambda: _gapi("InvalidArgument")),
        ("precondition", "conflict no none", lambda: _gapi("FailedPrecondition")),
        ("permission", "permission_denied no none", lambda: _gapi("PermissionDenied")),
        ("forbidden", "permission_denied no none", lambda: _gapi("Forbidden")),
        ("unauthenticated", "permission_denied no none", lambda: _gapi("Unauthenticated")),
        ("exhausted", "rate_limited retry none", lambda: _gapi("ResourceExhausted")),
        ("too many", "rate_limited retry none", lambda: _gapi("TooManyRequests")),
        ("unavailable", "unavailable retry maybe", lambda: _gapi("ServiceUnavailable")),
        ("bad gateway", "unavailable retry maybe", lambda: _gapi("BadGateway")),
        ("internal", "unavailable retry maybe", lambda: _gapi("InternalServerError")),
        ("deadline", "timeout retry maybe", lambda: _gapi("DeadlineExceeded")),
        ("gateway timeout", "timeout retry maybe", lambda: _gapi("GatewayTimeout")),
        ("cancelled", "cancelled no maybe", lambda: _gapi("Cancelled")),
        ("data loss", "unavailable no maybe", lambda: _gapi("DataLoss")),
        ("unimplemented", "unavailable no none", lambda: _gapi("MethodNotImplemented")),
        ("retries used up", "unavailable retry maybe", _gapi_retry),
    ]),
    *table("azure-core", [
        ("not found", "not_found no none", lambda: _azure("ResourceNotFoundError", 404, "BlobNotFound")),
        ("exists", "conflict no none", lambda: _azure("ResourceExistsError", 409, "ContainerAlreadyExists")),
        ("modified", "conflict no none", lambda: _azure("ResourceModifiedError", 412, "ConditionNotMet")),
        ("auth", "permission_denied no none", lambda: _azure("ClientAuthenticationError", 401, "AuthenticationFailed")),
        ("auth without answer", "permission_denied no none", lambda: _azure("ClientAuthenticationError")),
        ("throttled", "rate_limited retry none", lambda: _azure("HttpResponseError", 429, "TooManyRequests")),
        ("busy", "unavailable retry none", lambda: _azure("HttpResponseError", 503, "ServerBusy")),
        ("timed out", "timeout retry maybe", lambda: _azure("HttpResponseError", 500, "OperationTimedOut")),
        ("bad request", "invalid_argument no none", lambda: _azure("HttpResponseError", 400, "InvalidQueryParameterValue")),
        ("not sent", "network retry none", lambda: _azure("ServiceRequestError", message="Failed to resolve host")),
        ("connect timeout", "timeout retry none", lambda: _azure("ServiceRequestTimeoutError")),
        ("answer lost", "network retry maybe", lambda: _azure("ServiceResponseError", message="Connection aborted")),
        ("read timeout", "timeout retry maybe", lambda: _azure("ServiceResponseTimeoutError")),
        ("decode", "invalid_output no maybe", lambda: _azure("DecodeError")),
    ]),
    *table("grpc", [
        ("refused for real", "network retry none", _grpc_real),
        ("unavailable", "unavailable retry maybe", lambda: _grpc("UNAVAILABLE", "Socket closed")),
        ("unavailable, not connected", "network retry none", lambda: _grpc("UNAVAILABLE", "failed to connect to all addresses; last error: ipv4:10.0.0.1:1: Connection refused")),
        ("deadline", "timeout retry maybe", lambda: _grpc("DEADLINE_EXCEEDED")),
        ("exhausted", "rate_limited retry none", lambda: _grpc("RESOURCE_EXHAUSTED")),
        ("aborted", "conflict retry none", lambda: _grpc("ABORTED")),
        ("not found", "not_found no none", lambda: _grpc("NOT_FOUND")),
        ("exists", "conflict no none", lambda: _grpc("ALREADY_EXISTS")),
        ("argument", "invalid_argument no none", lambda: _grpc("INVALID_ARGUMENT")),
        ("range", "invalid_argument no none", lambda: _grpc("OUT_OF_RANGE")),
        ("precondition", "conflict no none", lambda: _grpc("FAILED_PRECONDITION")),
        ("permission", "permission_denied no none", lambda: _grpc("PERMISSION_DENIED")),
        ("unauthenticated", "permission_denied no none", lambda: _grpc("UNAUTHENTICATED")),
        ("unimplemented", "unavailable no none", lambda: _grpc("UNIMPLEMENTED")),
        ("internal", "unavailable retry maybe", lambda: _grpc("INTERNAL")),
        ("data loss", "unavailable no maybe", lambda: _grpc("DATA_LOSS")),
        ("unknown", "unknown no maybe", lambda: _grpc("UNKNOWN")),
        ("cancelled", "cancelled no maybe", lambda: _grpc("CANCELLED")),
        ("pushback no", "unavailable no maybe", lambda: _grpc("UNAVAILABLE", "x", (("grpc-retry-pushback-ms", "-1"),))),
    ]),
]  # fmt: skip
