"""Misuse of the front door: what was wanted, what came and what to do, in one error; and nothing is lost by it."""

import subprocess
import sys
import warnings

import pytest

from failsoft import Harness, Policy, ToolCall, UsageError, tool
from failsoft.harness.builder import HarnessWarning


async def plain(word: str = "x") -> str:
    """Echo."""
    return word


echo = tool(plain, name="echo", read_only=True)


def made(**options):
    return Harness([echo], **{"store": "memory", **options})


@pytest.mark.parametrize(
    "options", [{"policy": {"retry": 2}}, {"policies": {"echo": {"retry": 2}}}, {"policy": Policy(retry=2)}]
)
def test_plain_data_is_a_policy(options):
    """A mapping says what a table of a file would say."""
    assert made(**options).policies()["echo"].retry.max_attempts == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policies": {"echo": {"retri": 2}}}, r"policies\['echo'\].*'retri'(.|\n)*retry"),
        ({"policies": {"echo": {"retry": {"max_attemps": 2}}}}, "max_attempts"),
        ({"policies": {"echo": 2}}, r"policies\['echo'\] is a Policy or a mapping, got 2"),
        ({"policies": [Policy()]}, "policies is a mapping"),
        ({"policies": Policy()}, r"policy=Policy\(...\) holds for all"),
        ({"policy": 2}, "policy is a Policy or a mapping, got 2"),
    ],
)
def test_a_policy_that_is_none_is_refused(options, said):
    """The place is named, and what could be meant."""
    with pytest.raises(UsageError, match=said):
        made(**options)


@pytest.mark.parametrize("tools", [plain, echo, "echo", {"echo": echo}, 3, None])
def test_tools_are_a_list(tools):
    """One tool in place of a list is told how to write it."""
    with pytest.raises(UsageError, match=r"takes a list of tools(.|\n)*hint: Harness\(\["):
        Harness(tools, store="memory")


@pytest.mark.parametrize("what", [None, 3, print, object()])
async def test_what_is_called_is_a_tool(what):
    """Anything else is named, with the tools that there are."""
    async with made() as harness:
        with pytest.raises(UsageError, match=r"takes a tool or its name, got (.|\n)*echo"):
            await harness.call(what)


async def test_the_function_of_a_tool_stands_for_the_tool():
    """Whoever kept the undecorated function may hand that in."""
    async with made() as harness:
        assert (await harness.call(plain, {"word": "a"})).value == "a"


@pytest.mark.parametrize(
    "calls", [[("c1", "echo", {})], [{"name": "echo"}], {"name": "echo"}, "echo", ToolCall("c", "echo"), 3]
)
async def test_a_batch_is_a_list_of_calls(calls):
    """Tuples, dicts and a single call are refused with how a call is written, before anything runs."""
    async with made() as harness:
        with pytest.raises(UsageError, match=r"ToolCall\(id, name, arguments\)"):
            await harness.call_all(calls)


async def test_a_call_without_a_name_is_one_unknown_tool():
    """The rest of its batch runs, and each has its place."""
    async with made() as harness, harness.run() as run:
        calls = [ToolCall("a", None), ToolCall("b", "echo", {}), ToolCall("c", 7)]
        results = await run.call_all(calls)
    assert [result.ok or result.error.kind for result in results] == ["unknown_tool", True, "unknown_tool"]
    assert [result.call.id for result in results] == ["a", "b", "c"]


async def test_options_of_a_call_are_checked():
    """A wrong word names the door and the right one, a wrong value what was wanted."""
    async with made() as harness:
        with pytest.raises(TypeError, match=r"Harness.call\(\).*'deadline'; did you mean deadline_s"):
            await harness.call("echo", deadline=3)
        for options, said in (
            ({"deadline_s": "3"}, "deadline_s is a number of seconds"),
            ({"deadline_s": float("nan")}, "deadline_s is a number of seconds"),
            ({"roles": 3}, "roles are words"),
            ({"run": 3}, "run is a run or its id"),
            ({"occurrence": "2"}, "occurrence counts from 1"),
        ):
            with pytest.raises(UsageError, match=said):
                await harness.call("echo", **options)
        with pytest.raises(UsageError, match="deadline_s is a number of seconds"):
            await harness.call_all([], deadline_s="3")
        assert (await harness.call("echo", deadline_s=3, roles="a", occurrence=1)).ok


def test_a_warning_names_the_line_of_the_harness():
    """From a function too: whoever reads it looks there."""
    undeclared = tool(plain, name="undeclared")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Harness([undeclared], store="memory")  # here
    (warning,) = caught
    assert issubclass(warning.category, HarnessWarning)
    assert warning.filename == __file__
    with open(__file__, encoding="utf-8") as lines:
        assert lines.readlines()[warning.lineno - 1].endswith("# here\n")


@pytest.mark.process
def test_a_warning_at_the_top_of_a_module_names_it(tmp_path):
    """There is no frame above a module, so one too many would name the interpreter."""
    file = tmp_path / "top.py"
    file.write_text(
        "from failsoft import Harness\ndef f(): return 1\nHarness([f], store='memory', watch_loop=False)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"{file}:3: HarnessWarning" in done.stderr
