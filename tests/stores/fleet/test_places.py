"""One prober for each machine."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from failsoft.stores.fleet._places import Places

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such locks there")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_one_at_a_time() -> None:
    """A place is taken once, also within a process, and again when it was left."""
    one, other = Places("fleet"), Places("fleet")
    place = one.take("pay")
    assert place is not None
    assert other.take("pay") is None
    assert other.take("ask") is not None
    place.leave()
    place.leave()
    assert other.take("pay") is not None


def test_fleets_are_apart() -> None:
    """Two fleets do not refuse each other."""
    one, other = Places("a").take("pay"), Places("b").take("pay")
    assert one is not None
    assert other is not None


def test_the_dead_leave() -> None:
    """A process that was killed holds no place."""
    code = (
        "import os, sys; from failsoft.stores.fleet._places import Places\n"
        "place = Places('fleet').take('pay'); print(place is not None, flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n"
    assert Places("fleet").take("pay") is not None


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    """Where the folder is a link or not ours, there are no locks, and everybody goes on."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"failsoft-{os.getuid()}").symlink_to(elsewhere)
    first, second = Places("fleet").take("pay"), Places("fleet").take("pay")
    assert first is not None
    assert second is not None
    assert not list(elsewhere.iterdir())


def test_locks_are_for_nobody_else(tmp_path: Path) -> None:
    """Folder and file can be opened by their user only."""
    place = Places("fleet").take("pay")
    folder = tmp_path / f"failsoft-{os.getuid()}"
    assert place is not None
    assert folder.stat().st_mode & 0o077 == 0
    assert [file.stat().st_mode & 0o077 for file in folder.iterdir()] == [0]
