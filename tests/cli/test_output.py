"""How commands print: for terminals that must not be commanded, and for people."""

import json

import pytest

from failsoft.cli.app import COMMANDS, app
from failsoft.cli.output import moment, plain, print_table, seconds


def test_control_codes_of_tools_do_not_reach_the_terminal(capsys):
    """Escape sequences, line breaks and rich's own markup are printed as harmless text."""
    print_table(("tool",), [("\x1b[31mred\x1b]0;title\x07\nsecond [bold]line",)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "second [bold]line" in out
    assert len(out.splitlines()) == 2


def test_ids_stay_whole_where_nobody_looks_at_a_terminal(capsys):
    """A pipe gets wide rows."""
    wide = ["a" * 30] * 4
    print_table(("a", "b", "c", "d"), [wide])
    assert capsys.readouterr().out.splitlines()[1].split() == wide


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0123, "12.3 ms"), (1.5, "1.5 s"), (125, "2 min 5 s"), (7500, "2 h 5 min")],
)
def test_durations_have_the_unit_that_fits(value, shown):
    """Milliseconds, seconds, minutes, hours."""
    assert seconds(value) == shown


def test_times_are_utc():
    """Whatever the machine's zone."""
    assert moment(0) == "1970-01-01 00:00:00Z"
    assert moment(None) == "–"


def test_values_are_json():
    """What is no text is printed as JSON on one line."""
    assert plain({"a": [1, "ä"]}) == json.dumps({"a": [1, "ä"]}, ensure_ascii=False)


# What `serve` prints is JSON-RPC, whoever asks.
@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"serve"}))
def test_every_command_takes_json_and_says_what_it_does(name):
    """Each command, and each of a group's, has `--json` and a help text."""
    command = app.get_command(None, name)
    for each in getattr(command, "commands", {"": command}).values():
        assert "--json" in {word for option in each.params for word in option.opts}
        assert each.help
