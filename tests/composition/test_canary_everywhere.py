"""Secrets planted in whatever a tool raises are in no view, log line, event or journal row of a whole call."""

import importlib.util
import logging
import sqlite3
from pathlib import Path

import pytest

from failsoft import Harness, Policy, Redactor, tool
from failsoft.core.errors import Unavailable

_FILE = Path(__file__).parents[1] / "feedback" / "test_canary.py"
_SPEC = importlib.util.spec_from_file_location("feedback_canaries", _FILE)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
SECRETS, PLACES = _MODULE.SECRETS, _MODULE.PLACES
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

INJECTED = "tenant-4711-internal-id"
WAYS = ["message", "cause", "context", "suggestion", "note", "agent_error"]


def raised(way, text):
    """An exception that carries `text` in one of its corners."""
    if way == "message":
        return RuntimeError(text)
    if way == "note":
        error = RuntimeError("failed")
        error.add_note(text)
        return error
    if way == "cause":
        error = RuntimeError("failed")
        error.__cause__ = ValueError(text)
        return error
    fields = {"context": {"context": {"body": text}}, "suggestion": {"suggestion": text}}.get(way, {})
    return Unavailable("failed" if fields else text, effect="possible", **fields)


async def shown_by(way, text, folder, caplog):
    """Everything that anybody gets to see of a protected call that fails with `text`."""
    events = []

    @tool(read_only=False, retry=None)
    async def act() -> str:
        """Act."""
        raise raised(way, text)

    url = f"sqlite:///{folder / 'f.db'}"
    with caplog.at_level(logging.DEBUG, logger="failsoft"):
        harness = Harness(
            [act],
            store=url,
            policy=Policy(breaker=None),
            sinks=[events.append],
            redactor=Redactor(secrets=[INJECTED]),
        )
        async with harness, harness.run() as run:
            result = await run.call("act")
            again = await run.call("act")
    with sqlite3.connect(folder / "f.db") as database:
        names = ("runs", "calls", "attempts", "events")
        rows = [str(database.execute(f"SELECT * FROM {name}").fetchall()) for name in names]
    database.close()
    model = str(result.content) + str(again.content)
    operator = [str(event) for event in events] + [record.getMessage() for record in caplog.records]
    operator += [str(result.error), repr(result.error.fields()), str(again.error), *rows]
    assert len(rows[1]) > 2, "the journal has the calls"
    return model, "\n".join(operator)


@pytest.mark.parametrize("way", WAYS)
async def test_no_secret_is_shown_to_anybody(way, tmp_path, caplog):
    """Forty kinds of secret, in each corner of an exception, are shown to neither the model nor an operator."""
    text = "\n".join(text for text, _ in SECRETS.values())
    for name, (planted, canary) in SECRETS.items():
        folder = tmp_path / name.replace(" ", "_").replace("/", "_")
        folder.mkdir()
        caplog.clear()
        model, operator = await shown_by(way, f"it broke: {planted} (end)", folder, caplog)
        assert canary not in model, (way, name)
        assert canary not in operator, (way, name)
    assert len(SECRETS) >= 40
    assert text


@pytest.mark.parametrize("way", WAYS)
async def test_no_place_is_shown_to_the_model(way, tmp_path, caplog):
    """Paths, hosts and addresses of the machine are not shown to the model."""
    for number, (name, (planted, canary)) in enumerate(PLACES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        caplog.clear()
        model, _ = await shown_by(way, f"it broke at {planted} (end)", folder, caplog)
        assert canary not in model, (way, name)


async def test_a_successful_result_stays_as_it_is(tmp_path):
    """What a tool answers is its answer, whatever it looks like."""
    answer = "\n".join(text for text, _ in SECRETS.values())

    @tool(read_only=True, output=None)
    async def look() -> str:
        """Look."""
        return answer

    async with Harness([look]) as harness:
        result = await harness.call("look")
    assert result.value == answer
    assert result.content == answer
