"""The commands, run in this process: what they print, and how they end."""

import json
import sys
from pathlib import Path

import pytest

from failsoft.cli.app import run

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _where(monkeypatch):
    """Commands find the module `desk` beside this file."""
    monkeypatch.chdir(HERE)
    yield
    sys.modules.pop("desk", None)
    while str(HERE) in sys.path:
        sys.path.remove(str(HERE))


def test_call_prints_what_the_model_reads(capsys):
    """The text goes to stdout and the exit code says whether it went well."""
    assert run(["call", "desk", "greet", '{"name": "Ann"}']) == 0
    assert capsys.readouterr().out == "hello Ann\n"
    assert run(["call", "desk:broken", "broken"]) == 1
    assert '"error": "network"' in capsys.readouterr().out


def test_call_tells_everything_as_json(capsys):
    """`--json` has the result's fields, repairs and error included."""
    assert run(["call", "desk", "greet", '```json\n{"name": "Ann"}\n```', "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ok"]
    assert data["repairs"]
    assert run(["call", "desk", "greet", "{", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "invalid_argument"


def test_call_says_when_a_person_is_needed(cli, capsys):
    """An approval, and a doubt that only a person may resolve, end with 3; a result with 0 and a failure with 1."""
    assert cli("call", "shop:open_safe", "open_safe") == 3
    assert cli("call", "shop:open_safe", "open_safe", "--approved") == 0
    arguments = ("call", "shop:pay", "pay", '{"account": "DE-9", "cents": 1}')
    assert cli(*arguments) == 1
    capsys.readouterr()
    assert cli(*arguments, "--json") == 3
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "in_doubt"
    assert cli("doubts", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_tools_lists_and_translates(capsys):
    """A table for people, rows as JSON, and the list as a provider wants it."""
    assert run(["tools", "desk"]) == 0
    assert "greet" in capsys.readouterr().out
    assert run(["tools", "desk", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["greet", "broken"]
    assert run(["tools", "desk", "--dialect", "anthropic"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["input_schema"]["required"] == ["name"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["call", "nowhere", "greet"], "there is no module 'nowhere'"),
        (["call", "desk:nothing", "greet"], "has no 'nothing'"),
        (["tools", "json"], "has no tools"),
        (["call", "desk.py", "greet"], "is a file"),
        (["nonsense"], "No such command"),
        (["demo", "--chaos", "7"], "not in the range"),
    ],
)
def test_misuse_ends_with_2_and_says_what_to_do(arguments, says, capsys):
    """A wrong command line is answered on stderr, with exit code 2."""
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert not captured.out


def test_tools_tell_where_they_run(capsys):
    """`auto` is told as what it comes to."""
    assert run(["tools", "desk", "--json"]) == 0
    assert {row["isolation"] for row in json.loads(capsys.readouterr().out)} <= {"inline", "thread"}
    assert run(["tools", "desk"]) == 0
    assert "isolation" in capsys.readouterr().out


def test_a_mistake_in_a_module_is_told_with_its_place(tmp_path, monkeypatch, capsys):
    """File and line of the module's own code, not of what it calls."""
    file = tmp_path / "mistaken_desk.py"
    file.write_text(
        "from failsoft import tool\n\n\n@tool(timeout_s=-1)\ndef greet(name: str) -> str:\n    'Greet.'\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["tools", "mistaken_desk"]) == 2
    told = capsys.readouterr().err
    assert "tool 'greet': timeout_s is a positive number" in told
    assert f"{file}, line 4" in told
