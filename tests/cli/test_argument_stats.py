"""Which arguments models get wrong: counted by field, and mended within a run."""

from failsoft.cli.argument_stats import WHOLE, argument_stats
from failsoft.ledger.entries import CallEntry


def call(run, wrong=(), *, tool="price", reason="schema_mismatch", repairs=()):
    """One call's end; `wrong` are fields, or None for a text that could not be read."""
    bad = wrong is None or bool(wrong)
    data = {"problems": [{"field": name, "problem": "is missing"} for name in wrong or ()]}
    if repairs:
        data = {"repairs": [{"rule": "fence", "field": name} for name in repairs]}
    return CallEntry(
        seq=0,
        id="c",
        run_id=run,
        tool=tool,
        at=0.0,
        name="call_refused" if bad else "call_finished",
        ok=not bad,
        kind="invalid_argument" if bad else None,
        reason=reason if bad else None,
        attempts=0,
        duration_s=None,
        data=data,
    )


def found(*calls):
    return {
        (stats.tool, stats.path): (stats.wrong, stats.turns, stats.given_up)
        for stats in argument_stats(calls)
    }


def test_turns_are_counted_until_the_field_is_right():
    """A field is mended by the first call of the tool in the run that has it right, whatever else is wrong in it."""
    assert found(
        call("r", ["a", "b"]), call("r", ["a"]), call("r", ["a"]), call("r"), call("r", ["b"]), call("r")
    ) == {("price", "a"): (3, [3], 0), ("price", "b"): (2, [1, 1], 0)}


def test_a_text_that_cannot_be_read_mends_nothing():
    """Cut-off text says nothing about the fields in it."""
    assert found(call("r", ["a"]), call("r", None, reason="truncated"), call("r")) == {
        ("price", "a"): (1, [1], 0),
        ("price", WHOLE): (1, [1], 0),
    }


def test_runs_and_tools_do_not_mend_each_other():
    """What is never right again in its run was given up; without a run nobody knows."""
    assert found(call("r", ["a"]), call("s"), call("r", tool="pay"), call(None, ["a"]), call(None)) == {
        ("price", "a"): (2, [], 1)
    }


def test_places_in_lists_are_one_field():
    """`items[0].price` and `items[7].price` are the same field of the schema."""
    stats = argument_stats([call("r", ["items[0].price"]), call("s", ["items[7].price"])])
    assert [(each.path, each.wrong) for each in stats] == [("items[].price", 2)]


def test_what_was_repaired_is_counted_apart():
    """A repair is no wrong call; the share is of all calls of the tool."""
    (stats,) = argument_stats([call("r", repairs=[""]), call("r"), call("r", tool="pay")])
    assert (stats.path, stats.wrong, stats.repaired, stats.calls) == (WHOLE, 0, 1, 2)
    assert stats.mean_turns is None
