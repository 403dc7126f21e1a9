"""A server that has all that the conformance suite asks for: `conformance_server.py stdio`, or `... PORT` over HTTP.

Made on the official SDK's low level, so that what the suite says of it directly is the SDK's word and not failsoft's.
"""

import asyncio
import inspect
import sys
import warnings

import conformance_extensions as extensions
import conformance_tools as tools
import mcp_types as types
import uvicorn
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

bus = InMemorySubscriptionBus()


# ---- tools ----


async def changed_tools(ctx, arguments):
    await bus.publish(ToolsListChanged())
    return tools.said("The tools have changed.")


async def changed_prompts(ctx, arguments):
    await bus.publish(PromptsListChanged())
    return tools.said("The prompts have changed.")


TOOLS = {
    **tools.TOOLS,
    **extensions.TOOLS,
    "test_trigger_tool_change": (changed_tools, tools.NOTHING),
    "test_trigger_prompt_change": (changed_prompts, tools.NOTHING),
}


async def list_tools(ctx, params):
    made = [
        {"name": name, "description": f"For the conformance suite: {name}.", "inputSchema": schema}
        for name, (_, schema) in TOOLS.items()
    ]
    return {"tools": made}


async def call_tool(ctx, params):
    if params.name not in TOOLS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
    made = TOOLS[params.name][0](ctx, params.arguments or {})
    return await made if inspect.isawaitable(made) else made


# ---- resources ----

STATIC = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": tools.PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "This resource is watched."},
    **{uri: {"mimeType": "text/markdown", "text": words} for uri, words in extensions.FILES.items()},
}


async def list_resources(ctx, params):
    own = [
        {
            "uri": uri,
            "name": uri.removeprefix("test://"),
            "description": "A resource.",
            "mimeType": found["mimeType"],
        }
        for uri, found in STATIC.items()
        if uri not in extensions.FILES
    ]
    return {"resources": [*own, *extensions.RESOURCES]}


async def list_templates(ctx, params):
    template = {
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A resource for each id.",
        "mimeType": "application/json",
    }
    return {"resourceTemplates": [template]}


async def read_resource(ctx, params):
    uri = str(params.uri)
    head, _, tail = uri.removeprefix("test://template/").partition("/")
    if uri in STATIC:
        return {"contents": [{"uri": uri, **STATIC[uri]}]}
    if uri.startswith("test://template/") and tail == "data":
        words = f'{{"id": "{head}", "templateTest": true, "data": "Data for ID: {head}"}}'
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": words}]}
    raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri})


async def acknowledge(ctx, params):
    return {}


# ---- prompts ----


def by_user(*contents):
    return {"messages": [{"role": "user", "content": content} for content in contents]}


async def list_prompts(ctx, params):
    named = {
        "test_prompt_with_arguments": ("arg1", "arg2"),
        "test_prompt_with_embedded_resource": ("resourceUri",),
    }
    names = (
        "test_simple_prompt",
        *named,
        "test_prompt_with_image",
        "test_input_required_result_prompt",
    )
    return {
        "prompts": [
            {
                "name": name,
                "description": f"For the conformance suite: {name}.",
                "arguments": [
                    {"name": argument, "description": "An argument.", "required": True}
                    for argument in named.get(name, ())
                ],
            }
            for name in names
        ]
    }


async def get_prompt(ctx, params):
    given = params.arguments or {}
    if params.name == "test_simple_prompt":
        return by_user(tools.text("This is a simple prompt for testing."))
    if params.name == "test_prompt_with_arguments":
        words = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
        return by_user(tools.text(words))
    if params.name == "test_prompt_with_embedded_resource":
        found = tools.resource(
            given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."
        )
        return by_user(found, tools.text("Please process the embedded resource above."))
    if params.name == "test_prompt_with_image":
        image = {"type": "image", "data": tools.PIXEL, "mimeType": "image/png"}
        return by_user(image, tools.text("Please analyze the image above."))
    if params.name == "test_input_required_result_prompt":
        answer = tools.content_of(tools.answers_of(ctx).get("user_context"))
        if answer is None:
            question = tools.form("What context should the prompt use?", context={"type": "string"})
            return tools.input_required({"user_context": question})
        return by_user(tools.text(f"The context is {answer.get('context')}."))
    raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")


async def complete(ctx, params):
    values = [word for word in ("paris", "park", "party", "test") if word.startswith(params.argument.value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


# ---- serving ----


class Events(EventStore):
    """Events of all streams in their order, for clients that come back."""

    def __init__(self):
        self.kept = []

    async def store_event(self, stream_id, message):
        self.kept.append((stream_id, message))
        return str(len(self.kept))

    async def replay_events_after(self, last_event_id, send_callback):
        at = int(last_event_id)
        stream_id = self.kept[at - 1][0]
        for number, (stream, message) in enumerate(self.kept[at:], at + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def whole(handler):
    """The handler with the word for a whole result, which revisions before 2026-07-28 leave out again."""

    async def told(ctx, params):
        return {"resultType": "complete", **await handler(ctx, params)}

    return told


def make_server():
    warnings.simplefilter("ignore")  # of what later revisions have deprecated
    server = Server(
        "conformance",
        version="1",
        cache_hints={method: CacheHint(ttl_ms=60_000, scope="public") for method in CACHEABLE_METHODS},
        on_list_tools=whole(list_tools),
        on_call_tool=whole(call_tool),
        on_list_resources=whole(list_resources),
        on_list_resource_templates=whole(list_templates),
        on_read_resource=whole(read_resource),
        on_subscribe_resource=acknowledge,
        on_unsubscribe_resource=acknowledge,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=whole(list_prompts),
        on_get_prompt=whole(get_prompt),
        on_completion=whole(complete),
        on_set_logging_level=acknowledge,
    )
    for method, handler in extensions.METHODS.items():
        server.add_request_handler(method, extensions.AnyParams, handler)
    server.extensions = {extensions.TASKS: {}, extensions.SKILLS: {"directoryRead": True}}
    return server


async def over_stdio(server):
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        asyncio.run(over_stdio(make_server()))
    else:
        app = make_server().streamable_http_app(event_store=Events(), retry_interval=100)
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
