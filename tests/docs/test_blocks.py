"""What README and docs show is true: Python blocks run, and the files and commands that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]


def blocks(page, language):
    """The fenced blocks of one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """Every Python block of a page runs, one after another in one namespace, and prints what its comments say."""
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name}#{number}", "exec"), namespace)
    promised = re.findall(r"^ *print\(.*\)  # (.+)$", "\n".join(blocks(page, "python")), re.MULTILINE)
    if promised:
        assert capsys.readouterr().out.splitlines() == promised


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=str)
def test_links_lead_somewhere(page):
    """A relative link names a file or folder that is there."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
