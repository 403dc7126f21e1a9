"""The tools of MCP servers in a harness: real servers, started and ended by the tests."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from failsoft.adapters.mcp import mcp_tools
from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.effects import ServerOptions
from failsoft.adapters.mcp.restarts import Restarts
from failsoft.agent import Agent
from failsoft.core.errors import AgentError, UsageError
from failsoft.harness.harness import Harness
from failsoft.policies import Policy, Timeout
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool

HERE = Path(__file__).parent
TOY, SDK = HERE / "toy_server.py", HERE / "sdk_server.py"
ARGV = (sys.executable, "-u", str(TOY))
COMMAND = f"{sys.executable} -u {TOY}"
QUICK = Policy(timeout=Timeout(attempt_s=2.0, total_s=8.0))

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::failsoft.harness.builder.HarnessWarning"),
]


@pytest.fixture(autouse=True)
def noted(monkeypatch, effects):
    """The toy server notes its effects where the test reads them."""
    monkeypatch.setenv("TOY_EFFECTS", str(effects.path))


def harness(tools, **options):
    return Harness(tools, store="memory", policy=QUICK, **options)


async def test_all_pages_are_listed_and_annotations_make_the_policy():
    """A tool is repeatable, protected or undeclared as its server says; a broken schema does not take it away."""
    async with mcp_tools(COMMAND) as tools:
        assert [(each.name, str(each.standing)) for each in tools] == [
            ("look", "repeatable"),
            ("act", "protected"),
            ("put", "repeatable"),
            ("plain", "undeclared"),
            ("odd", "repeatable"),
        ]
        assert tools[0].schema["properties"].keys() == {"n", "how"}
        assert repr(tools) == "McpTools(look, act, put, plain, odd)"


async def test_a_call_goes_through_the_whole_path(effects):
    """Arguments are read and checked here, and the server gets what they mean."""
    async with mcp_tools(ARGV) as tools, harness(tools) as made:
        wrong = await made.call("act", '{"n": "many"}')
        assert (wrong.ok, wrong.failure.kind, effects.lines("try")) == (False, "invalid_argument", [])
        right = await made.call("act", '```json\n{"n": 3,}\n```')
        assert (right.ok, right.value["structuredContent"]) == (True, {"n": 3})
        assert effects.lines("try") == ["try act 3 "]


async def test_what_a_server_gives_is_readable():
    """Text stays, pictures become blocks, and a structured part that no text tells is added to it."""
    async with mcp_tools(COMMAND) as tools, harness(tools) as made:
        result = await made.call("look", {"n": 2})
        assert (result.content, result.value["structuredContent"]) == ("look 2", {"n": 2})
        picture, words = (await made.call("look", {"how": "image"})).content
        assert (picture["type"], picture["source"]["media_type"]) == ("image", "image/png")
        assert words == {"type": "text", "text": '{"n": 0}'}


@pytest.mark.parametrize(
    ("name", "attempts", "kind", "effect"),
    [("look", 2, None, None), ("put", 2, None, None), ("act", 1, "unavailable", "possible")],
)
async def test_a_crash_in_a_call_is_repeated_only_where_that_is_safe(effects, name, attempts, kind, effect):
    """The server is started again; a tool that acts has run once, and its call is in doubt."""
    async with mcp_tools(COMMAND) as tools, harness(tools) as made:
        result = await made.call(name, {"how": "crash after", "n": 5})
        assert (result.ok, result.attempts) == (kind is None, attempts)
        if result.error is not None:
            assert (result.error.kind, result.error.effect, bool(result.doubt)) == (kind, effect, True)
            assert len(effects.lines("effect")) == 1
            assert (await made.call(name, {"how": "crash after", "n": 5})).failure.kind == "in_doubt"
        assert (await made.call("look", {"n": 6})).ok
        assert len(effects.lines("initialize")) == 2


async def test_a_server_that_keeps_crashing_is_left_alone(effects):
    """Restarts have a budget; when it is used up a call is refused at once, and nothing was sent."""
    spec = ServerSpec(name="toy", argv=ARGV, restarts=Restarts(most=1, rest_s=60))
    async with mcp_tools(spec) as tools, harness(tools) as made:
        await made.call("look", {"how": "crash always"})
        result = await made.call("act", {"n": 1})
        assert (result.failure.reason, result.failure.effect, result.doubt) == ("server_down", "none", None)
        assert effects.lines("effect") == []


@pytest.mark.parametrize(
    ("name", "effect", "in_doubt"),
    [("look", "none", False), ("act", "possible", True), ("plain", "possible", True)],
)
async def test_an_error_in_words_is_judged_like_an_exception(name, effect, in_doubt):
    """The model reads the server's own words; they prove nothing where the tool acts."""
    async with mcp_tools(COMMAND) as tools, harness(tools) as made:
        result = await made.call(name, {"how": "is error"})
        assert (result.failure.message, result.failure.effect) == ("busy, come back", effect)
        assert (bool(result.doubt), "busy, come back" in result.content) == (in_doubt, True)


