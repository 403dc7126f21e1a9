"""The page about a payment in doubt tells what happens: its blocks run, and print what the page shows."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/how-to/payment-in-doubt.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_payment_from_end_to_end(tmp_path, monkeypatch, capsys) -> None:
    """One charge for each order, whatever is lost, asked again or restarted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path))
    namespace: dict = {"__name__": "payment"}
    shown = 0
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), namespace)
        else:
            assert capsys.readouterr().out == text
            shown += 1
    assert shown == 5
    assert namespace["bank"].charges[:2] == ["o-17", "o-18"]
