"""SQL databases. Labels: PostgreSQL's error code appendix, MySQL's error reference, SQLite's result codes."""

from __future__ import annotations

import importlib
import sqlite3
from typing import Any

from tests.corpus.case import caught, table


def _sqlite(*statements: str, **options: Any) -> BaseException:
    def go() -> None:
        connection = sqlite3.connect(":memory:", **options)
        try:
            for statement in statements:
                connection.execute(statement)
        finally:
            connection.close()

    return caught(go)


def _locked() -> BaseException:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.db"
        first, second = sqlite3.connect(path), sqlite3.connect(path, timeout=0)
        try:
            first.execute("create table t(a)")
            first.execute("begin exclusive")
            return caught(lambda: second.execute("insert into t values (1)"))
        finally:
            first.close()
            second.close()


def _read_only() -> BaseException:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        sqlite3.connect(f"{folder}/x.db").close()
        connection = sqlite3.connect(f"file:{folder}/x.db?mode=ro", uri=True)
        try:
            return caught(lambda: connection.execute("create table t(a)"))
        finally:
            connection.close()


def _pg(name: str, message: str = "said") -> BaseException:
    return getattr(importlib.import_module("psycopg.errors"), name)(message)


def _pg_down() -> BaseException:
    psycopg = importlib.import_module("psycopg")
    return caught(lambda: psycopg.connect("host=127.0.0.1 port=1 dbname=x user=x connect_timeout=2"))


def _asyncpg(name: str, message: str = "said") -> BaseException:
    return getattr(importlib.import_module("asyncpg"), name)(message)


def _my(name: str, code: int, message: str = "said") -> BaseException:
    return getattr(importlib.import_module("pymysql.err"), name)(code, message)


def _connector(code: int, message: str) -> BaseException:
    errors = importlib.import_module("mysql.connector.errors")
    return errors.DatabaseError(msg=message, errno=code)


def _alchemy(url: str, *statements: str) -> BaseException:
    sa = importlib.import_module("sqlalchemy")

    def go() -> None:
        with sa.create_engine(url).connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    return caught(go)


def _wrapped(name: str, inner: BaseException) -> BaseException:
    return getattr(importlib.import_module("sqlalchemy.exc"), name)("UPDATE t SET a=1", None, inner)


def _sa(name: str) -> BaseException:
    return getattr(importlib.import_module("sqlalchemy.exc"), name)("said")


def _stale() -> BaseException:
    return importlib.import_module("sqlalchemy.orm.exc").StaleDataError(
        "UPDATE statement on table 't' expected to update 1 row(s); 0 were matched."
    )


def _pool(name: str, message: str) -> BaseException:
    return getattr(importlib.import_module("psycopg_pool"), name)(message)


