"""One call through the whole path: what comes out for what goes in."""

import asyncio
import warnings

import pytest

from failsoft import AgentError, CallContext, Harness, ToolCall, UsageError, current, tool
from failsoft.core.errors import Unavailable
from failsoft.harness.builder import HarnessWarning
from failsoft.testing.clock import run_virtual


@tool(read_only=True)
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def test_a_value_comes_back_with_its_call():
    """A call with good arguments gives the value, the text for the model and the call as asked."""
    async with Harness([add]) as harness:
        result = await harness.call("add", '{"a": 2}', id="c1")
    assert (result.ok, result.value, result.content, result.attempts) == (True, 3, "3", 1)
    assert result.call == ToolCall("c1", "add", '{"a": 2}')
    assert result.unwrap() == 3


async def test_a_mapping_and_the_tool_itself_are_taken_too():
    """Arguments may be a mapping and the tool may be named by itself."""
    async with Harness([add]) as harness:
        assert (await harness.call(add, {"a": 2, "b": 5})).value == 7


async def test_wrong_arguments_never_reach_the_body():
    """A body runs only on arguments that fit, and the error names the field."""
    ran = []

    @tool(read_only=True)
    async def note(text: str) -> str:
        """Note."""
        ran.append(text)
        return text

    async with Harness([note]) as harness:
        result = await harness.call("note", {"text": 5, "extra": True})
    assert not ran
    assert result.error.kind == "invalid_argument"
    assert result.attempts == 0
    assert "text" in result.content


async def test_unwrap_raises_the_error():
    """`unwrap` raises the result's own error where there is no value."""
    async with Harness([add]) as harness:
        result = await harness.call("sub", {})
    with pytest.raises(AgentError) as caught:
        result.unwrap()
    assert caught.value.kind == "unknown_tool"
    assert "add" in result.content


async def test_an_exception_without_text_still_says_something():
    """The model never gets an empty text, however silent the tool's exception is."""

    @tool(read_only=True)
    async def silent() -> str:
        """Fail."""
        raise RuntimeError

    async with Harness([silent]) as harness:
        result = await harness.call("silent")
    assert result.error.kind in ("internal", "unknown")
    assert len(result.content) > 20


async def test_a_result_that_is_not_json_is_text_for_the_model():
    """Any Python value becomes text; the value itself stays what it was."""
    thing = object()

    @tool(read_only=True)
    async def odd() -> object:
        """Give something odd."""
        return thing

    async with Harness([odd]) as harness:
        result = await harness.call("odd")
    assert result.ok
    assert result.value is thing
    assert isinstance(result.content, str)
    assert result.content


async def test_context_is_injected_and_current():
    """A parameter annotated `CallContext` gets the call; `current()` is the same one."""
    seen = {}

    @tool(read_only=True)
    async def look(word: str, context: CallContext) -> str:
        """Look."""
        seen.update(
            run=context.run_id, attempt=context.attempt, same=current() is context, left=context.remaining_s
        )
        return word

    async with Harness([look]) as harness, harness.run("r1") as run:
        assert (await run.call("look", {"word": "x"})).ok
    assert seen["run"] == "r1"
    assert seen["attempt"] == 1
    assert seen["same"]
    assert 0 < seen["left"] <= 60
    assert "context" not in str(harness.schemas("anthropic"))


def test_current_outside_of_a_call_is_misuse():
    """`current()` says that it works only inside of a tool."""
    with pytest.raises(UsageError, match="inside a tool"):
        current()


def test_two_tools_of_one_name_are_refused():
    """A registry with two tools of one name does not build."""
    with pytest.raises(UsageError, match="two tools are called 'add'"):
        Harness([add, add.replace(version="2")])


def test_an_undeclared_tool_is_named_once():
    """One warning at build names the tools whose effects nobody declared, and the word to add."""

    @tool
    async def vague() -> str:
        """Do something."""
        return ""

    with pytest.warns(HarnessWarning, match=r"vague.*read_only=True"):
        Harness([vague, add], store="memory")


def test_an_override_of_an_unknown_tool_is_refused():
    """Policies for a tool that is not there do not build."""
    from failsoft import Policy

    with pytest.raises(UsageError, match="'nope', which is no tool"):
        Harness([add], policies={"nope": Policy(timeout=5)})


async def test_nested_calls_share_the_outer_deadline():
    """A tool that calls another one hands its own deadline on."""
    left = []

    @tool(read_only=True)
    async def inner() -> str:
        """Look."""
        left.append(current().remaining_s)
        return ""

    @tool(read_only=True)
    async def outer() -> str:
        """Ask."""
        await harness.call("inner")
        return ""

    async with Harness([inner, outer]) as harness:
        await harness.call("outer", deadline_s=7)
    assert left[0] <= 7


async def test_progress_reaches_the_listener_and_cannot_break_the_call():
    """A listener gets every step, and what it raises is nobody's failure."""
    steps = []

    def listen(step):
        steps.append(step.done)
        raise RuntimeError("listener")

    @tool(read_only=True)
    def work(context: CallContext) -> str:
        """Work."""
        context.progress(1, 2, "half")
        context.progress(2, 2)
        return "done"

    async with Harness([work]) as harness:
        result = await harness.call("work", on_progress=listen)
        await asyncio.sleep(0)
    assert result.ok
    assert steps == [1, 2]


async def test_a_generator_becomes_a_list_and_its_items_survive_a_failure():
    """Items are collected; what came before a failure is in the error, and nothing is tried again."""
    runs = []

    @tool(read_only=True)
    async def items(fail: bool):
        """Give items."""
        runs.append(1)
        yield "a"
        yield "b"
        if fail:
            raise ConnectionResetError("gone")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HarnessWarning)
        harness = Harness([items])
    async with harness:
        assert (await harness.call("items", {"fail": False})).value == ["a", "b"]
        failed = await harness.call("items", {"fail": True})
    assert failed.error.context["partial"] == ["a", "b"]
    assert runs == [1, 1]


async def test_error_from_result_turns_a_disguised_error_into_one():
    """A result that the tool's own rule calls an error is one."""

    def find(value):
        return Unavailable("The shop is closed.") if value.get("status") == "closed" else None

    @tool(read_only=True, error_from_result=find, retry=None)
    async def shop(open: bool) -> dict:
        """Ask the shop."""
        return {"status": "open" if open else "closed"}

    async with Harness([shop]) as harness:
        assert (await harness.call("shop", {"open": True})).ok
        result = await harness.call("shop", {"open": False})
    assert result.error.kind == "unavailable"


async def test_a_result_that_breaks_its_promise_has_happened():
    """A tool that acted and answered nonsense has acted: the effect is done, and it is not repeated."""
    ran = []

    @tool(read_only=False, returns=dict[str, int])
    async def act() -> object:
        """Act."""
        ran.append(1)
        return {"n": "many"}

    async with Harness([act], store="memory") as harness:
        result = await harness.call("act")
    assert result.error.kind == "invalid_output"
    assert result.error.effect == "done"
    assert ran == [1]


def test_a_body_that_never_suspends_and_is_late_is_a_late_success():
    """A value that came is a value: late, but no time-out."""

    async def main(clock):
        @tool(read_only=True, timeout_s=1)
        async def slow() -> str:
            """Compute."""
            clock.advance(5)
            return "here"

        async with Harness([slow], clock=clock) as harness:
            return await harness.call("slow")

    result = run_virtual(main)
    assert result.ok
    assert result.late
    assert result.value == "here"
