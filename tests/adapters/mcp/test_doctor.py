"""`failsoft mcp --doctor`."""

import json
import sys
from pathlib import Path

import pytest

from failsoft.adapters.mcp.config import ServerSpec
from failsoft.adapters.mcp.doctor import snippet_for
from failsoft.adapters.mcp.effects import ServerOptions

TOY = str(Path(__file__).parent / "toy_server.py")


@pytest.fixture
def cli(monkeypatch, tmp_path):
    from failsoft.cli.app import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILSOFT_CONFIG", "none")
    monkeypatch.setenv("TOY_EFFECTS", str(tmp_path / "effects"))
    return lambda *arguments: run(["mcp", "--doctor", *arguments])


@pytest.mark.process
@pytest.mark.slow
def test_it_tells_what_it_found(cli, capsys, tmp_path):
    """The doctor names server, tools, effects and what to add, calls no tool, and prints an entry that can be pasted."""
    assert cli("--name", "toy", "--", sys.executable, TOY) == 0
    told = capsys.readouterr().out
    assert "toy 1: protocol 2025-11-25" in told
    assert "repeatable" in told
    assert "Nothing is known of the effects of: plain." in told
    entry = json.loads(told[told.index('{\n  "mcpServers"') :])
    assert entry["mcpServers"]["toy"]["args"] == ["mcp", "--name", "toy", "--", sys.executable, TOY]
    assert "try" not in (tmp_path / "effects").read_text()


@pytest.mark.process
@pytest.mark.slow
def test_it_speaks_json(cli, capsys):
    """With `--json` the same is one document."""
    assert cli("--json", "--name", "toy", "--", sys.executable, TOY) == 0
    found = json.loads(capsys.readouterr().out)["toy"]
    standing = {tool["name"]: tool["standing"] for tool in found["tools"]}
    assert standing == {
        "look": "repeatable",
        "act": "protected",
        "put": "repeatable",
        "plain": "undeclared",
        "odd": "repeatable",
    }
    assert found["ping_ms"] > 0


@pytest.mark.process
@pytest.mark.slow
def test_a_server_that_does_not_start_is_said(cli, capsys):
    """A server that ends at once gives exit code 1 and a reason."""
    assert cli("--restarts", "0", "--", sys.executable, TOY, "fail-start") == 1
    assert "exit code 1" in capsys.readouterr().err


def test_the_entry_keeps_what_was_said():
    """What the user says of tools and trust is in the entry that is printed."""
    spec = ServerSpec(
        name="a",
        argv=("x",),
        env={"K": "v"},
        options=ServerOptions(
            trust="cautious", tools={"get_*": {"read_only": True}, "rm": {"destructive": True}}
        ),
    )
    entry = snippet_for(spec)["mcpServers"]["a"]
    words = [
        "mcp",
        "--name",
        "a",
        "--trust",
        "cautious",
        "--read-only",
        "get_*",
        "--destructive",
        "rm",
        "--",
        "x",
    ]
    assert entry == {"command": "failsoft", "args": words, "env": {"K": "v"}}
