"""One labelled exception, and the short way to write it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Case", "case", "caught", "http_response", "table"]

_EFFECT = {"none": "none", "maybe": "possible"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A real exception and its label.

    Args:
        id: Library and situation.
        build: Makes or provokes the exception; raises ImportError where the library is not installed.
        kind: The kind that it should get.
        retryable: Whether a retry may help.
        effect: What the exception proves.
        method: HTTP method that the caller would know.
        known_miss: Why a wrong answer is accepted for now; empty for none.
    """

    id: str
    build: Callable[[], BaseException]
    kind: str
    retryable: bool
    effect: str
    method: str | None = None
    known_miss: str = ""


def case(id: str, label: str, build: Callable[[], BaseException], **more: Any) -> Case:
    """A case whose label is written `kind retry none`, `kind retry maybe`, `kind no none`."""
    kind, retry, effect = label.split()
    assert retry in ("retry", "no"), label
    return Case(id=id, build=build, kind=kind, retryable=retry == "retry", effect=_EFFECT[effect], **more)


def table(prefix: str, rows: list[tuple[str, str, Callable[[], BaseException]]]) -> list[Case]:
    """Cases of one library."""
    return [case(f"{prefix}: {name}", label, build) for name, label, build in rows]


def caught(call: Callable[[], object]) -> BaseException:
    """What a call raises."""
    try:
        call()
    except BaseException as exc:
        return exc
    raise AssertionError("the call was meant to fail")


def http_response(
    status: int, body: Any = None, headers: Any = None, *, method: str = "GET", lib: Any = None
) -> Any:
    """A response as httpx (or httpx2) makes it."""
    import httpx

    lib = lib or httpx
    request = lib.Request(method, "https://api.example.test/v1/things")
    if isinstance(body, dict | list):
        return lib.Response(status, json=body, headers=headers, request=request)
    return lib.Response(status, content=(body or "").encode(), headers=headers, request=request)
