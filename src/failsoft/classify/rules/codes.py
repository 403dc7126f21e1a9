"""What the machine codes of providers and services mean, whatever the status they came with.

rules of this file
  code      compared without case, `_`, `-`, `.` and blanks
  SPECIFIC  wins over the HTTP status
  GENERAL   says no more than a status does; counts only where there is no error status
"""

from __future__ import annotations

from typing import Final

from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["GENERAL", "SPECIFIC", "general", "specific"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

_RATE = verdict(K.RATE_LIMITED)
_QUOTA = verdict(K.QUOTA_EXHAUSTED)
_DAY = verdict(K.QUOTA_EXHAUSTED, "daily_quota")
_BUSY = verdict(K.UNAVAILABLE, "overloaded", NONE)
_DOWN = verdict(K.UNAVAILABLE)
_OVERFLOW = verdict(K.MODEL_ERROR, "context_overflow", owner=Owner.MODEL)
_FILTER = verdict(K.MODEL_ERROR, "content_filter", owner=Owner.MODEL)
_LOGIN = verdict(K.PERMISSION_DENIED, "unauthenticated")
_DENIED = verdict(K.PERMISSION_DENIED, "forbidden")
_MISSING = verdict(K.NOT_FOUND)
_EXISTS = verdict(K.CONFLICT, "already_exists")
_CONFLICT = verdict(K.CONFLICT)
_RACE = verdict(K.CONFLICT, "serialization_failure", retryable=True)
_INVALID = verdict(K.INVALID_ARGUMENT)
_LARGE = verdict(K.INVALID_ARGUMENT, "too_large")
_TIMEOUT = verdict(K.TIMEOUT, "request_timeout")
_DECLINED = verdict(K.PERMISSION_DENIED, "card_declined")
_LOST = verdict(K.UNAVAILABLE, "session_lost", NONE, context={"needs_reconnect": True})

SPECIFIC: Final[dict[str, tuple[Verdict, str]]] = {
    # group: (meaning, codes)
    "quota": (
        _QUOTA,
        "insufficient_quota billing_hard_limit_reached billing_not_active billing_error credit_balance_too_low "
        "exceeded_current_quota_error quota_exceeded LimitExceededException ServiceQuotaExceededException "
        "insufficient_credits account_deactivated spend_limit_reached spending_limit_reached budget_exceeded "
        "payment_required quotaExceeded usage_limit_reached monthly_limit_reached ERR_QUOTA_EXCEEDED",
    ),
    "daily": (_DAY, "dailyLimitExceededUnreg daily_limit_exceeded rate_limit_exceeded_daily"),
    "rate": (
        _RATE,
        "rate_limit_error rate_limit_exceeded rate_limited ratelimited RateLimitReached too_many_requests TooManyRequests "
        "TooManyRequestsException Throttling ThrottlingException ThrottledException RequestThrottled "
        "RequestThrottledException RequestLimitExceeded BandwidthLimitExceeded ProvisionedThroughputExceededException "
        "EC2ThrottledException PriorRequestNotComplete userRateLimitExceeded "
        "rateLimitExceeded rate_limit message_limit_exceeded API_RATE_LIMIT "
        "tokens_per_minute_exceeded",
    ),
    "busy": (
        _BUSY,
        "overloaded_error overloaded engine_overloaded engine_overloaded_error SlowDown server_overloaded "
        "model_overloaded ModelNotReadyException ServerBusy slow_down server_busy",
    ),
    "down": (
        _DOWN,
        "ServiceUnavailable ServiceUnavailableException InternalFailure InternalServerException InternalServerError "
        "api_connection_error fatal_error internal_error service_unavailable",
    ),
    "overflow": (
        _OVERFLOW,
        "context_length_exceeded string_above_max_length model_context_window_exceeded max_tokens_exceeded "
        "input_too_long prompt_too_long exceed_context_size_error context_window_exceeded",
    ),
    "filter": (
        _FILTER,
        "content_filter content_policy_violation ResponsibleAIPolicyViolation content_filtered safety prohibited_content "
        "moderation_blocked image_content_policy_violation sentinel_block",
    ),
    "login": (
        _LOGIN,
        "authentication_error invalid_api_key invalid_auth not_authed token_expired token_revoked account_inactive "
        "InvalidClientTokenId UnrecognizedClientException ExpiredToken ExpiredTokenException SignatureDoesNotMatch "
        "InvalidSignatureException IncompleteSignature MissingAuthenticationToken AuthFailure InvalidAccessKeyId "
        "InvalidToken RequestExpired API_KEY_INVALID incorrect_api_key invalid_authentication_error AuthenticationFailed "
        "InvalidAuthenticationToken unauthenticated api_key_expired invalid_grant invalid_client ACCESS_TOKEN_EXPIRED",
    ),
    "denied": (
        _DENIED,
        "permission_error AccessDenied AccessDeniedException UnauthorizedOperation UnauthorizedAccess OptInRequired "
        "AuthorizationError AuthorizationFailed missing_scope no_permission not_allowed_token_type restricted_action "
        "PERMISSION_DENIED insufficient_permissions SERVICE_DISABLED AllAccessDisabled not_in_channel is_archived "
        "ekm_access_denied cannot_dm_bot user_not_authorized unsupported_country_region_territory",
    ),
    "missing": (
        _MISSING,
        "not_found_error model_not_found NoSuchKey NoSuchBucket NoSuchUpload NoSuchEntity NoSuchHostedZone "
        "ResourceNotFoundException ResourceNotFound BlobNotFound ContainerNotFound DBInstanceNotFound "
        "InvalidInstanceID.NotFound channel_not_found user_not_found users_not_found message_not_found "
        "file_not_found thread_not_found resource_missing index_not_found_exception NOT_FOUND deployment_not_found "
        "DeploymentNotFound QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue document_missing_exception",
    ),
    "exists": (
        _EXISTS,
        "already_exists AlreadyExists AlreadyExistsException BucketAlreadyExists BucketAlreadyOwnedByYou "
        "EntityAlreadyExists ResourceAlreadyExistsException BlobAlreadyExists ContainerAlreadyExists "
        "resource_already_exists resource_already_exists_exception name_taken already_in_channel already_reacted",
    ),
    "conflict": (
        _CONFLICT,
        "ConditionalCheckFailedException ConditionNotMet PreconditionFailed ResourceInUseException ConflictException "
        "version_conflict_engine_exception idempotency_error FAILED_PRECONDITION "
        "IdempotentParameterMismatch IncorrectInstanceState",
    ),
    "race": (
        _RACE,
        "TransactionConflictException TransactionConflict OperationAborted idempotency_key_in_use lock_timeout ABORTED",
    ),
    "invalid": (
        _INVALID,
        "ValidationException ValidationError InvalidParameterValue InvalidParameterCombination MissingParameter "
        "InvalidParameter MalformedPolicyDocument InvalidRequestException SerializationException InvalidArgument "
        "unsupported_parameter unsupported_value invalid_value missing_required_parameter unknown_parameter "
        "parameter_missing parameter_invalid_empty invalid_number incorrect_number parameter_unknown no_text "
        "invalid_blocks invalid_arguments msg_too_long parsing_exception query_shard_exception "
        "mapper_parsing_exception illegal_argument_exception BAD_USER_INPUT GRAPHQL_VALIDATION_FAILED "
        "GRAPHQL_PARSE_FAILED invalid_prompt invalid_image invalid_json",
    ),
    "large": (
        _LARGE,
        "request_too_large EntityTooLarge MaxMessageLengthExceeded RequestEntityTooLarge RequestBodyTooLarge "
        "content_too_large payload_too_large",
    ),
    "timeout": (
        _TIMEOUT,
        "timeout_error RequestTimeout RequestTimeoutException ModelTimeoutException OperationTimedOut "
        "DEADLINE_EXCEEDED request_timeout gateway_timeout",
    ),
    "declined": (
        _DECLINED,
        "card_declined card_error insufficient_funds expired_card incorrect_cvc lost_card stolen_card do_not_honor "
        "generic_decline fraudulent",
    ),
    "session": (_LOST, "session_not_found session_terminated session_expired"),
}

GENERAL: Final[dict[str, tuple[Verdict, str]]] = {
    "invalid": (_INVALID, "invalid_request_error INVALID_ARGUMENT OUT_OF_RANGE BadRequest invalid_request Invalid -32602"),
    "limit": (_RATE, "RESOURCE_EXHAUSTED"),
    "down": (_DOWN, "api_error server_error UNAVAILABLE INTERNAL Internal DATA_LOSS INTERNAL_SERVER_ERROR -32603"),
    "timeout": (_TIMEOUT, "Timeout timeout"),
    "denied": (_DENIED, "Forbidden FORBIDDEN"),
    "login": (_LOGIN, "Unauthorized UNAUTHORIZED"),
    "missing": (_MISSING, "NotFound -32601 -32002"),
    "conflict": (_CONFLICT, "Conflict"),
}  # fmt: skip

_STRIP = str.maketrans("", "", "_-. ")


def _fold(code: str) -> str:
    return code if code.startswith("-") else code.translate(_STRIP).lower()


def _index(groups: dict[str, tuple[Verdict, str]]) -> dict[str, Verdict]:
    return {_fold(code): meaning for meaning, codes in groups.values() for code in codes.split()}


_SPECIFIC, _GENERAL = _index(SPECIFIC), _index(GENERAL)


def specific(code: str) -> Verdict | None:
    """What a code means, if it says more than a status."""
    if code.startswith("quota:"):
        window = code.lower()
        if "perday" in window or "permonth" in window:
            return _DAY
        return _RATE if "perminute" in window or "persecond" in window else None
    return _SPECIFIC.get(_fold(code))


def general(code: str) -> Verdict | None:
    """What a code means that says no more than a status."""
    return _GENERAL.get(_fold(code))
