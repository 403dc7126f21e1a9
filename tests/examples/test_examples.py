"""Every example runs as it stands and says what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "plain_library.py": ["rate: 1.09 after 3 tries", "network: effect possible", "in_doubt: effect possible"],
    "own_loop.py": ["find_order: ok=True after 2 attempts", "Order 1042 of Dana Brook"],
    "agent.py": ["In doubt: send_mail may have happened", "mails sent: 1"],
}


def test_every_example_is_listed():
    """A new example gets its line here."""
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SAYS)
def test_example(name, tmp_path, monkeypatch):
    """The example ends well and prints what it promises."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    for text in SAYS[name]:
        assert text in done.stdout
