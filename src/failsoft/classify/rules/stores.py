"""Other stores: redis and valkey, pymongo, elasticsearch and opensearch."""

from __future__ import annotations

from typing import Any, Final

from failsoft.classify.rules.answers import answered
from failsoft.classify.rules.phrases import certificate
from failsoft.classify.rules.row import Context, row
from failsoft.classify.text import one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["ROWS"]

K, NONE, POSSIBLE, HUMAN = ErrorKind, Effect.NONE, Effect.POSSIBLE, Owner.HUMAN


def _certificate(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return certificate(text_of(exc))


_REDIS = (
    row("redis.AuthenticationError redis.AuthenticationWrongNumberOfArgsError", K.PERMISSION_DENIED, "unauthenticated", NONE),
    row("redis.AuthorizationError redis.NoPermissionError", K.PERMISSION_DENIED, "forbidden", NONE, say=True),
    row("redis.BusyLoadingError", K.UNAVAILABLE, "starting_up", NONE),
    row("redis.MaxConnectionsError", K.OVERLOADED, "pool_full"),
    row("redis.TimeoutError", K.TIMEOUT, "connect_timeout", NONE, text=r"connecting to"),
    row("redis.TimeoutError", K.TIMEOUT, "read_timeout"),
    row("redis.ConnectionError", read=_certificate),
    row("redis.ConnectionError", K.OVERLOADED, "pool_full", text=r"^too many connections|no connection available"),
    row("redis.ConnectionError", K.UNAVAILABLE, "too_many_connections", NONE, text=r"max number of clients"),
    row("redis.ConnectionError", K.PERMISSION_DENIED, "unauthenticated", NONE, text=r"NOAUTH|WRONGPASS|invalid username-password|invalid password"),
    row("redis.ConnectionError", K.NETWORK, "dns_failed", NONE, text=r"name or service not known|name resolution|getaddrinfo|nodename nor servname"),
    row("redis.ConnectionError", K.NETWORK, "connect_refused", NONE, text=r"error 111|connection refused|connect call failed"),
    row("redis.ConnectionError", K.NETWORK, "connect_failed", NONE, text=r"connecting to|connect to", inner=True),
    row("redis.ConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("redis.OutOfMemoryError", K.QUOTA_EXHAUSTED, "storage_full", NONE),
    row("redis.ReadOnlyError", K.UNAVAILABLE, "not_primary", NONE),
    row("redis.TryAgainError redis.ClusterDownError redis.MasterDownError redis.AskError", K.UNAVAILABLE, "cluster_changing", NONE),
    row("redis.SlotNotCoveredError", K.UNAVAILABLE, "cluster_changing", NONE),
    row("redis.WatchError", K.CONFLICT, "serialization_failure", NONE, True),
    row("redis.LockNotOwnedError", K.CONFLICT, "lock_lost", POSSIBLE),
    row("redis.LockError", K.CONFLICT, "lock_lost", POSSIBLE, text=r"release|unlocked|no longer|not owned|extend|reacquire", say=True),
    row("redis.LockError", K.CONFLICT, "lock_not_available", NONE, True),
    row("redis.ExecAbortError redis.DataError redis.CrossSlotTransactionError redis.ClusterCrossSlotError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("redis.ResponseError", K.PERMISSION_DENIED, "unauthenticated", NONE, text=r"NOAUTH|WRONGPASS"),
    row("redis.ResponseError", K.UNAVAILABLE, "overloaded", NONE, text=r"^(?:BUSY|LOADING|UNKILLABLE)\b|is busy running a script|max number of clients"),
    row("redis.ResponseError", K.QUOTA_EXHAUSTED, "storage_full", NONE, text=r"^OOM|used memory"),
    row("redis.ResponseError", K.UNAVAILABLE, "not_primary", NONE, text=r"^(?:READONLY|MISCONF|NOREPLICAS)"),
    row("redis.ResponseError", K.NOT_FOUND, "", NONE, text=r"no such (?:key|index)|NOGROUP|unknown index", say=True),
    row("redis.ResponseError redis.ModuleError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("redis.InvalidResponse", K.NETWORK, "bad_protocol"),
    row("redis.RedisClusterException", K.UNAVAILABLE, "cluster_changing", NONE),
    row("redis.RedisError", K.INTERNAL, "client_misuse", inner=True, say=True),
)  # fmt: skip

_MISSING, _INVALID = verdict(K.NOT_FOUND), verdict(K.INVALID_ARGUMENT)
_EXISTS = verdict(K.CONFLICT, "already_exists")
_STEPPED = verdict(K.UNAVAILABLE, "not_primary", NONE)
_MONGO_CODES: Final[dict[int, Verdict]] = {
    2: _INVALID, 9: _INVALID, 14: _INVALID, 15: _INVALID, 40: _INVALID, 121: verdict(K.INVALID_ARGUMENT, "constraint_violation"),
    17280: _INVALID, 40324: _INVALID, 26: _MISSING, 27: _MISSING, 43: _MISSING, 59: _INVALID, 48: _EXISTS, 11000: _EXISTS, 11001: _EXISTS,
    13: verdict(K.PERMISSION_DENIED, "forbidden"), 18: verdict(K.PERMISSION_DENIED, "unauthenticated"), 8000: verdict(K.PERMISSION_DENIED, "unauthenticated"),
    50: verdict(K.TIMEOUT, "statement_timeout"), 24: verdict(K.CONFLICT, "lock_timeout", NONE, True), 46: verdict(K.CONFLICT, "lock_timeout", NONE, True),
    112: verdict(K.CONFLICT, "serialization_failure", NONE, True), 251: verdict(K.CONFLICT, "serialization_failure", NONE, True),
    16500: verdict(K.RATE_LIMITED), 10107: _STEPPED, 13435: _STEPPED, 13436: _STEPPED, 189: _STEPPED, 91: verdict(K.UNAVAILABLE, "starting_up"),
    11600: verdict(K.UNAVAILABLE, "starting_up"), 11602: verdict(K.UNAVAILABLE, "not_primary"), 14031: verdict(K.QUOTA_EXHAUSTED, "disk_full"),
    64: verdict(K.TIMEOUT, "write_concern_timeout"), 10334: verdict(K.INVALID_ARGUMENT, "too_large"),
}  # fmt: skip


def _mongo(exc: Any, context: Context) -> Verdict | None:
    del context
    try:
        transient = exc.has_error_label("TransientTransactionError")
    except Exception:
        transient = False
    code = getattr(exc, "code", None)
    found = _MONGO_CODES.get(code) if isinstance(code, int) else None
    if transient:
        found = verdict(K.CONFLICT, "serialization_failure", NONE, True)
    return None if found is None else found.but(message=one_line(text_of(exc).split(", full error:")[0]))


_MONGO = (
    row("pymongo.ServerSelectionTimeoutError pymongo.AutoReconnect", read=_certificate),
    row("pymongo.ServerSelectionTimeoutError", K.NETWORK, "connect_failed", NONE),
    row("pymongo.WaitQueueTimeoutError", K.TIMEOUT, "pool_timeout", NONE),
    row("pymongo.NetworkTimeout", K.TIMEOUT, "read_timeout"),
    row("pymongo.NotPrimaryError", K.UNAVAILABLE, "not_primary", NONE),
    row("pymongo.AutoReconnect pymongo.ConnectionFailure", K.NETWORK, "connect_refused", NONE, text=r"connection refused"),
    row("pymongo.AutoReconnect pymongo.ConnectionFailure", K.NETWORK, "connection_lost", inner=True),
    row("pymongo.OperationFailure pymongo.DuplicateKeyError pymongo.WTimeoutError pymongo.ExecutionTimeout", read=_mongo),
    row("pymongo.DuplicateKeyError", K.CONFLICT, "already_exists", say=True),
    row("pymongo.WTimeoutError", K.TIMEOUT, "write_concern_timeout"),
    row("pymongo.ExecutionTimeout", K.TIMEOUT, "statement_timeout"),
    row("pymongo.CursorNotFound", K.NOT_FOUND, "cursor_lost", NONE),
    row("pymongo.WriteConcernError", K.UNAVAILABLE, "write_concern", POSSIBLE, False),
    row("pymongo.BulkWriteError pymongo.ClientBulkWriteException", K.CONFLICT, "partly_written", POSSIBLE),
    row("pymongo.OperationFailure", K.UNAVAILABLE, "database_error", POSSIBLE, False, say=True),
    row("pymongo.InvalidURI pymongo.ConfigurationError", K.UNAVAILABLE, "not_configured", NONE, False, owner=HUMAN),
    row("pymongo.DocumentTooLarge", K.INVALID_ARGUMENT, "too_large", NONE),
    row("bson.InvalidDocument bson.InvalidBSON bson.InvalidId pymongo.InvalidName", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("pymongo.CollectionInvalid", K.CONFLICT, "already_exists", say=True),
    row("pymongo.PyMongoError", K.INTERNAL, "client_misuse", inner=True, say=True),
)  # fmt: skip

_ELASTIC = (
    row("elasticsearch.ConnectionTimeout", K.TIMEOUT, "read_timeout"),
    row("elasticsearch.TlsError elasticsearch.ConnectionError", read=_certificate),
    row("elasticsearch.TlsError", K.NETWORK, "tls_failed", NONE),
    row("elasticsearch.ConnectionError", K.NETWORK, "connect_refused", NONE, text=r"connection refused"),
    row("elasticsearch.ConnectionError", K.NETWORK, "dns_failed", NONE, text=r"name resolution|name or service not known|failed to resolve"),
    row("elasticsearch.ConnectionError", K.NETWORK, "connect_failed", NONE, text=r"cannot connect|failed to establish a new connection"),
    row("elasticsearch.ConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("elasticsearch.SerializationError", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("elasticsearch.ApiError", read=answered),
    row("elasticsearch.BulkIndexError", K.CONFLICT, "partly_written", POSSIBLE),
    row("elasticsearch.TransportError", K.NETWORK, "connection_lost", inner=True),
)  # fmt: skip

ROWS = _REDIS + _MONGO + _ELASTIC
