"""What the conformance suite's scenarios ask of a server's tools: the ones that answer, and the ones that ask back."""

import asyncio
import hashlib
import hmac
import json

import mcp_types as types
from mcp.shared.exceptions import MCPError

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MISSING_CAPABILITY = -32021
SECRET = b"only for tests"


def text(words):
    return {"type": "text", "text": words}


def said(words):
    return {"content": [text(words)]}


def capabilities_of(ctx):
    """What the request itself says that its client can do."""
    return ((ctx.params or {}).get("_meta") or {}).get(CAPABILITIES) or {}


# ---- tools that answer ----


def simple(ctx, arguments):
    return said("This is a simple text response for testing.")


def image(ctx, arguments):
    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}


def audio(ctx, arguments):
    return {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]}


def resource(uri, mime, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


def embedded(ctx, arguments):
    return {
        "content": [
            resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ]
    }


def mixed(ctx, arguments):
    data = json.dumps({"test": "data", "value": 123})
    return {
        "content": [
            text("Multiple content types test:"),
            *image(ctx, arguments)["content"],
            resource("test://mixed-content-resource", "application/json", data),
        ]
    }


def failing(ctx, arguments):
    return {**said("This tool intentionally returns an error for testing"), "isError": True}


async def logging(ctx, arguments):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return said("The tool has logged three messages.")


async def progress(ctx, arguments):
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(0.05)
    return said("The tool has told of its progress.")


async def reconnection(ctx, arguments):
    """Close the stream of this very request, where there is one, and answer on the next."""
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(0.3)
    return said("The answer has come after the stream was closed.")


def echo(ctx, arguments):
    return said(json.dumps(arguments, sort_keys=True))


# ---- tools that ask the client while they run (until 2025-11-25) ----


async def sampling(ctx, arguments):
    words = types.TextContent(type="text", text=str(arguments.get("prompt", "")))
    answer = await ctx.session.create_message(
        [types.SamplingMessage(role="user", content=words)],
        max_tokens=100,
        related_request_id=ctx.request_id,
    )
    return said(f"LLM response: {getattr(answer.content, 'text', '')}")


async def elicited(ctx, message, properties, required=()):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return answer.action, json.dumps(answer.content)


async def elicitation(ctx, arguments):
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    action, content = await elicited(ctx, arguments.get("message", ""), properties, properties)
    return said(f"User response: action: {action}, content: {content}")


async def defaults(ctx, arguments):
    states = ["active", "inactive", "pending"]
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    action, content = await elicited(ctx, "Please look at the defaults.", properties)
    return said(f"Elicitation completed: action={action}, content={content}")


async def enums(ctx, arguments):
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)
    ]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    action, content = await elicited(ctx, "Please choose.", properties)
    return said(f"Elicitation completed: action={action}, content={content}")


# ---- tools that answer with a question (from 2026-07-28 on) ----


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def asked(words, tokens=100):
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", name={"type": "string"})


def input_required(requests, state=None):
    made = {"resultType": "input_required", "inputRequests": requests}
    return made if state is None else {**made, "requestState": sealed(state)}


def sealed(state):
    return f"{state}.{hmac.new(SECRET, state.encode(), hashlib.sha256).hexdigest()}"


def opened(state):
    """The state that a client has echoed; None where there is none."""
    if state is None:
        return None
    words = str(state).rpartition(".")[0]
    if not hmac.compare_digest(sealed(words), str(state)):
        raise MCPError(code=types.INVALID_PARAMS, message="The request state was tampered with.")
    return words


def answers_of(ctx):
    given = (ctx.params or {}).get("inputResponses")
    return given if isinstance(given, dict) else {}


def content_of(answer):
    content = answer.get("content") if isinstance(answer, dict) else None
    return content if isinstance(content, dict) else None


def asks(requests, state=None):
    """A tool that asks all of this in one round, and then says what it was told."""

    def tool(ctx, arguments):
        answers = answers_of(ctx)
        if state is not None:
            opened((ctx.params or {}).get("requestState"))
        if not all(isinstance(answers.get(key), dict) for key in requests):
            return input_required(requests, state)
        told = {key: answers[key] for key in requests}
        return said(f"Hello, state-ok: {json.dumps(told)}")

    return tool


def multi_round(ctx, arguments):
    state = opened((ctx.params or {}).get("requestState"))
    answers = answers_of(ctx)
    if state == "two" and "step2" in answers:
        return said(f"Both steps are done: {json.dumps(answers['step2'])}")
    if state == "one" and "step1" in answers:
        return input_required(
            {"step2": form("Step 2: What is your favorite color?", color={"type": "string"})}, "two"
        )
    return input_required({"step1": form("Step 1: What is your name?", name={"type": "string"})}, "one")


def as_capable(ctx, arguments):
    able = capabilities_of(ctx)
    possible = {"sampling": asked("Say something."), "elicitation": NAME, "roots": ROOTS}
    return input_required({word: request for word, request in possible.items() if word in able})


def missing_capability(ctx, arguments):
    if "sampling" not in capabilities_of(ctx):
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(code=MISSING_CAPABILITY, message="This tool needs sampling.", data=data)
    return said("The client can sample.")


CONFIRM = {"confirm": form("Please confirm", ok={"type": "boolean"})}
NOTHING = {"type": "object", "properties": {}}
DIALECT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "note": {"type": "string"},
    },
    "required": ["region"],
}


def taking(*names):
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }


TOOLS = {
    "test_simple_text": (simple, NOTHING),
    "test_image_content": (image, NOTHING),
    "test_audio_content": (audio, NOTHING),
    "test_embedded_resource": (embedded, NOTHING),
    "test_multiple_content_types": (mixed, NOTHING),
    "test_tool_with_logging": (logging, NOTHING),
    "test_logging_tool": (logging, NOTHING),
    "test_error_handling": (failing, NOTHING),
    "test_tool_with_progress": (progress, NOTHING),
    "test_reconnection": (reconnection, NOTHING),
    "test_sampling": (sampling, taking("prompt")),
    "test_elicitation": (elicitation, taking("message")),
    "test_elicitation_sep1034_defaults": (defaults, NOTHING),
    "test_elicitation_sep1330_enums": (enums, NOTHING),
    "json_schema_2020_12_tool": (echo, DIALECT),
    "test_custom_headers": (echo, REGION),
    "test_missing_capability": (missing_capability, NOTHING),
    "test_streaming_elicitation": (asks({"user_name": NAME}), NOTHING),
    "test_input_required_result_elicitation": (asks({"user_name": NAME}), NOTHING),
    "test_input_required_result_sampling": (
        asks({"capital_question": asked("What is the capital of France?")}),
        NOTHING,
    ),
    "test_input_required_result_list_roots": (asks({"client_roots": ROOTS}), NOTHING),
    "test_input_required_result_request_state": (asks(CONFIRM, "confirming"), NOTHING),
    "test_input_required_result_tampered_state": (asks(CONFIRM, "confirming"), NOTHING),
    "test_input_required_result_multiple_inputs": (
        asks({"user_name": NAME, "greeting": asked("Generate a greeting", 50), "client_roots": ROOTS}, "all"),
        NOTHING,
    ),
    "test_input_required_result_multi_round": (multi_round, NOTHING),
    "test_input_required_result_capabilities": (as_capable, NOTHING),
}
