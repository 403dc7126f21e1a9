"""`failsoft check`: findings for people, for programs, and an exit code for CI."""

import json


def test_findings_end_with_1(cli, capsys):
    """A warning fails by default; each finding has its rule, the tally goes to stderr."""
    assert cli("check", "shop") == 1
    captured = capsys.readouterr()
    assert "undeclared: warning: its effects are not declared" in captured.out
    assert "[undeclared_effects]" in captured.out
    assert captured.err.startswith("4 tools: 0 errors, 2 warnings")


def test_how_much_fails_can_be_chosen(cli, capsys):
    """By severity, and rule by rule."""
    assert cli("check", "shop", "--fail-on", "error") == 0
    assert cli("check", "shop", "--fail-on", "never") == 0
    assert cli("check", "shop:price", "--fail-on", "warning") == 0
    assert cli("check", "shop:price", "--fail-on", "info") == 1
    quiet = ("--ignore", "undeclared_effects", "--ignore", "parameters")
    assert cli("check", "shop", *quiet) == 0
    assert "undeclared_effects" not in capsys.readouterr().out.split("info")[-1]


def test_findings_as_json(cli, capsys):
    """One array of tool, rule, severity, message and hint; several modules at once."""
    assert cli("check", "shop", "desk", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert {item["tool"] for item in found} >= {"undeclared", "greet"}
    assert set(found[0]) == {"tool", "rule", "severity", "message", "hint"}


def test_misuse_is_told(cli, capsys, tmp_path):
    """A rule or module that is not there, and a module that cannot be imported, end with code 2 and the reason."""
    (tmp_path / "half_written.py").write_text("import json\n\n1 / 0\n")
    for arguments, says in (
        (["shop", "--ignore", "nonsense"], "there is no rule 'nonsense'"),
        (["nowhere"], "there is no module 'nowhere'"),
        (["half_written"], "ZeroDivisionError: division by zero"),
        ([], "Missing argument"),
    ):
        assert cli("check", *arguments) == 2
        captured = capsys.readouterr()
        assert says in captured.err
        assert captured.out == ""
    assert cli("check", "half_written") == 2
    assert "half_written.py, line 3" in capsys.readouterr().err