async def test_error_rules_say_what_words_mean(effects):
    """The same rules as in the proxy's file: a kind, and that nothing was done, which allows another attempt."""
    rule = {"match": "busy", "kind": "rate_limited", "effect": "none", "retry_after_s": 0.05}
    options = ServerOptions(tools={"act": {"errors": [rule]}})
    async with mcp_tools(COMMAND, options=options) as tools, harness(tools) as made:
        result = await made.call("act", {"how": "busy once", "n": 1})
        assert (result.ok, result.attempts, len(effects.lines("try act"))) == (True, 2, 2)


async def test_a_protocol_error_keeps_its_meaning():
    """Wrong parameters had no effect; an internal error may have had one."""
    async with mcp_tools(COMMAND) as tools, harness(tools) as made:
        wrong, broken = await made.call("act", {"how": "error"}), await made.call("act", {"how": "broken"})
        assert (wrong.failure.kind, wrong.failure.effect, wrong.doubt) == ("invalid_argument", "none", None)
        assert (broken.failure.kind, broken.failure.effect, bool(broken.doubt)) == (
            "internal",
            "possible",
            True,
        )


async def test_a_hang_is_timed_out_and_the_server_told(effects):
    """The call ends by its own time, the server hears of it, and other calls go on."""
    async with (
        mcp_tools(COMMAND) as tools,
        Harness(tools, store="memory", policy=Policy(timeout=0.3)) as made,
    ):
        result = await made.call("act", {"how": "hang"})
        assert (result.failure.kind, result.failure.effect) == ("timeout", "possible")
        assert (await made.call("look")).ok
        assert len(effects.lines("cancelled")) == 1


async def test_progress_reaches_the_caller():
    """What a server tells of its progress is told on."""
    told = []
    async with mcp_tools(COMMAND) as tools, harness(tools) as made:
        assert (await made.call("look", {"how": "progress"}, on_progress=told.append)).ok
    assert [(step.done, step.total) for step in told] == [(step, 5) for step in range(5)]


async def test_names_that_clash_get_their_servers_name():
    """Two servers, and a tool of one's own, which keeps its name."""

    @tool(read_only=True)
    async def plain() -> str:
        """One's own."""
        return "own"

    one, two = (ServerSpec(name=name, argv=ARGV) for name in ("one", "two"))
    async with mcp_tools(one, two) as tools:
        assert [each.name for each in tools][:2] == ["one__look", "one__act"]
        async with harness(tools) as made:
            assert (await made.call("two__look", {"n": 1})).ok
    async with mcp_tools(one) as tools, harness(tools.plus(plain)) as made:
        assert [each.name for each in made.tools][:6] == ["look", "act", "put", "one__plain", "odd", "plain"]
        assert (await made.call("plain")).value == "own"
        assert (await made.call("one__plain", {"n": 2})).ok


async def test_a_changed_list_is_taken_over_at_the_next_turn(tmp_path):
    """The model of a running task sees the new tool in the turn after the server told of it, and not the old one."""
    state = tmp_path / "tools.json"
    state.write_text('["grow", "old"]')
    async with mcp_tools([sys.executable, str(HERE / "changing_server.py"), str(state)]) as tools:
        client = ScriptedClient([[("grow", {"tools": ["grow", "fresh"]})], [("fresh", {})]], then="done")
        async with harness(tools) as made:
            before = {each.name: each for each in made.tools}
            outcome = await Agent(client, made).run("Go.")
            assert [result.ok for result in outcome.calls] == [True, True], outcome.summary()
            listed = [[each["name"] for each in request.tools] for request in client.requests]
            assert [set(names) & {"old", "fresh"} for names in listed] == [{"old"}, {"fresh"}, {"fresh"}]
            assert before["grow"] is next(each for each in made.tools if each.name == "grow")
            assert not await made.refresh_tools()
        assert tools.instructions == f"{tools.servers[0]}: Grow first."


MODERN = """
import json, sys
KEYS = {f"io.modelcontextprotocol/{key}" for key in ("protocolVersion", "clientInfo", "clientCapabilities")}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params") or {}
    answer = {"error": {"code": -32601, "message": "there is no handshake here"}}
    if KEYS <= set(params.get("_meta", {})):
        result = {"tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
                  "tools/call": {"content": [{"type": "text", "text": "seen"}]},
                  "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}[method]
        answer = {"result": {"resultType": "complete", **result}}
    print(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **answer}), flush=True)
"""


