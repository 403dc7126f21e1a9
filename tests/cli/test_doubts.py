"""`failsoft doubts`: from a call that went quiet to a person's word about it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SECRET = "0123456789abcdef"


def test_open_doubts_are_listed_without_secrets(cli, own_day, capsys):
    """Id, tool, arguments and who may say; the word `list` may be left out."""
    _, doubt = own_day
    for words in (["doubts"], ["doubts", "list"], ["doubts", "list", "--run", "run_a", "--scope", "shop"]):
        assert cli(*words) == 0
        out = capsys.readouterr().out
        assert doubt in out
        assert "DE-1" in out
        assert SECRET not in out
    assert cli("doubts", "--json") == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (data["id"], data["tool"], data["state"], data["resolvable_by"]) == (doubt, "pay", "open", "human")
    assert data["arguments"] == {"account": "DE-1", "cents": 500, "api_key": "[secret]"}
    assert "owner_token" not in data
    assert cli("doubts", "--scope", "another") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no doubts" in captured.err


def test_one_doubt_is_shown_with_what_to_do(cli, own_day, capsys):
    """Everything that is known on stdout, and the command that resolves it on stderr."""
    _, doubt = own_day
    assert cli("doubts", "show", doubt) == 0
    captured = capsys.readouterr()
    assert "known: pay did not answer within 0.05 s." in captured.out
    assert f"failsoft doubts resolve {doubt} --happened" in captured.err
    assert cli("doubts", "show", doubt, "--json") == 0
    assert json.loads(capsys.readouterr().out)["id"] == doubt


def test_what_happens_next_is_told_as_it_is(cli, tmp_path, capsys):
    """Within a run the call is not run again; a call that had no run is not remembered, and that is said."""
    import asyncio

    from failsoft.harness.harness import Harness
    from failsoft.tools import tool

    sent = []

    @tool(idempotent=False, doubts="human", timeout_s=0.05)
    async def send(to: str) -> str:
        """Send."""
        sent.append(to)
        await asyncio.sleep(0 if len(sent) > 2 else 5)
        return "sent"

    async def calls():
        async with Harness([send], store=f"sqlite:///{tmp_path}/.failsoft/failsoft.db") as harness:
            return [await harness.call(send, {"to": "a"}, run="r"), await harness.call(send, {"to": "b"})]

    said = ("it is not run again in its run", "it had no run, so an identical call runs again")
    for result, then in zip(asyncio.run(calls()), said, strict=True):
        assert cli("doubts", "resolve", result.doubt, "--happened", "--result", '"sent"') == 0
        assert then in capsys.readouterr().out
    assert [result.replayed for result in asyncio.run(calls())] == [True, False]
    assert sent == ["a", "b", "b"]


def test_a_persons_word_resolves_a_doubt(cli, own_day, capsys):
    """Said twice is fine, the opposite is refused, and the journal knows who said it."""
    _, doubt = own_day
    told = ("doubts", "resolve", doubt, "--did-not-happen", "--by", "ann", "--evidence", "the bank's list")
    assert cli(*told) == 0
    assert "did not happen; an identical call may run now" in capsys.readouterr().out
    assert cli(*told, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["state"], data["resolved_by"], data["evidence"]) == (
        "did_not_happen",
        "ann",
        "the bank's list",
    )
    assert cli("doubts", "resolve", doubt, "--happened") == 1
    assert "was resolved by ann" in capsys.readouterr().err
    assert cli("doubts") == 0
    assert capsys.readouterr().out == ""
    assert cli("doubts", "--all") == 0
    assert "ann" in capsys.readouterr().out
    assert cli("export") == 0
    resolved = [line for line in capsys.readouterr().out.splitlines() if "doubt_resolved" in line]
    assert json.loads(resolved[0])["data"] == {"doubt": doubt, "happened": False, "by": "ann"}


async def test_what_it_gave_is_what_the_next_call_gets(own_day, tmp_path):
    """`--happened --result` answers the identical call of that run, and runs nothing."""
    file, doubt = own_day
    command = [sys.executable, "-m", "failsoft", "doubts", "resolve", doubt, "--happened"]
    ended = subprocess.run(
        [*command, "--result", '"paid by hand"', "--store", f"sqlite:///{file}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import shop
    finally:
        sys.path.remove(str(Path(__file__).parent))
    async with shop.harness(f"sqlite:///{file}") as harness:
        result = await harness.call(
            "pay", {"account": "DE-1", "cents": 500, "api_key": "sk-live-" + SECRET}, run="run_a"
        )
    assert result.replayed
    assert result.value == "paid by hand"


_KILLED = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
import shop
from failsoft import Harness, Policy
async def main():
    made = Harness([shop.pay], policies={"pay": Policy(timeout=60)}, store=sys.argv[1], name="shop", config=None)
    call = asyncio.ensure_future(made.call("pay", {"account": "DE-2", "cents": 7}))
    while not made.stats().in_flight:
        await asyncio.sleep(0.01)
    print("running", flush=True)
    await call
asyncio.run(main())
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_killed_program_leaves_a_doubt_that_is_listed(cli, tmp_path, capsys):
    """A program that was killed inside of a payment is met by the next `failsoft doubts`."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a killed owner is noticed at once on Linux only")
    file = tmp_path / ".failsoft" / "failsoft.db"
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", _KILLED, f"sqlite:///{file}", here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        line = child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
    assert line == "running\n"
    assert cli("doubts", "--json") == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (data["tool"], data["arguments"]["account"], data["state"]) == ("pay", "DE-2", "open")
