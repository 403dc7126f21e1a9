"""Redis, MongoDB, Elasticsearch. Labels: the servers' error documents and the drivers' retryable lists."""

from __future__ import annotations

import importlib
import socket
from typing import Any

from tests.corpus.case import caught, table


def _redis(name: str, message: str = "said") -> BaseException:
    return getattr(importlib.import_module("redis.exceptions"), name)(message)


def _closed() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _redis_down() -> BaseException:
    redis = importlib.import_module("redis")
    retry = importlib.import_module("redis.retry").Retry(
        importlib.import_module("redis.backoff").NoBackoff(), 0
    )
    return caught(lambda: redis.Redis(port=_closed(), retry=retry).ping())


def _mongo(name: str, message: str = "said", *args: Any) -> BaseException:
    return getattr(importlib.import_module("pymongo.errors"), name)(message, *args)


def _mongo_down() -> BaseException:
    pymongo = importlib.import_module("pymongo")
    with pymongo.MongoClient("127.0.0.1", _closed(), serverSelectionTimeoutMS=50) as client:
        return caught(lambda: client.x.command("ping"))


def _elastic(name: str, status: int, kind: str = "x", reason: str = "said") -> BaseException:
    es = importlib.import_module("elasticsearch")
    meta = importlib.import_module("elastic_transport").ApiResponseMeta(
        status=status, http_version="1.1", headers={}, duration=0.1, node=None
    )
    body = {
        "error": {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason},
        "status": status,
    }
    return getattr(es, name)(kind, meta, body)


def _transport(name: str, inner: BaseException) -> BaseException:
    """As the transport does it: the client's exception beside the message."""
    return getattr(importlib.import_module("elastic_transport"), name)(str(inner), errors=(inner,))


def _urllib3(name: str, *args: Any) -> BaseException:
    return getattr(importlib.import_module("urllib3.exceptions"), name)(*args)


