"""The project's own files, read and parsed once."""

import ast
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "failsoft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One Python file."""

    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        """The file's lines, without their ends."""
        return self.text.splitlines()

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders below the package and the file's stem: `("stores", "redis")`."""
        path = Path(self.path)
        below = path.parts[2:] if path.parts[:2] == ("src", PACKAGE) else path.parts
        return (*below[:-1], path.stem)

    @property
    def room(self) -> str:
        """The folder below the package, or the file's own name where it lies beside the rooms."""
        return self.parts[0]


def parse(path: str, text: str) -> Source:
    """Make a `Source` of text; `path` is relative to the project."""
    return Source(path=path, text=text, tree=ast.parse(text, path))


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file below the folders; a folder that is missing has none."""
    return tuple(_source(path) for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def _source(path: Path) -> Source:
    return parse(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or would be committed; in a tree without git, every file below the known folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        tops = ("src", "tests", "docs", "bench", "requirements", "changelog.d")
        paths = [path for top in tops for path in (ROOT / top).rglob("*")] + list(ROOT.glob("*.*"))
    else:
        paths = [ROOT / name for name in listed.split("\0") if name]
    return tuple(path for path in sorted(paths) if path.is_file() and "__pycache__" not in path.parts)
