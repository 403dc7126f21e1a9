"""A client that does what the conformance suite's scenarios ask of one: `conformance_client.py [--through] URL`.

`--through` puts the proxy before the server: behind pipes, as a desktop client would, and over HTTP where the client has
to log in. What the suite wants beyond the URL it says in the environment.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import httpx2
import mcp_types as types
from conformance_login import login_for
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from pydantic import ConfigDict

PROXY = ["-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp", "--url"]
MODERN = "2026-07-28"
VALUES = {
    "string": "test",
    "number": 2,
    "integer": 2,
    "boolean": True,
    "object": {},
    "array": [],
    "null": None,
}
FOCAL, ECHO = "json_schema_2020_12_tool", "json_schema_echo"


class AnyRequest(types.Request[dict, str]):
    """A request of an extension's."""

    method: str
    params: dict


class AnyResult(types.Result):
    """Whatever answers it."""

    model_config = ConfigDict(extra="allow")


async def elicit(context, params):
    """Accept with the defaults of what is asked for, and with yes where it has none."""
    schema = getattr(params, "requested_schema", None) or {}
    content = {
        name: each.get("default", VALUES.get(each.get("type")))
        for name, each in schema.get("properties", {}).items()
    }
    return types.ElicitResult(action="accept", content=content)


async def sample(context, params):
    words = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", content=words, model="test")


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="tmp")])


def arguments_for(tool, tools, context):
    """What a tool is called with: what the suite wants, or a value of each wanted type."""
    for call in context.get("toolCalls", ()):
        if call["name"] == tool.name:
            return call["arguments"]
    if tool.name == ECHO:
        return {"schema": next(each.input_schema for each in tools if each.name == FOCAL)}
    properties = tool.input_schema.get("properties", {})
    return {
        name: VALUES.get(properties[name].get("type"), "test")
        for name in tool.input_schema.get("required", ())
    }


async def use_tools(client, context):
    tools = (await client.list_tools()).tools
    for tool in tools:
        if tool.name == FOCAL:
            continue
        # Some scenarios only watch what is sent, and answer with anything.
        try:
            await client.call_tool(tool.name, arguments_for(tool, tools, context))
        except Exception as exc:
            print(f"{tool.name}: {exc!r}", file=sys.stderr)


async def use_all(client, context):
    """Tools, resources and prompts."""
    await use_tools(client, context)
    for resource in (await client.list_resources()).resources:
        await client.read_resource(str(resource.uri))
    for prompt in (await client.list_prompts()).prompts:
        await client.get_prompt(prompt.name, {each.name: "test" for each in prompt.arguments or ()})


async def list_skills(client):
    request = AnyRequest(method="skills/list", params={})
    return (await client.session.send_request(request, AnyResult)).model_dump()["skills"]


async def use_skills(client, context):
    """Load each skill, and read no further where it is not what the list says."""
    for skill in await list_skills(client):
        for file in skill["resources"]:
            words = (await client.read_resource(file["uri"])).contents[0].text
            digest = f"sha256:{hashlib.sha256(words.encode()).hexdigest()}"
            front = dict(
                line.split(": ", 1) for line in words.split("---")[1].strip().splitlines() if ": " in line
            )
            if (
                digest != file["digest"]
                or len(words.encode()) != file["size"]
                or front != skill["frontmatter"]
            ):
                print(f"{file['uri']} is not what it should be", file=sys.stderr)
                return


async def only_list(client, context):
    await list_skills(client)


DEEDS = {
    "http-standard-headers": use_all,
    "sep-2640-client-no-prefetch": only_list,
    "sep-2640-client-verify-digest": use_skills,
    "sep-2640-client-verify-size": use_skills,
    "sep-2640-client-verify-frontmatter": use_skills,
}


@contextlib.asynccontextmanager
async def logging_in(url, scenario, context, *, through):
    """A transport with a login: to the server itself, or to a proxy over HTTP that leaves logging in to the client."""
    async with contextlib.AsyncExitStack() as stack:
        if through:
            url = stack.enter_context(proxy_before(url))
        login = login_for(scenario, url, context)
        http = await stack.enter_async_context(httpx2.AsyncClient(auth=login, timeout=20))
        yield streamable_http_client(url, http_client=http)


@contextlib.contextmanager
def proxy_before(url):
    with socket.socket() as sock, tempfile.TemporaryDirectory() as home:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        sock.close()
        environment = {**os.environ, "FAILSOFT_HOME": home, "FAILSOFT_CONFIG": "none"}
        command = [sys.executable, *PROXY, url, "--http", str(port), "--pass-authorization"]
        process = subprocess.Popen(command, env=environment, cwd=home)
        try:
            while process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(15)


@contextlib.asynccontextmanager
async def piped(url):
    """The proxy behind pipes."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "FAILSOFT_HOME": home, "FAILSOFT_CONFIG": "none"}
        yield StdioServerParameters(command=sys.executable, args=[*PROXY, url], env=environment, cwd=home)


@contextlib.asynccontextmanager
async def plain(url):
    yield url


async def main(url, *, through):
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    modern = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "") >= MODERN
    if scenario.startswith("auth/"):
        way = logging_in(url, scenario, context, through=through)
    else:
        way = piped(url) if through else plain(url)
    async with (
        way as server,
        Client(
            server,
            mode="auto" if modern else "legacy",
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
            read_timeout_seconds=20,
        ) as client,
    ):
        await DEEDS.get(scenario, use_tools)(client, context)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1], through="--through" in sys.argv))
