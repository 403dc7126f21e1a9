"""`failsoft lab storm`."""

import json
from pathlib import Path

import pytest

from failsoft.cli.app import run

QUICK = ["lab", "storm", "--clients", "200", "--minutes", "2"]


def test_storm_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a strategy on stdout; what was simulated goes to stderr."""
    assert run(QUICK) == 0
    out, err = capsys.readouterr()
    assert [line.split("  ")[0].strip() for line in out.splitlines()] == [
        "strategy",
        "no retry",
        "naive retry",
        "backoff",
        "+ jitter",
        "+ budget",
        "+ breaker",
    ]
    assert "200 clients" in err


def test_storm_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` has the set-up and every run with its series."""
    assert run([*QUICK, "--seed", "7", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["seed"], data["seconds"], len(data["runs"])) == (7, 120, 6)
    first = data["runs"][0]
    assert first["amplification"] == 1
    assert len(first["offered"]) == 120


@pytest.mark.slow
def test_storm_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--svg` draws to a file."""
    file = tmp_path / "storm.svg"
    assert run([*QUICK, "--svg", str(file)]) == 0
    assert file.read_text("utf-8").startswith("<?xml")
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--load", "2"], ["--svg", "storm.txt"], ["--clients", "0"]], ids=str)
def test_misuse(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot work is said before anything is simulated."""
    assert run([*QUICK, *wrong]) == 2
    assert capsys.readouterr().err
