"""The project's command keeps its promises."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.meta.source import ROOT

pytestmark = pytest.mark.process

RUN = ROOT / "run"


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Start the command and wait for its end."""
    return subprocess.run([RUN, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_help_names_every_job(tmp_path: Path) -> None:
    """Each job that the command knows stands in its help, from any folder."""
    jobs = set(
        re.findall(r"^        (\w+)[ )|]", RUN.read_text("utf-8").partition("\nmain() {")[2], re.MULTILINE)
    )
    shown = run("help", cwd=tmp_path)
    assert shown.returncode == 0
    assert jobs
    assert jobs <= set(re.findall(r"^  (\w+)", shown.stdout, re.MULTILINE))


def test_unknown_job_is_misuse() -> None:
    """A job that does not exist ends with code 2 and the list of jobs on stderr."""
    ended = run("nonsense")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "unknown job: nonsense" in ended.stderr


@pytest.mark.parametrize("file", ["run", ".ci/run"])
def test_scripts_are_sound(file: str) -> None:
    """A script can be executed and bash can read it."""
    assert os.access(ROOT / file, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / file], check=True)


def test_missing_python_is_said(tmp_path: Path) -> None:
    """Where no Python fits, the command says what it looked for and what to do."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "cat", "cut", "dirname", "env", "sha256sum"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    env = {"PATH": str(tools), "HOME": "", "FAILSOFT_VENV": str(tmp_path / "venv")}
    ended = subprocess.run([RUN, "py"], env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "found no Python 3.11, 3.12 or 3.13" in ended.stderr
    assert "hint:" in ended.stderr


@pytest.mark.parametrize("code", [0, 1, 5])
def test_ci_ends_with_the_summary(tmp_path: Path, code: int) -> None:
    """What CI starts prints the runner's summary last and passes its exit code on."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "run").write_text(f"#!/bin/sh\necho '== 3 passed in 0.12s =='\necho late >&2\nexit {code}\n")
    (tmp_path / "run").chmod(0o755)
    ended = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stdout.splitlines()[-1] == "== 3 passed in 0.12s =="
