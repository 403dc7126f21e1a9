"""The rules, applied to the whole project."""

from collections.abc import Callable

import pytest

from tests.meta import code, docstrings, imports, sizes, words
from tests.meta.source import ROOT, Source, project_files, sources

Rule = Callable[[Source], list[str]]

FOR_SRC: list[Rule] = [
    code.lost_cause,
    code.sleeps,
    code.unsafe,
    docstrings.missing_ownership,
    docstrings.missing_public,
    imports.away_from_home,
    imports.guarded_rooms,
    imports.only_stdlib_in_core,
    imports.package_root,
    imports.public_errors,
]


def report(problems: list[str]) -> str:
    """One problem a line, below the assertion."""
    return "\n" + "\n".join(problems)


@pytest.mark.parametrize("rule", FOR_SRC, ids=lambda rule: rule.__name__)
def test_source_keeps_rule(rule: Rule) -> None:
    """No file of the package breaks the rule."""
    problems = [problem for file in sources("src") for problem in rule(file)]
    assert not problems, report(problems)


def test_files_are_short() -> None:
    """No file is longer than the hard limit."""
    problems = sizes.long_files(sources(*sizes.FOLDERS), sizes.FILE_HARD)
    assert not problems, report(problems)


def test_functions_are_short() -> None:
    """No function body is longer than the hard limit."""
    problems = sizes.long_functions(sources(*sizes.FOLDERS), sizes.BODY_HARD)
    assert not problems, report(problems)


def test_every_folder_of_the_package_is_owned() -> None:
    """Each folder that holds Python files has an `__init__`, where its ownership line stands."""
    folders = sorted({(ROOT / file.path).parent for file in sources("src/failsoft")})
    problems = [folder.as_posix() for folder in folders if not (folder / "__init__.py").is_file()]
    assert not problems, report(problems)


def test_tests_state_their_promise() -> None:
    """Each test has a docstring of one plain sentence."""
    problems = [problem for file in sources("tests") for problem in docstrings.unclear_promises(file)]
    assert not problems, report(problems)


def test_project_names_no_machine() -> None:
    """No file of the project names one machine's folders or a package index."""
    problems = [
        problem
        for path in project_files()
        for problem in words.forbidden_words(path.relative_to(ROOT).as_posix(), words.text_of(path))
    ]
    assert not problems, report(problems)


def test_types_are_promised() -> None:
    """The package carries the marker that tells type checkers to read its annotations."""
    assert (ROOT / "src/failsoft/py.typed").is_file()
