"""Headers of HTTP that repeat what a message says, so that those in between can route it: written, read, compared.

A repaired argument changes its header, so a client's headers are never handed on: what is sent is mirrored anew.
Source of the rules: the Model Context Protocol, revision 2026-07-28, "Transports", standard and custom headers.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from failsoft.adapters.mcp import wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from failsoft.adapters.mcp.wire import Message

__all__ = [
    "HEADER_MISMATCH",
    "PARAM",
    "VERSION",
    "Mirrored",
    "mirrored_params",
    "mismatch",
    "param_headers",
    "param_mismatch",
    "standard_headers",
]

VERSION, METHOD, NAME, PARAM = "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-"
HEADER_MISMATCH: Final = -32020
"""The code of a request whose headers and body differ; it was not carried out."""

_MARK: Final = "x-mcp-header"
_NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_TYPES: Final = ("string", "integer", "boolean")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")
_WHOLE: Final = re.compile(r"(-?[0-9]+)(?:\.0+)?")
# Where a schema's keys are names of the author's, and where its values are data and no schemas.
_BY_NAME: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_DATA: Final = ("const", "default", "enum", "examples")


class Mirrored(NamedTuple):
    """An argument that a header repeats: where it is, the header's last part, the argument's type."""

    path: tuple[str, ...]
    token: str
    type: str

    @property
    def header(self) -> str:
        """The header's name."""
        return f"Mcp-Param-{self.token}"


# ---- values of headers ----


def encoded(value: str) -> str:
    """Text as the value of a header; what a header cannot carry unharmed is wrapped."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
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


def _rendered(value: Any) -> str | None:
    """An argument as text; None where a header has no form for it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


# ---- the standard headers ----


def _name_of(message: Message) -> str | None:
    params = message.get("params")
    key = _NAMED.get(message["method"])
    name = params.get(key) if key is not None and isinstance(params, dict) else None
    return name if isinstance(name, str) else None


def standard_headers(message: Message) -> dict[str, str]:
    """What a request that carries its version is sent with."""
    made = {VERSION: str(wire.meta_of(message)[wire.PROTOCOL_KEY]), METHOD: message["method"]}
    name = _name_of(message)
    return made if name is None else {**made, NAME: encoded(name)}


def mismatch(message: Message, headers: Mapping[str, str]) -> str | None:
    """Which standard header does not repeat what the request says; None where all do.

    Args:
        message: The request.
        headers: As they came, by their names in lower case.
    """
    if headers.get(VERSION) != wire.meta_of(message).get(wire.PROTOCOL_KEY):
        return "MCP-Protocol-Version"
    if headers.get(METHOD) != message["method"]:
        return "Mcp-Method"
    name, given = _name_of(message), headers.get(NAME)
    return "Mcp-Name" if name is not None and (given is None or decoded(given) != name) else None


# ---- headers for arguments ----


def _positions(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """All schemas in a schema, with the path of names that leads to each; None where something else leads there."""
    rest: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while rest:
        path, node = rest.pop()
        if not isinstance(node, Mapping):
            continue
        yield path, node
        for key, part in node.items():
            if key in _BY_NAME and isinstance(part, Mapping):
                plain = path if key == "properties" else None
                rest += [(None if plain is None else (*plain, name), each) for name, each in part.items()]
            elif key not in _DATA:
                rest += [(None, each) for each in (part if isinstance(part, list) else (part,))]


def mirrored_params(schema: Any) -> tuple[Mirrored, ...]:
    """The arguments that headers repeat, as a tool's schema says.

    Raises:
        ValueError: It says so where it may not; a client over HTTP must not use such a tool.
    """
    found: dict[str, Mirrored] = {}
    for path, node in _positions(schema):
        if _MARK not in node:
            continue
        token, type = node[_MARK], node.get("type")
        if not path:
            raise ValueError(f"{_MARK} stands where no argument is")
        where = ".".join(path)
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ValueError(f"{_MARK} of {where} is no name of a header: {token!r}")
        if type not in _TYPES:
            raise ValueError(f"{_MARK} stands at {where}, whose type is none of {', '.join(_TYPES)}")
        if token.lower() in found:
            raise ValueError(f"{_MARK} {token!r} stands at {where} and at another argument")
        found[token.lower()] = Mirrored(path, token, type)
    return tuple(found.values())


def _at(arguments: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def param_headers(mirrored: Sequence[Mirrored], arguments: Any) -> dict[str, str]:
    """The headers that repeat a call's arguments; what is absent or null has none."""
    told = {each.header: _rendered(_at(arguments, each.path)) for each in mirrored}
    return {header: encoded(text) for header, text in told.items() if text is not None}


def param_mismatch(mirrored: Sequence[Mirrored], arguments: Any, headers: Mapping[str, str]) -> str | None:
    """Which of these headers does not repeat its argument; None where all do."""
    for each in mirrored:
        given, text = headers.get(each.header.lower()), _rendered(_at(arguments, each.path))
        if given is None and text is None:
            continue
        if given is None or text is None or not _same(each.type, text, decoded(given)):
            return each.header
    return None


def _same(type: str, text: str, given: str | None) -> bool:
    if given is not None and type == "integer":
        ours, theirs = _WHOLE.fullmatch(text), _WHOLE.fullmatch(given)
        if ours is not None and theirs is not None:
            return ours[1] == theirs[1]
    return given == text