CASES = [
    *table("sqlite3", [
        ("locked for real", "unavailable retry none", _locked),
        ("read-only for real", "permission_denied no none", _read_only),
        ("no table", "not_found no none", lambda: _sqlite("select * from orders")),
        ("no column", "invalid_argument no none", lambda: _sqlite("create table t(a)", "select b from t")),
        ("syntax", "invalid_argument no none", lambda: _sqlite("selec 1")),
        ("unique", "conflict no none", lambda: _sqlite("create table t(a unique)", "insert into t values (1)", "insert into t values (1)")),
        ("not null", "invalid_argument no none", lambda: _sqlite("create table t(a not null)", "insert into t values (null)")),
        ("check", "invalid_argument no none", lambda: _sqlite("create table t(a check (a > 0))", "insert into t values (-1)")),
        ("table exists", "conflict no none", lambda: _sqlite("create table t(a)", "create table t(a)")),
        ("cannot open", "not_found no none", lambda: caught(lambda: sqlite3.connect("/nonexistent-dir/x.db"))),
        ("wrong bindings", "internal no maybe", lambda: caught(lambda: sqlite3.connect(":memory:").execute("select ?", (1, 2)))),
        ("closed", "internal no maybe", lambda: _closed()),
        ("full", "quota_exhausted no maybe", lambda: sqlite3.OperationalError("database or disk is full")),
        ("malformed", "internal no maybe", lambda: sqlite3.DatabaseError("database disk image is malformed")),
    ]),
    *table("psycopg", [
        ("refused for real", "network retry none", _pg_down),
        ("serialization", "conflict retry none", lambda: _pg("SerializationFailure")),
        ("deadlock", "conflict retry none", lambda: _pg("DeadlockDetected")),
        ("lock", "conflict retry none", lambda: _pg("LockNotAvailable")),
        ("unique", "conflict no none", lambda: _pg("UniqueViolation")),
        ("foreign key", "invalid_argument no none", lambda: _pg("ForeignKeyViolation")),
        ("not null", "invalid_argument no none", lambda: _pg("NotNullViolation")),
        ("check", "invalid_argument no none", lambda: _pg("CheckViolation")),
        ("no table", "not_found no none", lambda: _pg("UndefinedTable", 'relation "x" does not exist\nLINE 1: select * from x')),
        ("no column", "invalid_argument no none", lambda: _pg("UndefinedColumn")),
        ("syntax", "invalid_argument no none", lambda: _pg("SyntaxError")),
        ("privilege", "permission_denied no none", lambda: _pg("InsufficientPrivilege")),
        ("password", "permission_denied no none", lambda: _pg("InvalidPassword")),
        ("cancelled by timeout", "timeout retry none", lambda: _pg("QueryCanceled", "canceling statement due to statement timeout")),
        ("too many connections", "unavailable retry none", lambda: _pg("TooManyConnections")),
        ("starting", "unavailable retry none", lambda: _pg("CannotConnectNow")),
        ("shut down", "unavailable retry maybe", lambda: _pg("AdminShutdown")),
        ("disk full", "quota_exhausted no none", lambda: _pg("DiskFull")),
        ("out of memory", "unavailable retry none", lambda: _pg("OutOfMemory")),
        ("numeric range", "invalid_argument no none", lambda: _pg("NumericValueOutOfRange")),
        ("read-only transaction", "unavailable retry none", lambda: _pg("ReadOnlySqlTransaction")),
        ("connection failure", "network retry maybe", lambda: _pg("ConnectionFailure")),
        ("cannot establish", "network retry none", lambda: _pg("SqlclientUnableToEstablishSqlconnection")),
        ("outcome unknown", "unavailable retry maybe", lambda: _pg("StatementCompletionUnknown")),
        ("closed by the server", "network retry maybe", lambda: _pg("OperationalError", "server closed the connection unexpectedly")),
        ("already closed", "network retry none", lambda: _pg("OperationalError", "the connection is closed")),
        ("name", "network retry none", lambda: _pg("OperationalError", 'could not translate host name "db" to address: Name or service not known')),
        ("password in text", "permission_denied no none", lambda: _pg("OperationalError", 'connection failed: FATAL:  password authentication failed for user "x"')),
        ("connect timeout", "timeout retry none", lambda: _pg("ConnectionTimeout", "connection timeout expired")),
        ("pool timeout", "timeout retry none", lambda: _pool("PoolTimeout", "couldn't get a connection after 30.00 sec")),
        ("pool full", "overloaded retry none", lambda: _pool("TooManyRequests", "the pool has 10 requests waiting")),
    ]),
    *table("asyncpg", [
        ("serialization", "conflict retry none", lambda: _asyncpg("SerializationError")),
        ("deadlock", "conflict retry none", lambda: _asyncpg("DeadlockDetectedError")),
        ("unique", "conflict no none", lambda: _asyncpg("UniqueViolationError")),
        ("foreign key", "invalid_argument no none", lambda: _asyncpg("ForeignKeyViolationError")),
        ("no table", "not_found no none", lambda: _asyncpg("UndefinedTableError")),
        ("syntax", "invalid_argument no none", lambda: _asyncpg("PostgresSyntaxError")),
        ("password", "permission_denied no none", lambda: _asyncpg("InvalidPasswordError")),
        ("too many", "unavailable retry none", lambda: _asyncpg("TooManyConnectionsError")),
        ("starting", "unavailable retry none", lambda: _asyncpg("CannotConnectNowError")),
        ("closed in the middle", "network retry maybe", lambda: _asyncpg("ConnectionDoesNotExistError", "connection was closed in the middle of operation")),
        ("connection failure", "network retry maybe", lambda: _asyncpg("ConnectionFailureError")),
        ("timeout", "timeout retry none", lambda: _asyncpg("QueryCanceledError", "canceling statement due to statement timeout")),
        ("closed before", "network retry none", lambda: _asyncpg("InterfaceError", "connection is closed")),
        ("busy connection", "internal no maybe", lambda: _asyncpg("InterfaceError", "cannot perform operation: another operation is in progress")),
    ]),
    *table("mysql", [
        ("lock wait", "conflict retry none", lambda: _my("OperationalError", 1205, "Lock wait timeout exceeded; try restarting transaction")),
        ("deadlock", "conflict retry none", lambda: _my("OperationalError", 1213)),
        ("duplicate", "conflict no none", lambda: _my("IntegrityError", 1062, "Duplicate entry 'a' for key 'PRIMARY'")),
        ("foreign key", "invalid_argument no none", lambda: _my("IntegrityError", 1452)),
        ("no table", "not_found no none", lambda: _my("ProgrammingError", 1146, "Table 'x.y' doesn't exist")),
        ("no column", "invalid_argument no none", lambda: _my("OperationalError", 1054)),
        ("syntax", "invalid_argument no none", lambda: _my("ProgrammingError", 1064)),
        ("access", "permission_denied no none", lambda: _my("OperationalError", 1045, "Access denied for user")),
        ("no database", "not_found no none", lambda: _my("OperationalError", 1049)),
        ("too many", "unavailable retry none", lambda: _my("OperationalError", 1040)),
        ("cannot connect", "network retry none", lambda: _my("OperationalError", 2003, "Can't connect to MySQL server")),
        ("gone away", "network retry maybe", lambda: _my("OperationalError", 2006)),
        ("lost", "network retry maybe", lambda: _my("OperationalError", 2013, "Lost connection to MySQL server during query")),
        ("too long", "invalid_argument no none", lambda: _my("DataError", 1406)),
        ("max time", "timeout retry none", lambda: _my("OperationalError", 3024)),
        ("read-only", "unavailable retry none", lambda: _my("OperationalError", 1290)),
        ("connector: deadlock", "conflict retry none", lambda: _connector(1213, "Deadlock found when trying to get lock")),
        ("connector: refused", "network retry none", lambda: _connector(2003, "Can't connect")),
    ]),
    *table("sqlalchemy", [
        ("no table for real", "not_found no none", lambda: _alchemy("sqlite://", "select * from orders")),
        ("unique for real", "conflict no none", lambda: _alchemy("sqlite://", "create table t(a unique)", "insert into t values (1)", "insert into t values (1)")),
        ("locked", "unavailable retry none", lambda: _wrapped("OperationalError", sqlite3.OperationalError("database is locked"))),
        ("serialization", "conflict retry none", lambda: _wrapped("OperationalError", _pg("SerializationFailure"))),
        ("unique in psycopg", "conflict no none", lambda: _wrapped("IntegrityError", _pg("UniqueViolation"))),
        ("mysql deadlock", "conflict retry none", lambda: _wrapped("OperationalError", _my("OperationalError", 1213))),
        ("server closed", "network retry maybe", lambda: _wrapped("OperationalError", _pg("OperationalError", "server closed the connection unexpectedly"))),
        ("refused", "network retry none", lambda: _wrapped("OperationalError", _pg_down())),
        ("pool", "timeout retry none", lambda: _sa("TimeoutError")),
        ("no row", "not_found no none", lambda: _sa("NoResultFound")),
        ("several rows", "conflict no none", lambda: _sa("MultipleResultsFound")),
        ("stale", "conflict no none", _stale),
        ("misuse", "internal no maybe", lambda: _sa("InvalidRequestError")),
    ]),
]  # fmt: skip


def _closed() -> BaseException:
    connection = sqlite3.connect(":memory:")
    connection.close()
    return caught(lambda: connection.execute("select 1"))
