"""HTTP headers that say again what a message's body says, made from the body that is sent, and compared with it.

A repaired argument changes its header, so headers of a client are never handed on: what is sent is mirrored anew.
Source of the rules: the Model Context Protocol 2026-07-28, "Streamable HTTP", "Request Metadata".
"""

from __future__ import annotations

import base64
import logging
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from failsoft.adapters.mcp.wire import Message

__all__ = [
    "HEADER_MISMATCH",
    "SESSION",
    "VERSION",
    "ToolHeaders",
    "decoded",
    "encoded",
    "mirrored",
    "mismatch",
]

log = logging.getLogger("failsoft.mcp")

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
_METHOD, _NAME, _PARAM = "mcp-method", "mcp-name", "mcp-param-"
_ROUTING: Final = (VERSION, _METHOD, _NAME)
HEADER_MISMATCH: Final = -32020
"""The code of a request whose headers and body differ; it was not carried out."""

_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TASKS: Final = ("tasks/get", "tasks/update", "tasks/cancel", "tasks/result")
_ANNOTATION: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")
_WHOLE: Final = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_TYPES: Final = ("string", "integer", "boolean")
# Where a schema's keys are names of the author's, and where its values are data and no schemas.
_BY_NAME: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_DATA: Final = ("const", "default", "enum", "examples")
Path = tuple[str, ...]


def encoded(value: str) -> str:
    """A text as a header's value; what a header cannot hold is wrapped in base64."""
    if _PLAIN.fullmatch(value) and value == value.strip(" ") and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def decoded(value: str) -> str | None:
    """The text of a header's value; None where its wrapping is broken."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        text = base64.b64decode(wrapped[1], validate=True)
        # Bits that nobody reads would make two values of one text.
        return text.decode() if base64.b64encode(text).decode() == wrapped[1] else None
    except ValueError:
        return None


# ---- the standard headers ----


def mirrored(message: Message) -> dict[str, str]:
    """The standard headers of a request that carries its own protocol version."""
    made = {VERSION: str(wire.meta_of(message)[wire.PROTOCOL_KEY]), _METHOD: str(message["method"])}
    name = _name_of(message)
    if name is not None:
        made[_NAME] = encoded(name)
    return made


def _name_of(message: Message) -> str | None:
    method, params = message["method"], message.get("params")
    key = "taskId" if method in _TASKS else _NAMED.get(method)
    name = params.get(key) if key is not None and isinstance(params, dict) else None
    return name if isinstance(name, str) else None


def mismatch(message: Message, given: Iterable[tuple[str, str]], tools: ToolHeaders) -> str | None:
    """Which header of a request that carries its own version differs from its body, if one does.

    Args:
        message: The request.
        given: Its headers as they came, names in lower case.
        tools: Which arguments have headers.
    """
    pairs = list(given)
    count = Counter(name for name, _ in pairs)
    for name in _ROUTING:
        if count[name] > 1:
            return name
    headers, wanted = dict(pairs), mirrored(message)
    for name in (VERSION, _METHOD):
        if headers.get(name) != wanted[name]:
            return name
    said, meant = headers.get(_NAME), _name_of(message)
    if meant is not None and (message["method"] in _NAMED if said is None else decoded(said) != meant):
        return _NAME
    return tools.mismatch(message, headers)


# ---- headers of arguments ----


class ToolHeaders:
    """Which arguments of which tool are mirrored, learned from lists of tools on their way."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, dict[Path, str]] = {}

    def learn(self, answer: Any) -> None:
        """Take note of the answer to `tools/list`."""
        result = answer.get("result") if isinstance(answer, dict) else None
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                try:
                    self._known[tool["name"]] = annotated(tool.get("inputSchema"))
                except ValueError as exc:
                    self._known.pop(tool["name"], None)
                    log.warning("the tool %s is called without headers of its own: %s", tool["name"], exc)

    def mirrored(self, message: Message) -> dict[str, str]:
        """The headers of a call's arguments; what is absent or null has none."""
        told = {header: _text_of(value) for header, value in self._values(message)}
        return {header: encoded(text) for header, text in told.items() if text is not None}

    def mismatch(self, message: Message, given: Mapping[str, str]) -> str | None:
        """Which header of an argument says something else than the body, if one does."""
        for header, value in self._values(message):
            text, said = _text_of(value), given.get(header)
            if text is None and said is None:
                continue
            if text is None or said is None or not _same(decoded(said), text, value):
                return header
        return None

    def _values(self, message: Message) -> Iterator[tuple[str, Any]]:
        params = message.get("params")
        if message.get("method") != "tools/call" or not isinstance(params, dict):
            return
        name, arguments = params.get("name"), params.get("arguments")
        for path, token in self._known.get(name, {}).items() if isinstance(name, str) else ():
            value = arguments
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            yield _PARAM + token, value


def annotated(schema: Any) -> dict[Path, str]:
    """The properties of a tool's schema that are mirrored, and the ends of their headers' names, in lower case.

    Raises:
        ValueError: A mark breaks the rules; a client over HTTP leaves such a tool out.
    """
    found: dict[str, Path] = {}
    for path, node in _positions(schema):
        if _ANNOTATION not in node:
            continue
        token, kind = node[_ANNOTATION], node.get("type")
        if not path:
            raise ValueError(f"{_ANNOTATION} stands where no argument is")
        where = ".".join(path)
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ValueError(f"{_ANNOTATION} of {where} is no name of a header: {token!r}")
        if kind not in _TYPES:
            raise ValueError(f"{_ANNOTATION} stands at {where}, which is no {', '.join(_TYPES)}")
        if token.lower() in found:
            raise ValueError(f"{_ANNOTATION} {token!r} stands at {where} and at another argument")
        found[token.lower()] = path
    return {path: token for token, path in found.items()}


def _positions(schema: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """All schemas in a schema, with the path of names that leads to each; None where something else leads there."""
    rest: list[tuple[Path | None, Any]] = [((), schema)]
    while rest:
        path, node = rest.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, part in node.items():
            if key in _BY_NAME and isinstance(part, dict):
                plain = path if key == "properties" else None
                rest += [(None if plain is None else (*plain, name), each) for name, each in part.items()]
            elif key not in _DATA:
                rest += [(None, each) for each in (part if isinstance(part, list) else (part,))]


def _text_of(value: Any) -> str | None:
    """An argument as text; None where a header has no form for it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _same(said: str | None, text: str, value: Any) -> bool:
    if said is None or said == text or isinstance(value, str | bool):
        return said == text
    # Whole numbers are compared as numbers: 42.0 is 42.
    ours, theirs = _WHOLE.fullmatch(text), _WHOLE.fullmatch(said)
    return ours is not None and theirs is not None and ours[1] == theirs[1]
