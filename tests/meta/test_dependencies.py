"""Every dependency is known, explained and locked."""

import re
import tomllib
from functools import cache
from typing import Any

import pytest

from tests.meta.source import ROOT

DECISION = ROOT / "docs/explanation/decisions/0003-dependencies.md"
NAME = re.compile(r"^([A-Za-z0-9._-]+)")


@cache
def pyproject() -> dict[str, Any]:
    """The project's own file."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def names(requirements: list[Any]) -> list[str]:
    """The package names of requirement lines, without the project's own name."""
    found = [NAME.match(line) for line in requirements if isinstance(line, str)]
    return [match[1].lower() for match in found if match and match[1] != "failsoft"]


def lists_of_names() -> dict[str, list[str]]:
    """Every list of requirements, by where it stands."""
    project = pyproject()["project"]
    extras = project["optional-dependencies"]
    groups = pyproject()["dependency-groups"]
    return {
        "dependencies": names(project["dependencies"]),
        **{f"extra {key}": names(value) for key, value in extras.items()},
        **{f"group {key}": names(value) for key, value in groups.items()},
    }


def locked(file: str) -> dict[str, str]:
    """Each pinned package of a lock with the text that belongs to it."""
    text = (ROOT / "requirements" / file).read_text("utf-8")
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return {match[1].lower(): block for block in blocks if (match := NAME.match(block))}


@pytest.mark.parametrize("place", lists_of_names())
def test_requirements_are_sorted(place: str) -> None:
    """Each list of requirements is in order, so that two additions seldom collide."""
    found = lists_of_names()[place]
    assert found == sorted(found)


def test_dependencies_are_explained() -> None:
    """Each dependency has its line in the decision about dependencies."""
    text = DECISION.read_text("utf-8").lower()
    wanted = {name for found in lists_of_names().values() for name in found}
    missing = sorted(name for name in wanted if f"| `{name}` |" not in text)
    assert not missing, f"add a line to {DECISION.relative_to(ROOT)} for {', '.join(missing)}"


def test_dependencies_are_locked() -> None:
    """Each dependency is in the lock, so that one install brings what the tests need."""
    wanted = {name for found in lists_of_names().values() for name in found}
    missing = sorted(wanted - set(locked("dev.txt")))
    assert not missing, f"./run lock, for {', '.join(missing)}"


@pytest.mark.parametrize("file", ["bench.txt", "bootstrap.txt", "dev.txt", "run.txt"])
def test_locks_are_hashed_and_name_no_place(file: str) -> None:
    """Each locked package has a version and hashes, and comes from wherever the user's pip looks."""
    packages = locked(file)
    assert packages
    assert [
        name for name, block in packages.items() if "==" not in block or "--hash=sha256:" not in block
    ] == []
    assert not re.search(r"://|index-url|find-links|\bfile:", "".join(packages.values()))


def test_small_lock_agrees_with_the_large_one() -> None:
    """A package has one version in all locks that share an environment."""
    small, large = locked("run.txt"), locked("dev.txt")

    def pin(block: str) -> str:
        return block.partition("\\")[0].strip()

    assert {name: pin(block) for name, block in small.items()} == {
        name: pin(large[name]) for name in small if name in large
    }


def test_all_extra_holds_every_extra() -> None:
    """`failsoft[all]` installs what all the other extras install."""
    extras = pyproject()["project"]["optional-dependencies"]
    assert extras["all"] == [f"failsoft[{','.join(sorted(set(extras) - {'all'}))}]"]
