"""The commands that read the store: runs, show, stats, export, and the ways to name a store."""

import json

import pytest

SECRET = "0123456789abcdef"


def test_runs_are_listed(cli, a_day, capsys):
    """Each run with its end and its counts, as a table and as JSON."""
    file, _ = a_day
    assert cli("runs", "--store", f"sqlite:///{file}") == 0
    out = capsys.readouterr().out
    assert "run_a" in out
    assert "left" in out
    assert cli("runs", "--store", f"sqlite:///{file}", "--json") == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["id"], run["state"], run["calls"], run["failed"]) == ("run_a", "left", 7, 5)
    assert run["started_at"] <= run["ended_at"]


def test_a_run_is_shown_whole(cli, a_day, capsys):
    """Its calls in order with their failed attempts and its doubts; `last` is the newest one."""
    file, doubt = a_day
    assert cli("show", "last", "--store", f"sqlite:///{file}", "--json") == 0
    run = json.loads(capsys.readouterr().out)
    assert [(call["id"], call["ok"]) for call in run["calls"]] == [
        ("c1", True),
        ("c2", False),
        ("c3", False),
        ("c4", True),
        ("c5", False),
        ("c6", False),
        ("c7", False),
    ]
    assert [a["kind"] for a in run["calls"][-1]["failed_attempts"]] == ["timeout"]
    assert [found["id"] for found in run["doubts"]] == [doubt]
    assert "events" not in run
    assert cli("show", "run_a", "--events", "--store", f"sqlite:///{file}") == 0
    out = capsys.readouterr().out
    assert "invalid_argument (schema_mismatch)" in out
    assert "doubt_opened" in out
    assert SECRET not in out


def test_calls_are_counted_by_tool(cli, a_day, capsys):
    """How they ended, and only what is new enough."""
    store = f"sqlite:///{a_day[0]}"
    assert cli("stats", "--store", store, "--json") == 0
    pay, price = json.loads(capsys.readouterr().out)
    assert (pay["tool"], pay["failed"], pay["kinds"]) == ("pay", 1, {"timeout": 1})
    assert (price["calls"], price["failed"], price["attempts"]) == (6, 4, 3)
    assert cli("stats", "--store", store) == 0
    assert "invalid_argument 3" in capsys.readouterr().out
    assert cli("stats", "--store", store, "--since", "0.001s") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no calls" in captured.err


def test_wrong_arguments_are_counted_by_field(cli, a_day, capsys):
    """How often which field was wrong, and how many turns it took."""
    store = f"sqlite:///{a_day[0]}"
    assert cli("stats", "--arguments", "--store", store, "--json") == 0
    count, whole = json.loads(capsys.readouterr().out)
    assert (count["tool"], count["field"], count["wrong"], count["calls"]) == ("price", "count", 2, 6)
    assert (count["mended"], count["mean_turns"], count["given_up"]) == (1, 2.0, 0)
    assert count["problems"] == {"has the wrong type": 2}
    assert whole["problems"] == {"truncated": 1}
    assert cli("stats", "--arguments", "--store", store) == 0
    assert "33%" in capsys.readouterr().out


def test_events_are_exported(cli, a_day, capsys):
    """One JSON object a line, or one array; whole or of one run; in order; without secrets."""
    store = f"sqlite:///{a_day[0]}"
    assert cli("export", "--jsonl", "--store", store) == 0
    out = capsys.readouterr().out
    events = [json.loads(line) for line in out.splitlines()]
    assert SECRET not in out
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert {event["v"] for event in events} == {1}
    assert [event["name"] for event in events][-1] == "run_finished"
    assert cli("export", "--json", "--run", "run_a", "--store", store) == 0
    assert json.loads(capsys.readouterr().out) == events
    assert cli("export", "--run", "nobody", "--store", store) == 0
    assert cli("export", "--since", "0.001s", "--store", store) == 0
    assert capsys.readouterr().out == ""


def test_the_store_is_found_where_harnesses_put_it(cli, own_day, tmp_path, monkeypatch, capsys):
    """In the working folder, in $FAILSOFT_HOME, and where $FAILSOFT_STORE says."""
    file, _ = own_day
    assert cli("runs") == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli("runs") == 2
    assert "there is no store here" in capsys.readouterr().err
    monkeypatch.setenv("FAILSOFT_HOME", str(file.parent))
    assert cli("runs") == 0
    monkeypatch.setenv("FAILSOFT_STORE", f"sqlite:///{tmp_path}/gone.db")
    assert cli("runs") == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_ended_is_forgotten_and_what_is_in_doubt_stays(cli, own_day, capsys):
    """By age; the journal goes with it."""
    assert cli("prune", "--older-than", "1h", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 0}
    assert cli("prune", "--older-than", "0s") == 0
    assert "rows forgotten" in capsys.readouterr().out
    assert cli("runs") == 0
    assert capsys.readouterr().out == ""
    assert cli("doubts") == 0
    assert own_day[1] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["runs", "--store", "memory"], 2, "gone with its program"),
        (["runs", "--store", "sqlite:///gone.db"], 2, "there is no store file 'gone.db'"),
        (["runs", "--store", "mysql://x"], 2, "store must be"),
        (["runs", "--limit", "0"], 2, "not in the range"),
        (["show"], 2, "Missing argument"),
        (["show", "nobody"], 1, "The journal has no run 'nobody'"),
        (["stats", "--since", "yesterday"], 2, "no span of time"),
        (["prune"], 2, "Missing option"),
        (["prune", "--older-than", "-1d"], 2, "no span of time"),
        (["doubts", "show", "nobody"], 1, "There is no doubt 'nobody'"),
        (["doubts", "resolve", "nobody", "--happened"], 1, "nobody"),
        (["doubts", "resolve", "nobody"], 2, "--happened or --did-not-happen"),
        (["doubts", "resolve", "nobody", "--happened", "--result", "{"], 2, "it is no JSON"),
        (["doubts", "resolve", "nobody", "--did-not-happen", "--result", "1"], 2, "goes with --happened"),
        (["doubts", "forget"], 2, "No such command"),
    ],
)
def test_bad_input_is_answered_clearly(cli, a_day, monkeypatch, capsys, arguments, code, says):
    """Misuse ends with 2, what is not there with 1; the reason is on stderr and nothing on stdout."""
    monkeypatch.setenv("FAILSOFT_STORE", f"sqlite:///{a_day[0]}")
    assert cli(*arguments) == code
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


def test_a_plain_file_name_is_told_how_to_write_it(cli, own_day, capsys):
    """A path where a URL is wanted is refused with the URL."""
    assert cli("runs", "--store", own_day[0]) == 2
    assert f"--store sqlite:///{own_day[0]}" in capsys.readouterr().err


def test_a_store_that_is_none_is_no_traceback(cli, tmp_path, capsys):
    """A file that is no store ends with code 1 and the reason."""
    (tmp_path / "odd.db").write_text("hello " * 500)
    assert cli("runs", "--store", f"sqlite:///{tmp_path}/odd.db") == 1
    assert "ledger_unavailable" in capsys.readouterr().err
