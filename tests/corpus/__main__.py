"""`./run corpus`: makes an environment with the real libraries beside the ordinary one, then judges every case.

    python -m tests.corpus            the report
    python -m tests.corpus --show     every message too

The environment is `.corpus-venv` (or what FAILSOFT_CORPUS_VENV names); it is made again when the list of libraries changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_WANTED = Path(__file__).with_name("requirements.txt")
_MARK = ".corpus-requirements"


def _say(line: str) -> None:
    print(f"corpus: {line}", file=sys.stderr, flush=True)


def _make(folder: Path) -> None:
    """A venv with pip; a Python without ensurepip is served by uv or virtualenv where one is at hand."""
    if shutil.which("uv"):
        command = ["uv", "venv", "-q", "--clear", "--python", sys.executable, str(folder)]
        if subprocess.run(command, check=False).returncode == 0:
            return
    try:
        venv.create(folder, with_pip=True, clear=True)
    except Exception:
        subprocess.run([sys.executable, "-m", "virtualenv", "-q", str(folder)], check=True)


def _install(python: Path) -> None:
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if shutil.which("uv"):
        pip = ["uv", "pip", "install", "-q", "--python", str(python)]
    subprocess.run([*pip, "-r", str(_WANTED)], check=True)


def _environment() -> Path:
    folder = Path(os.environ.get("FAILSOFT_CORPUS_VENV") or _ROOT / ".corpus-venv")
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = hashlib.sha256(_WANTED.read_bytes()).hexdigest()
    mark = folder / _MARK
    if python.exists() and mark.exists() and mark.read_text() == wanted:
        return python
    _say(f"installing the libraries into {folder.name}; this takes a minute or two")
    if not python.exists():
        _make(folder)
    _install(python)
    mark.write_text(wanted)
    return python


def main() -> int:
    """Runs the check in its environment; 3 when that cannot be made."""
    try:
        python = _environment()
    except (OSError, subprocess.CalledProcessError) as problem:
        _say(f"could not make the environment: {problem}\nhint: it needs a package index that pip can reach")
        return 3
    path = os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))
    settings = {**os.environ, "PYTHONPATH": path, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [str(python), "-m", "tests.corpus.check", *sys.argv[1:]]
    return subprocess.run(command, cwd=_ROOT, env=settings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
