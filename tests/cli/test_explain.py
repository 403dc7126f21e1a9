"""`failsoft explain`: a pasted error, and the three views of it."""

import io
import json
import sys

import pytest

RESPONSE = (
    "HTTP/1.1 429 Too Many Requests\nretry-after: 7\ncontent-type: application/json\n\n"
    '{"error": {"type": "rate_limit_error", "message": "slow down"}}'
)


def test_the_text_of_an_exception(cli, capsys):
    """Scheduler, model and operator each get their view of it."""
    assert cli("explain", "httpx.ReadTimeout: timed out", "--method", "POST") == 0
    out = capsys.readouterr().out
    assert "kind: timeout" in out
    assert '"error": "timeout"' in out
    assert "caused by httpx.ReadTimeout: timed out" in out


def test_a_response_from_a_pipe(cli, capsys, monkeypatch):
    """What is piped in is read, with its hints; `--json` has all three views."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(RESPONSE))
    assert cli("explain", "--json", "--tool", "search") == 0
    views = json.loads(capsys.readouterr().out)
    assert views["scheduler"]["kind"] == "rate_limited"
    assert views["scheduler"]["retry_after_s"] == 7
    assert json.loads(views["model"])["tool"] == "search"
    assert views["operator"]["kind"] == "rate_limited"


@pytest.mark.parametrize(("language", "word"), [("en", "later"), ("zh", "稍后")])
def test_the_models_view_in_its_language(cli, capsys, language, word):
    """The sentence for the model is in the language that was asked for."""
    assert cli("explain", "ConnectionRefusedError: no", "--style", "text", "--language", language) == 0
    assert word in capsys.readouterr().out


def test_a_secret_is_in_no_view(cli, capsys):
    """What was pasted may hold credentials; none of the views repeats them."""
    text = "psycopg.OperationalError: cannot connect to postgresql://ann:hunter2hunter2@db.internal/x"
    for form in ([], ["--json"]):
        assert cli("explain", text, *form) == 0
        assert "hunter2" not in capsys.readouterr().out


def test_what_is_no_error_is_called_so(cli, capsys):
    """A good response has nothing to explain, and that is no failure of the command."""
    assert cli("explain", "HTTP/1.1 200 OK\n\nhello") == 0
    assert "no error" in capsys.readouterr().out
    assert cli("explain", "HTTP/1.1 200 OK\n\nhello", "--json") == 0
    assert capsys.readouterr().out == "null\n"


def test_nothing_is_misuse(cli, capsys, monkeypatch):
    """An empty text ends with code 2."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert cli("explain", "-") == 2
    assert "nothing to explain" in capsys.readouterr().err
