"""SQL databases: psycopg (2 and 3), asyncpg, sqlite3, PyMySQL and its kin, SQLAlchemy. Codes: SQLSTATE, MySQL numbers."""

from __future__ import annotations

from typing import Any, Final

from failsoft.classify.rules.row import Context, row
from failsoft.classify.text import one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["ROWS"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

_SERIAL = verdict(K.CONFLICT, "serialization_failure", NONE, True)
_DEADLOCK = verdict(K.CONFLICT, "deadlock", NONE, True)
_LOCK = verdict(K.CONFLICT, "lock_not_available", NONE, True)
_LOCK_TIMEOUT = verdict(K.CONFLICT, "lock_timeout", NONE, True)
_EXISTS = verdict(K.CONFLICT, "already_exists")
_CONSTRAINT = verdict(K.INVALID_ARGUMENT, "constraint_violation")
_MISSING = verdict(K.NOT_FOUND)
_INVALID = verdict(K.INVALID_ARGUMENT)
_SYNTAX = verdict(K.INVALID_ARGUMENT, "syntax_error")
_DENIED = verdict(K.PERMISSION_DENIED, "forbidden")
_LOGIN = verdict(K.PERMISSION_DENIED, "unauthenticated")
_UNSENT = verdict(K.NETWORK, "connect_failed", NONE)
_REFUSED = verdict(K.NETWORK, "connect_refused", NONE)
_DNS = verdict(K.NETWORK, "dns_failed", NONE)
_LOST = verdict(K.NETWORK, "connection_lost")
_FULL = verdict(K.UNAVAILABLE, "too_many_connections", NONE)
_STARTING = verdict(K.UNAVAILABLE, "starting_up", NONE)
_STOPPING = verdict(K.UNAVAILABLE, "starting_up")
_STOPPED = verdict(K.TIMEOUT, "statement_timeout", NONE)
_READ_ONLY = verdict(K.UNAVAILABLE, "not_primary", NONE)
_DISK = verdict(K.QUOTA_EXHAUSTED, "disk_full")
_MEMORY = verdict(K.UNAVAILABLE, "overloaded", NONE)
_BUG = verdict(K.INTERNAL, "bug")

# By the whole code, else by its class (the first two characters). PostgreSQL, appendix "Error Codes".
_SQLSTATE: Final[dict[str, Verdict]] = {
    "08": _LOST, "08001": _UNSENT, "08004": _UNSENT, "08003": _LOST, "08006": _LOST, "08007": _LOST,
    "0A": verdict(K.INVALID_ARGUMENT, "not_supported"),
    "21": _INVALID, "22": _INVALID, "23": _CONSTRAINT, "23505": _EXISTS, "23P01": _EXISTS,
    "25": _BUG, "25006": _READ_ONLY, "25P03": verdict(K.TIMEOUT, "statement_timeout", NONE),
    "28": _LOGIN, "2D": _BUG, "34": _BUG, "3D": _MISSING, "3F": _MISSING,
    "40": _SERIAL, "40001": _SERIAL, "40P01": _DEADLOCK, "40002": _CONSTRAINT, "40003": verdict(K.UNAVAILABLE, "outcome_unknown"),
    "42": _INVALID, "42601": _SYNTAX, "42501": _DENIED, "42P01": _MISSING, "42883": _MISSING, "42704": _MISSING,
    "42P07": _EXISTS, "42710": _EXISTS, "42P04": _EXISTS, "42P06": _EXISTS, "42701": _EXISTS, "42703": verdict(K.INVALID_ARGUMENT, "no_such_column"),
    "44": _CONSTRAINT, "53": _MEMORY, "53100": _DISK, "53300": _FULL,
    "54": verdict(K.INVALID_ARGUMENT, "too_large"), "55": verdict(K.CONFLICT), "55P03": _LOCK, "55006": _LOCK,
    "57014": _STOPPED, "57P01": _STOPPING, "57P02": _STOPPING, "57P03": _STARTING, "57P04": _STOPPING, "57P05": _LOST,
    "58": verdict(K.UNAVAILABLE, "system_error", POSSIBLE, False), "P0002": _MISSING, "P0001": verdict(K.INVALID_ARGUMENT, "raised", POSSIBLE),
    "XX": verdict(K.UNAVAILABLE, "system_error", POSSIBLE, False),
}  # fmt: skip

_MYSQL: Final[dict[int, Verdict]] = {
    1205: _LOCK_TIMEOUT, 1213: _DEADLOCK, 3572: _LOCK, 1614: _DEADLOCK, 1180: _SERIAL,
    1062: _EXISTS, 1586: _EXISTS, 1050: _EXISTS, 1007: _EXISTS,
    1048: _CONSTRAINT, 1364: _CONSTRAINT, 1451: _CONSTRAINT, 1452: _CONSTRAINT, 1216: _CONSTRAINT, 1217: _CONSTRAINT, 3819: _CONSTRAINT,
    1064: _SYNTAX, 1149: _SYNTAX, 1054: verdict(K.INVALID_ARGUMENT, "no_such_column"), 1264: _INVALID, 1265: _INVALID,
    1292: _INVALID, 1366: _INVALID, 1406: _INVALID, 1690: _INVALID, 1153: verdict(K.INVALID_ARGUMENT, "too_large"),
    1146: _MISSING, 1051: _MISSING, 1049: _MISSING, 1305: _MISSING, 1008: _MISSING,
    1045: _LOGIN, 1698: _LOGIN, 1044: _DENIED, 1142: _DENIED, 1143: _DENIED, 1227: _DENIED, 1130: _DENIED,
    1040: _FULL, 1203: _FULL, 1226: _FULL, 1053: _STOPPING, 1290: _READ_ONLY, 1836: _READ_ONLY, 1792: _READ_ONLY,
    3024: _STOPPED, 1969: _STOPPED, 1317: verdict(K.CANCELLED, "interrupted"), 1021: _DISK, 1114: _DISK, 1037: _MEMORY, 1041: _MEMORY,
    2002: _UNSENT, 2003: _UNSENT, 2005: _DNS, 2006: _LOST, 2013: _LOST, 2055: _LOST, 2014: _BUG, 2026: verdict(K.NETWORK, "tls_failed", NONE), 2061: _LOGIN,
}  # fmt: skip

_QUIET = (K.NETWORK,)


def _said(exc: BaseException, found: Verdict, text: str = "") -> Verdict:
    """The database's own words, which name the table or the constraint; not those of a broken connection."""
    return found if found.kind in _QUIET else found.but(message=one_line(text or text_of(exc)))


def _sqlstate(exc: Any, context: Context) -> Verdict | None:
    del context
    code = getattr(exc, "sqlstate", None) or getattr(exc, "pgcode", None)
    if not isinstance(code, str):
        return None
    found = _SQLSTATE.get(code) or _SQLSTATE.get(code[:2])
    return None if found is None else _said(exc, found)


def _mysql(exc: Any, context: Context) -> Verdict | None:
    del context
    code = exc.args[0] if exc.args else getattr(exc, "errno", None)
    if not isinstance(code, int):
        code = getattr(exc, "errno", None)
    found = _MYSQL.get(code) if isinstance(code, int) else None
    words = exc.args[1] if len(exc.args) > 1 and isinstance(exc.args[1], str) else ""
    return None if found is None else _said(exc, found, words)


_PG = "psycopg.OperationalError psycopg.InterfaceError asyncpg.InterfaceError"
_POSTGRES = (
    row("psycopg.ConnectionTimeout", K.TIMEOUT, "connect_timeout", NONE),
    row("psycopg_pool.PoolTimeout psycopg.PoolTimeout", K.TIMEOUT, "pool_timeout", NONE),
    row("psycopg_pool.TooManyRequests psycopg.PoolError", K.OVERLOADED, "pool_full"),
    row("psycopg_pool.PoolClosed", K.INTERNAL, "client_misuse"),
    row("asyncpg.ConnectionDoesNotExistError", K.NETWORK, "connection_lost"),
    row("psycopg.Error psycopg.OperationalError psycopg.InterfaceError psycopg.IntegrityError asyncpg.PostgresError", read=_sqlstate),
    row("psycopg.DataError psycopg.ProgrammingError psycopg.NotSupportedError psycopg.InternalError", read=_sqlstate),
    row(_PG, K.PERMISSION_DENIED, "unauthenticated", NONE, text=r"authentication failed|no password supplied|no pg_hba|role .* does not exist", say=True),
    row(_PG, K.NOT_FOUND, "", NONE, text=r"database .* does not exist", say=True),
    row(_PG, K.UNAVAILABLE, "too_many_connections", NONE, text=r"too many (?:clients|connections)|remaining connection slots"),
    row(_PG, K.UNAVAILABLE, "starting_up", NONE, text=r"is (?:starting up|shutting down|in recovery)"),
    row(_PG, K.UNAVAILABLE, "certificate_invalid", NONE, False, text=r"certificate verify failed|certificate .*(?:does not match|expired)", owner=Owner.HUMAN),
    row(_PG, K.NETWORK, "dns_failed", NONE, text=r"could not translate host name|failed to resolve host|name or service not known|name resolution"),
    row(_PG, K.NETWORK, "connect_refused", NONE, text=r"connection refused"),
    row(_PG, K.TIMEOUT, "connect_timeout", NONE, text=r"connection timeout expired|timeout expired|connection to server .*timed? ?out"),
    row(_PG, K.NETWORK, "host_unreachable", NONE, text=r"no route to host|network is unreachable"),
    row(_PG, K.NETWORK, "connection_closed", NONE, text=r"connection (?:is|already) closed|the connection is lost|underlying connection is closed", inner=True),
    row(_PG, K.NETWORK, "connection_lost", text=r"server closed the connection|connection (?:reset|not open|was closed)|consuming input failed|SSL SYSCALL|terminating connection|broken pipe|could not receive data"),
    row(_PG, K.NETWORK, "connect_failed", NONE, text=r"^connection (?:to server|failed)"),
    row("psycopg.OperationalError", K.UNAVAILABLE, "", POSSIBLE, inner=True, say=True),
    row("asyncpg.InterfaceError psycopg.InterfaceError asyncpg.InternalClientError", K.INTERNAL, "client_misuse", inner=True, say=True),
    row("psycopg.IntegrityError", K.CONFLICT, "constraint_violation", say=True),
    row("psycopg.DataError psycopg.ProgrammingError psycopg.NotSupportedError asyncpg.DataError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("psycopg.Error asyncpg.PostgresError", K.INTERNAL, "database_error", inner=True, say=True),
)  # fmt: skip

_S = "sqlite3.OperationalError"
_SQLITE = (
    row(_S, K.UNAVAILABLE, "database_locked", NONE, text=r"database (?:table )?(?:is locked|schema is locked)|table is locked|SQLITE_BUSY|database is busy"),
    row(_S, K.NOT_FOUND, "", NONE, text=r"no such (?:table|index|view|trigger|function|module|savepoint)|unknown database", say=True),
    row(_S, K.INVALID_ARGUMENT, "no_such_column", NONE, text=r"no such column|has no column named", say=True),
    row(_S, K.INVALID_ARGUMENT, "syntax_error", NONE, text=r"syntax error|incomplete input|unrecognized token|ambiguous column|wrong number of arguments|misuse of aggregate|values for \d+ columns", say=True),
    row(_S, K.INVALID_ARGUMENT, "too_large", NONE, text=r"too many (?:SQL variables|terms|columns|arguments|attached)|parser stack overflow|string or blob too big", say=True),
    row(_S, K.CONFLICT, "already_exists", NONE, text=r"already exists|duplicate column name|is already in use", say=True),
    row(_S, K.PERMISSION_DENIED, "read_only", NONE, text=r"readonly database|attempt to write a readonly|access permission|not authorized", say=True),
    row(_S, K.NOT_FOUND, "cannot_open", NONE, text=r"unable to open database", say=True),
    row(_S, K.QUOTA_EXHAUSTED, "disk_full", POSSIBLE, text=r"disk is full"),
    row(_S, K.CANCELLED, "interrupted", NONE, text=r"^interrupted"),
    row("sqlite3.OperationalError", K.INTERNAL, "database_error", say=True),
    row("sqlite3.IntegrityError", K.CONFLICT, "already_exists", text=r"UNIQUE constraint|PRIMARY KEY", say=True),
    row("sqlite3.IntegrityError", K.INVALID_ARGUMENT, "constraint_violation", say=True),
    row("sqlite3.DataError", K.INVALID_ARGUMENT, "too_large", NONE, say=True),
    row("sqlite3.Error", K.INTERNAL, "database_error", say=True),
)  # fmt: skip

_MY = (
    row("pymysql.OperationalError pymysql.InterfaceError pymysql.IntegrityError pymysql.DataError", read=_mysql),
    row("pymysql.ProgrammingError pymysql.NotSupportedError pymysql.InternalError pymysql.Error pymysql.MySQLError", read=_mysql),
    row("pymysql.IntegrityError", K.CONFLICT, "constraint_violation", say=True),
    row("pymysql.InterfaceError", K.NETWORK, "connection_lost"),
    row("pymysql.DataError pymysql.ProgrammingError pymysql.NotSupportedError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("pymysql.OperationalError", K.UNAVAILABLE, "database_error", POSSIBLE, False, say=True),
    row("pymysql.Error pymysql.MySQLError", K.INTERNAL, "database_error", inner=True, say=True),
)  # fmt: skip

_ALCHEMY = (
    row("sqlalchemy.TimeoutError", K.TIMEOUT, "pool_timeout", NONE),
    row("sqlalchemy.DisconnectionError", K.NETWORK, "connect_failed", NONE),
    row("sqlalchemy.IntegrityError", K.CONFLICT, "constraint_violation", transparent=True),
    row("sqlalchemy.OperationalError", K.UNAVAILABLE, "database_error", transparent=True),
    row("sqlalchemy.ProgrammingError sqlalchemy.DataError", K.INVALID_ARGUMENT, "database_error", NONE, transparent=True),
    row("sqlalchemy.StatementError", K.INTERNAL, "database_error", transparent=True),
    row("sqlalchemy.NoResultFound sqlalchemy.NoSuchTableError sqlalchemy.ObjectDeletedError", K.NOT_FOUND, "", NONE, say=True),
    row("sqlalchemy.MultipleResultsFound", K.CONFLICT, "not_unique", NONE, say=True),
    row("sqlalchemy.StaleDataError", K.CONFLICT, "stale_data", NONE, say=True),
    row("sqlalchemy.SQLAlchemyError", K.INTERNAL, "client_misuse", inner=True, say=True),
)  # fmt: skip

ROWS = _POSTGRES + _SQLITE + _MY + _ALCHEMY