CASES = [
    *table("redis", [
        ("refused for real", "network retry none", _redis_down),
        ("refused", "network retry none", lambda: _redis("ConnectionError", "Error 111 connecting to localhost:6379. Connection refused.")),
        ("name", "network retry none", lambda: _redis("ConnectionError", "Error -2 connecting to nohost:6379. Name or service not known.")),
        ("closed by the server", "network retry maybe", lambda: _redis("ConnectionError", "Connection closed by server.")),
        ("reset while reading", "network retry maybe", lambda: _redis("ConnectionError", "Error while reading from localhost:6379 : (104, 'Connection reset by peer')")),
        ("reading timed out", "timeout retry maybe", lambda: _redis("TimeoutError", "Timeout reading from socket")),
        ("connecting timed out", "timeout retry none", lambda: _redis("TimeoutError", "Timeout connecting to server")),
        ("loading", "unavailable retry none", lambda: _redis("BusyLoadingError", "Redis is loading the dataset in memory")),
        ("auth", "permission_denied no none", lambda: _redis("AuthenticationError", "invalid username-password pair")),
        ("no permission", "permission_denied no none", lambda: _redis("NoPermissionError")),
        ("read-only replica", "unavailable retry none", lambda: _redis("ReadOnlyError", "You can't write against a read only replica.")),
        ("out of memory", "quota_exhausted no none", lambda: _redis("OutOfMemoryError", "command not allowed when used memory > 'maxmemory'.")),
        ("wrong type", "invalid_argument no none", lambda: _redis("ResponseError", "WRONGTYPE Operation against a key holding the wrong kind of value")),
        ("unknown command", "invalid_argument no none", lambda: _redis("ResponseError", "unknown command 'FOO'")),
        ("script runs", "unavailable retry none", lambda: _redis("ResponseError", "BUSY Redis is busy running a script.")),
        ("watched key changed", "conflict retry none", lambda: _redis("WatchError", "Watched variable changed.")),
        ("lock not got", "conflict retry none", lambda: _redis("LockError", "Unable to acquire lock within the time specified")),
        ("lock lost", "conflict no maybe", lambda: _redis("LockNotOwnedError", "Cannot release a lock that's no longer owned")),
        ("cluster down", "unavailable retry none", lambda: _redis("ClusterDownError", "CLUSTERDOWN The cluster is down")),
        ("try again", "unavailable retry none", lambda: _redis("TryAgainError", "TRYAGAIN Multiple keys request during rehashing of slot")),
        ("data", "invalid_argument no none", lambda: _redis("DataError", "Invalid input of type: 'dict'.")),
        ("client pool", "overloaded retry none", lambda: _redis("MaxConnectionsError", "Too many connections")),
    ]),
    *table("pymongo", [
        ("down for real", "network retry none", _mongo_down),
        ("reconnect", "network retry maybe", lambda: _mongo("AutoReconnect", "connection closed")),
        ("network timeout", "timeout retry maybe", lambda: _mongo("NetworkTimeout", "timed out")),
        ("pool", "timeout retry none", lambda: _mongo("WaitQueueTimeoutError")),
        ("not primary", "unavailable retry none", lambda: _mongo("NotPrimaryError", "not primary")),
        ("duplicate", "conflict no none", lambda: _mongo("DuplicateKeyError", "E11000 duplicate key error collection: a.b", 11000)),
        ("no rights", "permission_denied no none", lambda: _mongo("OperationFailure", "not authorized on x", 13)),
        ("auth", "permission_denied no none", lambda: _mongo("OperationFailure", "Authentication failed.", 18)),
        ("write conflict", "conflict retry none", lambda: _mongo("OperationFailure", "WriteConflict error", 112)),
        ("transient label", "conflict retry none", lambda: _mongo("OperationFailure", "aborted", 99, {"errorLabels": ["TransientTransactionError"]})),
        ("time limit", "timeout retry maybe", lambda: _mongo("ExecutionTimeout", "operation exceeded time limit", 50)),
        ("write concern", "timeout retry maybe", lambda: _mongo("WTimeoutError", "waiting for replication timed out", 64)),
        ("validation", "invalid_argument no none", lambda: _mongo("WriteError", "Document failed validation", 121)),
        ("bad value", "invalid_argument no none", lambda: _mongo("OperationFailure", "unknown operator: $foo", 2)),
        ("bad document", "invalid_argument no none", lambda: importlib.import_module("bson.errors").InvalidDocument("cannot encode object")),
        ("misuse", "internal no maybe", lambda: _mongo("InvalidOperation", "Cannot use MongoClient after close")),
        ("partly written", "conflict no maybe", lambda: importlib.import_module("pymongo.errors").BulkWriteError({"writeErrors": [{"code": 11000}]})),
    ]),
    *table("elasticsearch", [
        ("no index", "not_found no none", lambda: _elastic("NotFoundError", 404, "index_not_found_exception", "no such index [x]")),
        ("version conflict", "conflict no none", lambda: _elastic("ConflictError", 409, "version_conflict_engine_exception")),
        ("bad query", "invalid_argument no none", lambda: _elastic("BadRequestError", 400, "parsing_exception")),
        ("index exists", "conflict no none", lambda: _elastic("BadRequestError", 400, "resource_already_exists_exception")),
        ("auth", "permission_denied no none", lambda: _elastic("AuthenticationException", 401, "security_exception")),
        ("rights", "permission_denied no none", lambda: _elastic("AuthorizationException", 403, "security_exception")),
        ("queue full", "rate_limited retry none", lambda: _elastic("ApiError", 429, "es_rejected_execution_exception")),
        ("unavailable", "unavailable retry maybe", lambda: _elastic("ApiError", 503, "unavailable_shards_exception")),
        ("timeout", "timeout retry maybe", lambda: _transport("ConnectionTimeout", _urllib3("ReadTimeoutError", None, "/", "Read timed out."))),
        ("refused", "network retry none", lambda: _transport("ConnectionError", _urllib3("NewConnectionError", None, "Failed to establish a new connection: [Errno 111] Connection refused"))),
        ("broke", "network retry maybe", lambda: _transport("ConnectionError", _urllib3("ProtocolError", "Connection aborted.", ConnectionResetError(104, "reset")))),
        ("certificate", "unavailable no none", lambda: _transport("TlsError", _urllib3("SSLError", "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"))),
        ("unreadable", "invalid_output no maybe", lambda: _transport("SerializationError", ValueError("Unable to deserialize"))),
    ]),
]  # fmt: skip
