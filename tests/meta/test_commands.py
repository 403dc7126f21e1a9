"""The project's command keeps its promises."""

import os
import re
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
