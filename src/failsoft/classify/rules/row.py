"""One line of a rule table.

names      `root.Class`, several separated by blanks; the root is the library's top package (`google.genai` and the like
           have two parts), whatever private module a class lives in; builtins have no root
text       the row counts only if the exception's text matches
inner      look first at what is inside the exception; the row's own verdict is for the case that nothing tells more
hidden     the exception's own text is of no use to the reader; the sentence of the reason is used
read       a function (exception, context) -> verdict or None, instead of a fixed verdict
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.classify.verdict import Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from failsoft.core.kinds import Effect, ErrorKind

__all__ = ["Context", "Read", "Row", "row", "type_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a rule may know beside the exception.

    Args:
        method: Method of the request, where the caller knows it.
        now: The present moment; None for the machine's clock.
    """

    method: str | None = None
    now: datetime | None = None


class Read(Protocol):
    """Judges one exception; None hands it to the next row."""

    def __call__(self, exc: Any, context: Context, /) -> Verdict | None:
        """Judge."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One rule; see the head of this file."""

    names: tuple[str, ...]
    judged: Verdict | None = None
    text: re.Pattern[str] | None = None
    read: Read | None = None
    inner: bool = False
    hidden: bool = True
    transparent: bool = False
    of_model: bool = False


def row(
    names: str,
    kind: ErrorKind | None = None,
    reason: str = "",
    effect: Effect | None = None,
    retryable: bool | None = None,
    *,
    text: str | None = None,
    read: Callable[[Any, Context], Verdict | None] | None = None,
    inner: bool = False,
    say: bool = False,
    transparent: bool = False,
    of_model: bool = False,
    **more: Any,
) -> Row:
    """A row; `say=True` puts the exception's own words into the message, `transparent` never uses them."""
    judged = None if kind is None else verdict(kind, reason, effect, retryable, **more)
    if judged is not None and of_model:
        judged = judged.of_model()
    return Row(
        names=tuple(names.split()),
        judged=judged,
        text=None if text is None else re.compile(text, re.I),
        read=read,
        inner=inner or transparent,
        hidden=not say,
        transparent=transparent,
        of_model=of_model,
    )


_TWO_PART_ROOTS = frozenset({"google", "azure", "concurrent", "urllib", "email", "http", "xml"})
# Libraries whose errors are those of another one, under another name.
_SAME_AS = {
    "httpx2": "httpx",
    "httpcore2": "httpcore",
    "niquests": "requests",
    "urllib3_future": "urllib3",
    "valkey": "redis",
    "MySQLdb": "pymysql",
    "mysql": "pymysql",
    "aiomysql": "pymysql",
    "psycopg2": "psycopg",
    "aiosqlite": "sqlite3",
    "opensearchpy": "elasticsearch",
    "elastic_transport": "elasticsearch",
    "aiobotocore": "botocore",
    "boto3": "botocore",
    "kubernetes_asyncio": "kubernetes",
    "builtins": "",
    "_socket": "socket",
    "_ssl": "ssl",
    "_queue": "queue",
}


def type_keys(cls: type) -> tuple[str, str, str]:
    """The names a class answers to: in tables, in full, and alone."""
    module, name = cls.__module__ or "", cls.__qualname__
    parts = module.split(".")
    root = ".".join(parts[:2]) if parts[0] in _TWO_PART_ROOTS else parts[0]
    root = _SAME_AS.get(root, root)
    return f"{root}.{name}" if root else name, f"{module}.{name}", name
