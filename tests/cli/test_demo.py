"""The order desk: whatever the schedule, what is reported is what happened, and nothing happens twice."""

import json
import logging

import pytest

from failsoft.cli.app import run
from failsoft.cli.demo.planner import DEFAULT_QUESTION
from failsoft.cli.demo.running import DemoOptions, run_demo
from failsoft.cli.demo.screen import Screen

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_the_default_demo_finishes_and_shows_its_proof(capsys):
    """Refused, hanging and limited services, and yet the task is finished; the screen says so, and what the model is."""
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    assert "not a language model" in " ".join(out.split())
    assert "refunds: 1 happened, 1 reported" in out
    assert "Each effect that was reported happened exactly once." in out


def test_the_demo_as_json_with_a_question_of_ones_own(capsys):
    """`--json` prints one object; a question about another order is worked on too."""
    assert run(["demo", "--json", "--chaos", "0", "Refund order 1044 and tell the customer."]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["actual"] == {"refunds": 1, "messages": 1}
    assert "Oak tray" in data["answer"]


def test_a_question_without_an_order_gets_an_answer(capsys):
    """The stand-in says what it is and what it can do."""
    assert run(["demo", "--json", "--chaos", "0", "How are you?"]) == 0
    assert "stand-in" in json.loads(capsys.readouterr().out)["answer"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", range(10))
def test_fifty_seeds_at_half_chaos_are_honest(block, monkeypatch):
    """Finished, or honestly reported as not finishable; refunds and messages exactly as often as reported."""
    monkeypatch.setattr(logging.getLogger("failsoft"), "disabled", True)
    for seed in range(block * 5, block * 5 + 5):
        data = run_demo(DemoOptions(question=DEFAULT_QUESTION, chaos=0.5, seed=seed), Screen(quiet=True))
        assert data["honest"], data
        assert not data["twice"]
        assert data["stop_reason"] in ("finished", "max_errors", "model_error", "same_call"), data
        if data["done"]:
            assert data["actual"] == {"refunds": 1, "messages": 1}, data
