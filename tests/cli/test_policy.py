"""`failsoft policy`: what holds, and where it was said."""

import json

from failsoft.policies.policy import PARTS

FILE = "[policy]\nbreaker = false\n\n[tools.pay]\ntimeout = { attempt_s = 9, total_s = 9 }\n"


def test_every_part_of_every_tool_is_printed_with_its_origin(cli, capsys, tmp_path):
    """Code, file and defaults are told apart, as text and as JSON."""
    (tmp_path / "failsoft.toml").write_text(FILE)
    assert cli("policy", "shop") == 0
    captured = capsys.readouterr()
    assert "pay (protected)" in captured.out
    assert "failsoft.toml [tools.pay]" in captured.out
    assert "resolve_doubt" not in captured.out
    assert f"file: {tmp_path / 'failsoft.toml'}" in captured.err
    assert "note: effects not declared: undeclared" in captured.err
    assert cli("policy", "shop", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == str(tmp_path / "failsoft.toml")
    price = data["tools"]["price"]
    assert set(price["policy"]) == set(PARTS) == set(price["origin"])
    assert price["policy"]["retry"]["max_attempts"] == 3
    assert price["policy"]["breaker"] is None
    assert {price["origin"][part] for part in ("retry", "breaker", "output")} == {
        "tool",
        "failsoft.toml",
        "default",
    }
    assert data["tools"]["pay"]["policy"]["timeout"]["attempt_s"] == 9


def test_single_tools_and_their_nesting(cli, capsys):
    """Names choose tools, built-in ones too, and `--nesting` shows what is inside of what."""
    assert cli("policy", "shop", "price", "resolve_doubt", "--nesting") == 0
    out = capsys.readouterr().out
    assert "pay" not in out
    assert out.index("total timeout") < out.index("retry") < out.index("attempt timeout")
    assert "resolve_doubt (repeatable)" in out


def test_without_a_module_the_defaults_and_the_file(cli, capsys, tmp_path):
    """What holds for a tool that nobody has said anything about."""
    assert cli("policy") == 0
    assert "any repeatable tool" in capsys.readouterr().out
    (tmp_path / "pyproject.toml").write_text("[tool.failsoft.policy]\nretry = 2\n")
    assert cli("policy", "--json") == 0
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert tools["any protected tool"]["origin"]["retry"] == "pyproject.toml"
    assert tools["any protected tool"]["policy"]["timeout"]["attempt_s"] == 60
    assert tools["any repeatable tool"]["policy"]["timeout"]["attempt_s"] == 30


def test_mistakes_end_with_2(cli, capsys, tmp_path):
    """An unknown tool and a file that cannot work are answered with the near words."""
    assert cli("policy", "shop", "prise") == 2
    assert "there is no tool 'prise'; tools: pay, price, open_safe, undeclared" in capsys.readouterr().err
    (tmp_path / "failsoft.toml").write_text("[policy]\nretri = 2\n")
    for words in (["policy"], ["policy", "shop"], ["call", "shop", "price", "{}"]):
        assert cli(*words) == 2
        assert "did you mean 'retry'" in capsys.readouterr().err
