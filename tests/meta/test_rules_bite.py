"""Each rule finds what it is for, and leaves the neighbouring good case alone."""

import pytest

from tests.meta import code, docstrings, imports, sizes, words
from tests.meta.source import parse
from tests.meta.test_rules_hold import Rule

RETRY = "src/failsoft/policies/retry.py"

BROKEN: list[tuple[Rule, str, str]] = [
    (code.lost_cause, RETRY, "raise ValueError('x') from None"),
    (code.lost_cause, RETRY, "raise ValueError('x') from None  # cause dropped: "),
    (code.sleeps, RETRY, "import time\ntime.sleep(1)"),
    (code.sleeps, RETRY, "from time import sleep"),
    (code.unsafe, RETRY, "eval('1')"),
    (code.unsafe, RETRY, "import pickle"),
    (code.unsafe, RETRY, "from pickle import loads"),
    (code.unsafe, RETRY, "run('ls', shell=True)"),
    (code.unsafe, RETRY, "import os\nos.system('ls')"),
    (docstrings.missing_ownership, "src/failsoft/ledger/__init__.py", "x = 1"),
    (docstrings.missing_public, RETRY, "__all__ = ['f']\ndef f(): pass"),
    (docstrings.unclear_promises, "tests/test_x.py", "def test_x(): pass"),
    (docstrings.unclear_promises, "tests/test_x.py", "def test_x():\n    '''No end'''"),
    (
        docstrings.unclear_promises,
        "tests/test_x.py",
        "class T:\n    def test_x(self):\n        '''One. Two.'''",
    ),
    (imports.away_from_home, RETRY, "import redis.asyncio"),
    (imports.away_from_home, RETRY, "from redis import Redis"),
    (imports.away_from_home, RETRY, "import importlib\nimportlib.import_module('redis')"),
    (imports.guarded_rooms, RETRY, "from failsoft.chaos import faults"),
    (imports.guarded_rooms, "src/failsoft/lab/x.py", "import failsoft.testing.clock"),
    (imports.guarded_rooms, RETRY, "from ..chaos import faults"),
    (imports.only_stdlib_in_core, "src/failsoft/core/calls.py", "import pydantic"),
    (imports.package_root, RETRY, "import failsoft"),
    (imports.package_root, RETRY, "from failsoft import Harness"),
    (imports.package_root, RETRY, "from .. import Harness"),
    (imports.public_errors, RETRY, "from failsoft.errors import NotFound"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (code.lost_cause, RETRY, "raise ValueError('x') from None  # cause dropped: it holds the secret"),
    (code.lost_cause, RETRY, "raise ValueError('x') from error"),
    (code.sleeps, "src/failsoft/isolation/thread.py", "import time\ntime.sleep(1)"),
    (code.sleeps, RETRY, "import asyncio\nasyncio.sleep(1)"),
    (code.unsafe, RETRY, "model.eval()\nrun('ls', shell=False)"),
    (docstrings.missing_ownership, RETRY, "x = 1"),
    (docstrings.missing_public, RETRY, "__all__ = ['f']\ndef f(): 'What.'\ndef g(): pass"),
    (docstrings.missing_public, "src/failsoft/policies/_window.py", "__all__ = ['f']\ndef f(): pass"),
    (docstrings.unclear_promises, "tests/test_x.py", "def test_x():\n    '''A wait of 0.5 s ends.'''"),
    (imports.away_from_home, "src/failsoft/stores/fleet/redis.py", "import redis.asyncio"),
    (imports.away_from_home, "src/failsoft/adapters/mcp/server.py", "import mcp"),
    (imports.guarded_rooms, "src/failsoft/lab/storm.py", "from failsoft.chaos import faults"),
    (
        imports.only_stdlib_in_core,
        "src/failsoft/core/calls.py",
        "import json\nfrom failsoft.core import kinds",
    ),
    (imports.package_root, RETRY, "import failsoft.core.kinds\nfrom . import budget"),
    (imports.public_errors, RETRY, "from failsoft.core.errors import NotFound"),
]


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_rule_finds_the_bad_case(rule: Rule, path: str, text: str) -> None:
    """What breaks a rule is reported with its place."""
    problems = rule(parse(path, text))
    assert problems
    assert problems[0].startswith(path)


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_rule_leaves_the_good_case(rule: Rule, path: str, text: str) -> None:
    """What keeps a rule is not reported."""
    assert rule(parse(path, text)) == []


def test_body_size_counts_code_only() -> None:
    """Docstrings, blank lines and comments do not count towards a function's size."""
    text = 'def f(a):\n    """What.\n\n    More.\n    """\n\n    # why\n    b = a\n\n    return b\n'
    file = parse(RETRY, text)
    assert sizes.long_functions((file,), 2) == []
    assert sizes.long_functions((file,), 1) == [f"{RETRY}:1: f has 2 lines"]


def test_long_file_is_found() -> None:
    """A file over the limit is named with its length."""
    assert sizes.long_files((parse(RETRY, "x = 1\n" * 401),), 400) == [f"{RETRY}: 401 lines"]


@pytest.mark.parametrize(
    "text",
    [
        "see /ro" + "ot/notes.txt",
        "https://mirror.example/py" + "pi/simple",
        "--index-" + "url https://x.example",
    ],
)
def test_machine_words_are_found(text: str) -> None:
    """A machine's folder and a package index are found wherever they stand in a line."""
    assert len(words.forbidden_words("README.md", f"first line\n{text}")) == 1


@pytest.mark.parametrize(
    "text", ["docs/work/x", "the root/branch", "https://example.com/path", "/home/alice/x"]
)
def test_ordinary_words_are_left(text: str) -> None:
    """Ordinary paths and addresses are allowed."""
    assert words.forbidden_words("README.md", text) == []
