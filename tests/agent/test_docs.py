"""The agent's how-to pages: their code runs, and what they say is printed is printed."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from failsoft.harness.builder import HarnessWarning
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool
from tests.agent.providers import provider
from tests.agent.servers.base import Line
from tests.cli.model_server import model
from tests.cli.test_docs import _BLOCK, _compare, _session, _typed

DOCS = Path(__file__).parents[2] / "docs" / "how-to"


def python_of(page: str) -> str:
    """The Python of a page, its blocks one after another."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return "\n".join(body for kind, body in _BLOCK.findall(text) if kind == "python")


@tool(read_only=True)
async def stock(item: str) -> int:
    """How many there are of an item."""
    return 12


ASKS = [Line(calls=(("stock", {"item": "teapot"}), ("stock", {"thing": "x"}))), Line(text="There are 12.")]


@pytest.mark.parametrize(("api", "name"), [("chat", "chat"), ("responses", "responses")])
async def test_the_loops_on_openais_sdk_run(api, name):
    """Two calls, one of them wrong, are answered in the provider's shape; nothing is refused."""
    import openai

    space: dict = {"MODEL": "m"}
    exec(python_of("write-your-own-loop"), space)  # the page's own code
    async with provider(api, ASKS) as (server, _), Harness([stock], store="memory") as harness:
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{server.origin}/v1", max_retries=0)
        assert await space[name](client, harness, "How many?") == "There are 12."
        await client.close()
    assert len(server.bodies) == 2
    assert "12" in str(server.bodies[1])
    assert "invalid_argument" in str(server.bodies[1])


async def test_the_loop_on_geminis_sdk_runs():
    """The same with the SDK's own types for what comes back; it takes what is sent."""
    types = pytest.importorskip("google.genai.types")
    space: dict = {"MODEL": "m"}
    exec(python_of("write-your-own-loop"), space)
    asked = []

    async def generate_content(*, model, contents, config):
        asked.append([types.Content.model_validate(content) for content in contents])
        types.GenerateContentConfig.model_validate(config)
        call = types.FunctionCall(name="stock", args={"item": "teapot"})
        part = types.Part(function_call=call) if len(asked) == 1 else types.Part(text="There are 12.")
        content = types.Content(role="model", parts=[part])
        return types.GenerateContentResponse(
            candidates=[types.Candidate(content=content, finish_reason="STOP")]
        )

    client = SimpleNamespace(aio=SimpleNamespace(models=SimpleNamespace(generate_content=generate_content)))
    async with Harness([stock], store="memory") as harness:
        assert await space["gemini"](client, harness, "How many?") == "There are 12."
    answer = asked[1][-1].parts[0].function_response
    assert (answer.name, "12" in str(answer.response)) == ("stock", True)


async def test_the_local_model_page_runs():
    """Against any endpoint that speaks Chat Completions, without a key."""
    async with provider("chat", [ASKS[0], ASKS[1]]) as (server, _):
        text = python_of("use-a-local-model").replace("http://127.0.0.1:11434", server.origin)
        space: dict = {}
        exec(text, space)
        assert await space["main"]() == "There are 12."


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_session_on_the_page_about_waiting_runs_is_what_is_printed(tmp_path, monkeypatch):
    """The run waits with the printed commands, and goes on with them in another process."""
    text = (DOCS / "answer-a-waiting-run.md").read_text("utf-8")
    lines = [Line(calls=(("delete_folder", {"path": "drafts"}),)), Line(text="The drafts are gone.")]
    ran = 0
    with model(lines) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        for kind, body in _BLOCK.findall(text):
            head = re.match(r"# (\w+\.py)\n", body)
            if head:
                (tmp_path / head[1]).write_text(body, encoding="utf-8")
            elif kind == "console":
                for command, expected in _session(body):
                    _compare(_typed(command, tmp_path), expected, {})
                    ran += 1
    assert ran == 2


@pytest.mark.process
async def test_the_page_about_mcp_servers_runs(tmp_path, monkeypatch):
    """Its function answers with the help of a real server."""
    monkeypatch.setenv("TOY_EFFECTS", str(tmp_path / "effects"))
    server = Path(__file__).parents[1] / "adapters" / "mcp" / "toy_server.py"
    space: dict = {}
    exec(python_of("use-mcp-tools"), space)
    client = ScriptedClient([[("look", {"n": 4})]], then="Four.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HarnessWarning)
        monkeypatch.chdir(tmp_path)
        assert await space["answer"](client, f"{sys.executable} -u {server}", "How many?") == "Four."
    assert "look 4" in str(client.requests[1].messages)
