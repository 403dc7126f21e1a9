"""Headers that repeat what a request says."""

from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer
from mcp.shared import inbound
from mcp_types import ToolAnnotations
from pydantic import Field

from failsoft.adapters.mcp.carried import Carried, carried
from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.headers import ToolHeaders, annotated, decoded, encoded, mirrored, mismatch
from failsoft.adapters.mcp.running import make_session
from tests.adapters.mcp.conftest import Client
from tests.adapters.mcp.protected import served

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TEXTS = st.one_of(st.text(), st.sampled_from(["=?base64?aGk=?=", " a", "a ", "", "a\tb", "世界", "a\nb"]))
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
        "query": {"type": "string"},
    },
}


def call(name="run", **arguments):
    params = {"name": name, "arguments": arguments, "_meta": META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def known(schema):
    made = ToolHeaders()
    made.learn({"result": {"tools": [{"name": "run", "inputSchema": schema}]}})
    return made


@settings(deadline=None)
@given(TEXTS)
def test_any_text_survives_a_header(text):
    """Whatever a name or an argument holds comes out again, in the form that the official SDK writes and reads."""
    assert encoded(text).isascii()
    assert encoded(text).isprintable()
    assert decoded(encoded(text)) == text
    assert encoded(text) == inbound.encode_header_value(text)


@settings(deadline=None)
@given(TEXTS)
def test_broken_wrappings_are_no_text(text):
    """What only looks like a wrapped text is none, as the official SDK has it."""
    for value in (f"=?base64?{text}?=", text) if text.isascii() else ():
        assert decoded(value) == inbound.decode_header_value(value)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "region": st.one_of(st.none(), TEXTS),
            "count": st.one_of(st.integers(-(2**53), 2**53), st.just(42.0)),
            "deep": st.one_of(st.none(), st.fixed_dictionaries({}, optional={"on": st.booleans()})),
        },
    )
)
def test_arguments_are_mirrored_as_the_official_server_wants_them(arguments):
    """The headers of any call pass the official server's comparison, and our own."""
    message, tools = call(**arguments), known(SCHEMA)
    made = tools.mirrored(message)
    assert inbound.validate_mcp_param_headers(SCHEMA, arguments, made) is None
    assert mismatch(message, {**mirrored(message), **made}.items(), tools) is None


def test_a_difference_is_found():
    """A header that is missing, wrong, broken, doubled, or that nothing stands behind is named; 42.0 is 42."""
    message, tools = call(region="eu", count=42), known(SCHEMA)
    good = {**mirrored(message), **tools.mirrored(message)}
    assert good["mcp-param-region"] == "eu"
    assert mismatch(message, {**good, "mcp-param-count": "42.0"}.items(), tools) is None
    for name, value in (
        ("mcp-param-region", "us"),
        ("mcp-param-region", "=?base64?x?="),
        ("mcp-param-count", "43"),
        ("mcp-param-on", "true"),
        ("mcp-name", "other"),
        ("mcp-method", "tools/list"),
        ("mcp-protocol-version", "2025-11-25"),
    ):
        assert mismatch(message, {**good, name: value}.items(), tools) == name
    for name in good:
        assert mismatch(message, {key: good[key] for key in good if key != name}.items(), tools) == name
    assert mismatch(message, [*good.items(), ("mcp-name", "run")], tools) == "mcp-name"


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "A"},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": ["string"], "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A b"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 1}}},
        {
            "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }
        },
        {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
    ],
)
def test_marks_that_break_the_rules(schema, caplog):
    """A tool with such a mark is called without headers of its own, which is logged; the others are not touched."""
    assert inbound.find_invalid_x_mcp_header(schema)
    with pytest.raises(ValueError, match="x-mcp-header"):
        annotated(schema)
    tools = known(schema)
    tools.learn({"result": {"tools": [{"name": "other", "inputSchema": SCHEMA}, None, {"name": 1}]}})
    assert tools.mirrored(call(a="1")) == {}
    assert tools.mirrored(call("other", region="eu")) == {"mcp-param-region": "eu"}
    assert "without headers of its own" in caplog.text


def test_what_is_no_schema_has_no_marks():
    """Data in a schema, and what is no schema at all, is not read as one."""
    for schema in (None, True, [], {"properties": {"a": {"default": {"x-mcp-header": "A"}}}}):
        assert annotated(schema) == {}


@pytest.fixture
async def connect():
    made = []

    async def make(url):
        client = Client()
        client.session = make_session(ServerSpec(name="r", url=url), client, store="memory", config=None)
        made.append(client.session)
        await client.session.start()
        return client

    yield make
    for session in made:
        await session.aclose()


def app(seen):
    server = MCPServer("mirror", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=False))
    def place(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
        count: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Count"})] = 1,
    ) -> str:
        """Place."""
        seen.append((region, count))
        return f"{region} {count}"

    made = server.streamable_http_app()

    async def noting(scope, receive, send):
        if scope["type"] == "http":
            seen.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await made(scope, receive, send)

    return noting


class Seen(list):
    """Effects, and the headers of each request."""

    def __init__(self):
        super().__init__()
        self.headers = []


@pytest.mark.server
async def test_a_repaired_argument_has_its_header_repaired(connect):
    """A number that came as text is sent as a number, with the header that the official server compares it with."""
    seen = Seen()
    async with served(lambda origin: app(seen)) as origin:
        client = await connect(f"{origin}/mcp")
        own = Carried(headers={"traceparent": "00-1-2-01"})
        reset = carried.set(own)
        arguments = {"region": "北", "count": "7"}
        answer = await client.ask("tools/call", {"name": "place", "arguments": arguments, "_meta": META})
        carried.reset(reset)
        assert answer["result"]["content"][0]["text"] == "北 7"
        assert answer["result"]["_meta"]["failsoft"]["repairs"]
        sent = seen.headers[-1]
        assert sent["mcp-param-count"] == "7"
        assert decoded(sent["mcp-param-region"]) == "北"
        assert (sent["mcp-name"], sent["traceparent"]) == ("place", "00-1-2-01")
    assert seen == [("北", 7)]


@pytest.mark.server
async def test_a_tool_that_changed_its_headers_is_looked_at_again(connect):
    """A call that the server refuses for its headers did nothing: the list is read again and the call sent once more."""
    seen = Seen()
    async with served(lambda origin: refusing_once(app(seen))) as origin:
        client = await connect(f"{origin}/mcp")
        await client.ask("tools/list", {"_meta": META})
        arguments = {"region": "eu"}
        answer = await client.ask("tools/call", {"name": "place", "arguments": arguments, "_meta": META})
        assert answer["result"]["content"][0]["text"] == "eu 1"
        assert answer["result"]["_meta"]["failsoft"]["attempts"] == 2
        methods = [each.get("mcp-method") for each in seen.headers]
        assert methods == ["tools/list", "tools/list", "tools/call"]
    assert seen == [("eu", 1)]


def refusing_once(inner):
    """The first call is refused for its headers, as by a server whose tool has changed."""
    left = [1]

    async def refusing(scope, receive, send):
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-method") == b"tools/call" and left:
            left.pop()
            body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"mismatch"}}'
            start = {
                "type": "http.response.start",
                "status": 400,
                "headers": [(b"content-type", b"application/json")],
            }
            await send(start)
            await send({"type": "http.response.body", "body": body})
            return
        await inner(scope, receive, send)

    return refusing
