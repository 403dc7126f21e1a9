"""Turn the specs of a case into Python objects: exceptions, HTTP responses, values that JSON does not have.

An exception is `{"class": dotted name, "args", "kwargs", "cause", "context", "group"}`; a list of such specs means "the first that
this environment can build". Inside of values, a dict of one key that begins with `$` stands for something else.
"""

from __future__ import annotations

import builtins
import decimal
import importlib
import pathlib
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["MissingLibrary", "exception", "look", "moment", "value"]


class MissingLibrary(Exception):
    """A spec names a library, or a class of it, that is not installed here."""


def look(dotted: str) -> Any:
    """The object of a dotted name.

    Raises:
        MissingLibrary: There is none here.
    """
    if "." not in dotted:
        if hasattr(builtins, dotted):
            return getattr(builtins, dotted)
        raise MissingLibrary(dotted)
    words = dotted.split(".")
    for cut in range(len(words) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(words[:cut]))
        except ImportError:
            continue
        try:
            for word in words[cut:]:
                found = getattr(found, word)
        except AttributeError as exc:
            raise MissingLibrary(dotted) from exc
        return found
    raise MissingLibrary(dotted)


def _http_library(class_name: str) -> ModuleType:
    """The HTTP library whose objects the errors of this class carry: an SDK's own, else httpx."""
    root = class_name.split(".")[0]
    look(class_name)
    for module_name in (f"{root}._exceptions", f"{root}._base_client", f"{root}.errors"):
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        for library in ("httpx2", "httpx"):
            if isinstance(getattr(module, library, None), type(sys)):
                return getattr(module, library)
    return importlib.import_module("httpx")


def _response(spec: dict[str, Any], http: ModuleType) -> Any:
    url = spec.get("url", "https://api.example.test/v1/things")
    options: dict[str, Any] = {
        "headers": spec.get("headers") or {},
        "request": http.Request(spec.get("method", "GET"), url),
    }
    body = spec.get("body")
    if isinstance(body, str):
        options["content"] = body.encode()
    elif body is not None:
        options["json"] = body
    return http.Response(spec["status"], **options)


def _failed_future(spec: Any) -> Any:
    future = look("tenacity.Future")(1)
    future.set_exception(exception(spec))
    return future


def _made(spec: dict[str, Any], http: ModuleType) -> Any:
    args, kwargs = value(spec.get("args", []), http), value(spec.get("kwargs", {}), http)
    return look(spec["class"])(*args, **kwargs)


_SPECIAL: dict[str, Callable[[Any, Any], Any]] = {
    "$exc": lambda spec, _http: exception(spec),
    "$http_response": _response,
    "$http_request": lambda spec, http: http.Request(*spec),
    "$tenacity_future": lambda spec, _http: _failed_future(spec),
    "$enum": lambda spec, _http: look(spec),
    "$new": _made,
    "$bytes_hex": lambda spec, _http: bytes.fromhex(spec),
    "$datetime": lambda spec, _http: datetime.fromisoformat(spec),
    "$decimal": lambda spec, _http: decimal.Decimal(spec),
    "$set": lambda spec, http: set(value(spec, http)),
    "$float": lambda spec, _http: float(spec),
    "$path": lambda spec, _http: pathlib.PurePosixPath(spec),
    "$repeat": lambda spec, _http: spec[0] * spec[1],
}


def value(spec: Any, http: ModuleType | None = None) -> Any:
    """The Python value of a spec.

    Raises:
        MissingLibrary: It needs something that is not installed.
        ValueError: A `$word` that this file does not know.
    """
    if isinstance(spec, list):
        return [value(item, http) for item in spec]
    if not isinstance(spec, dict):
        return spec
    if len(spec) == 1 and next(iter(spec)).startswith("$"):
        word, inner = next(iter(spec.items()))
        if word not in _SPECIAL:
            raise ValueError(f"no such special value: {word}")
        return _SPECIAL[word](inner, http or importlib.import_module("httpx"))
    return {name: value(item, http) for name, item in spec.items()}


def exception(spec: Any) -> BaseException:
    """The exception of a spec, its cause, context and group built too.

    Raises:
        MissingLibrary: No alternative can be built here.
    """
    if isinstance(spec, list):
        missing = MissingLibrary("no alternative given")
        for one in spec:
            try:
                return exception(one)
            except MissingLibrary as exc:
                missing = exc
        raise missing
    cls, http = look(spec["class"]), _http_library(spec["class"])
    if "group" in spec:
        made = cls(spec["args"][0], [exception(one) for one in spec["group"]])
    else:
        made = cls(*value(spec.get("args", []), http), **value(spec.get("kwargs", {}), http))
    if spec.get("cause"):
        made.__cause__ = exception(spec["cause"])
    if spec.get("context"):
        made.__context__ = exception(spec["context"])
    return made


def moment(text: str | None) -> datetime | None:
    """An ISO moment, where one is given."""
    return None if text is None else datetime.fromisoformat(text)
