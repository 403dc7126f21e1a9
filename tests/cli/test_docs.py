"""The pages say what the commands say: help texts are compared, and every session on a how-to page is run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tools import cli_page
from failsoft.harness.settings import load_settings

DOCS = cli_page.PAGE.parents[1]
PAGES = [
    DOCS / "how-to" / f"{name}.md"
    for name in (
        "change-policies-without-code",
        "check-tools-in-ci",
        "explain-an-error",
        "resolve-a-doubt",
        "see-what-happened",
    )
]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_DOUBT = re.compile(r"doubt_[0-9a-f]+")


def test_the_reference_is_the_commands_help():
    """`docs/tools/cli_page.py` was run after the last change of a command."""
    assert cli_page.PAGE.read_text("utf-8") == cli_page.page()


def test_the_files_on_the_configuration_page_are_read(tmp_path, monkeypatch):
    """Every TOML block is a file that works."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAILSOFT_CONFIG", raising=False)
    text = (DOCS / "reference" / "configuration.md").read_text("utf-8")
    blocks = [body for kind, body in _BLOCK.findall(text) if kind == "toml"]
    assert blocks
    for block in blocks:
        Path("failsoft.toml").write_text(block)
        settings = load_settings()
        assert settings.policy.said
        assert settings.tools["refund"].breaker.open_s == 60


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_on_how_to_pages_run(page, tmp_path):
    """What a page says to type gives what the page says; `…` stands for anything."""
    ids: dict[str, str] = {}
    ran = 0
    for kind, body in _BLOCK.findall(page.read_text("utf-8")):
        head, _, _ = body.partition("\n")
        if head.startswith("# ") and head[2:].endswith((".py", ".toml")):
            (tmp_path / head[2:]).write_text(body, encoding="utf-8")
        elif kind == "console":
            for command, expected in _session(body):
                _compare(_typed(_with(ids, command), tmp_path), expected, ids)
                ran += 1
    assert ran


def _session(body: str) -> list[tuple[str, str]]:
    """Commands with what they print; a command goes on over the lines in which its quotes are open."""
    steps: list[list[str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], ""])
        elif steps[-1][0].count("'") % 2:
            steps[-1][0] += "\n" + line
        else:
            steps[-1][1] += line + "\n"
    return [(command, printed) for command, printed in steps]


def _typed(command: str, folder: Path) -> str:
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    for name, words in (("failsoft", "-m failsoft "), ("python", "")):
        script = bin_folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        script.chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FAILSOFT_", "PYTEST", "COV"))
    }
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**kept, "PATH": f"{bin_folder}:{kept['PATH']}", "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.stdout


def _with(ids: dict[str, str], text: str) -> str:
    """The page's ids replaced by the real ones."""
    return _DOUBT.sub(lambda found: ids.get(found[0], found[0]), text)


def _compare(printed: str, expected: str, ids: dict[str, str]) -> None:
    if (told := _DOUBT.search(expected)) and (real := _DOUBT.search(printed)):
        ids.setdefault(told[0], real[0])
    pattern = re.escape(_squeezed(_with(ids, expected))).replace("…", ".*?")
    assert re.fullmatch(pattern, _squeezed(printed), re.DOTALL), f"wanted:\n{expected}\ngot:\n{printed}"


def _squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