async def test_a_server_without_a_handshake_hears_with_each_request_who_asks():
    """As from 2026-07-28 on; one that takes neither is named with what it said."""
    async with mcp_tools([sys.executable, "-c", MODERN]) as tools, harness(tools) as made:
        assert (await made.call("look")).content == "seen"
    with pytest.raises(AgentError, match=r"refuses the handshake: .*there is no handshake here"):
        async with mcp_tools([sys.executable, "-c", MODERN.replace("KEYS <=", "None in")]):
            pass


async def test_calls_outside_of_their_time_and_loop_are_refused():
    """After the end, and from another loop, nothing is sent, and the message says what to do."""
    async with mcp_tools(COMMAND) as tools:
        made = harness(tools)
        astray = await asyncio.to_thread(lambda: made.call_sync("look", {}))
        assert (astray.failure.reason, "loop=that_loop" in astray.failure.message) == ("wrong_loop", True)
        loop = asyncio.get_running_loop()
        assert (await asyncio.to_thread(lambda: made.call_sync("look", {}, loop=loop))).ok
    result = await made.call("act", {})
    assert (result.failure.reason, result.failure.effect) == ("server_closed", "none")
    await made.aclose()


async def test_what_cannot_be_used_is_named():
    """The command line, and why."""
    for command, says in (
        ("no-such-server --x", "`no-such-server --x` cannot be used: There is no 'no-such-server'"),
        (f"{COMMAND} fail-start", "cannot be used: it ended with exit code 1."),
    ):
        with pytest.raises(AgentError, match=says.replace(".", r"\.")):
            async with mcp_tools(command):
                pass
    with pytest.raises(AgentError, match=r"not ready within 0\.3 s"):
        async with mcp_tools([sys.executable, "-c", "import time; time.sleep(60)"], start_s=0.3):
            pass
    for nothing in ((), ("",), ("a 'b",), ([],), ([1],)):
        with pytest.raises(UsageError, match="hint: mcp_tools"):
            async with mcp_tools(*nothing):
                pass


async def test_everything_that_a_server_started_ends_with_the_block(tmp_path):
    """Also what has left the server's own process group."""
    mark = f"1234{os.getpid()}"
    server = tmp_path / "server.py"
    server.write_text(TOY.read_text().replace('"1234"', f'"{mark}"'))
    async with mcp_tools([sys.executable, "-u", str(server), "stay"]) as tools, harness(tools) as made:
        assert (await made.call("act", {"how": "orphan"})).ok
        assert [line for line in _running() if line.endswith(f"sleep {mark}")]
    assert [line for line in _running() if mark in line or str(server) in line] == []


def _running():
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return said.splitlines()


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_the_official_sdks_server_is_used(over, unused_tcp_port):
    """Over a pipe and over HTTP: text, progress, and a failure in words."""
    server = None
    if over == "http":
        server = await asyncio.create_subprocess_exec(
            sys.executable, str(SDK), str(unused_tcp_port), stderr=subprocess.DEVNULL
        )
        await _listens(unused_tcp_port)
    what = f"{sys.executable} {SDK} stdio" if over == "stdio" else f"http://127.0.0.1:{unused_tcp_port}/mcp"
    steps = []
    try:
        async with mcp_tools(what) as tools, Harness(tools, store="memory") as made:
            assert [each.name for each in tools] == ["echo", "steps", "broken"]
            assert (await made.call("echo", {"text": "hello"})).content == "hello"
            assert (await made.call("steps", on_progress=steps.append)).content == "done"
            failed = await made.call("broken")
            assert (failed.ok, "Error executing tool broken" in failed.content) == (False, True)
    finally:
        if server is not None:
            server.kill()
            await server.wait()
    assert [step.message for step in steps] == ["step 0", "step 1", "step 2"]


async def _listens(port):
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        await writer.wait_closed()
        return
    raise TimeoutError


@pytest.mark.slow
async def test_a_server_behind_failsoft_tells_its_errors_whole(tmp_path):
    """Kind, effect and wait of an error come through a server that is served by failsoft."""
    (tmp_path / "desk.py").write_text(
        "from failsoft import tool\nfrom failsoft.errors import RateLimited\n\n\n"
        "@tool(read_only=False)\ndef send(to: str) -> str:\n    '''Send.'''\n"
        "    raise RateLimited('slow down', retry_after_s=70, effect='none')\n"
    )
    command = [sys.executable, "-m", "failsoft", "serve", "desk"]
    spec = ServerSpec(name="desk", argv=tuple(command), cwd=str(tmp_path))
    async with mcp_tools(spec) as tools, harness(tools) as made:
        error = (await made.call("send", {"to": "ann"})).failure
        assert (error.kind, error.effect, error.retry_after_s, error.message) == (
            "rate_limited",
            "none",
            70,
            "slow down",
        )
