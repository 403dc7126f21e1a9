"""What benchmarks fetch: whole or not at all, and once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import fetch


def test_what_could_not_be_fetched_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that fails leaves no folder behind, and the next one is tried."""
    monkeypatch.setattr(fetch, "CACHE", tmp_path)
    script = "import pathlib, sys; pathlib.Path(sys.argv[1], 'half').touch(); sys.exit({})"
    with pytest.raises(LookupError, match="could not fetch thing"):
        fetch._fetched("thing", lambda draft: [sys.executable, "-c", script.format(1), draft])
    assert not (tmp_path / "thing").exists()
    assert not [each for each in tmp_path.iterdir() if each.is_dir()]
    folder = fetch._fetched("thing", lambda draft: [sys.executable, "-c", script.format(0), draft])
    assert (folder / "half").exists()


def test_what_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second request runs nothing."""
    monkeypatch.setattr(fetch, "CACHE", tmp_path)
    (tmp_path / "thing").mkdir()
    assert fetch._fetched("thing", lambda draft: ["no-such-command", draft]) == tmp_path / "thing"
