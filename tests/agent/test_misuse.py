"""An agent that is made or asked in a way that cannot work says so at once."""

import pytest
from pydantic import BaseModel

from failsoft.agent import Agent, Limits
from failsoft.core.errors import UsageError
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient, say


class Report(BaseModel):
    """A report."""

    text: str


def parts():
    return ScriptedClient(["hello"]), Harness([], store="memory")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": {"max_turns": 1}}, r"limits is a Limits(.|\n)*Limits\(max_turns=10\)"),
        ({"output": 3}, "output is a pydantic model's class"),
        ({"output": Report(text="x")}, "not an instance"),
        ({"output": dict}, "output is"),
        ({"on_escalate": "ask"}, "on_escalate is a function"),
        ({"retry": 2}, "retry is a Retry"),
    ],
)
def test_a_wrong_part_is_named(options, said):
    """At the making, with what was wanted and how it is written."""
    with pytest.raises(UsageError, match=said):
        Agent(*parts(), **options)


def test_client_and_harness_are_told_apart():
    """Swapped, listed or left as classes: the error says which is which."""
    client, harness = parts()
    for wrong, said in (
        ((harness, client), "the client comes first"),
        (([client], harness), r"client has complete\(\)"),
        ((ScriptedClient, harness), r"client has complete\(\)"),
        ((client, client), "harness is a Harness"),
        ((client, []), r"Agent\(client, Harness\(\[a_tool\]\)\)"),
    ):
        with pytest.raises(UsageError, match=said):
            Agent(*wrong)
    assert Agent(client, harness, limits=Limits(max_turns=1), output=Report, retry=None)


@pytest.mark.parametrize("task", [3, None, b"go", {"role": "user", "content": "go"}, ["go"], [], " "])
def test_a_task_is_text_or_messages(task):
    """Anything else is refused before the model is asked."""
    client, harness = parts()
    with pytest.raises(UsageError, match=r"hint: agent\.run"):
        Agent(client, harness).run_sync(task)
    assert client.requests == []


@pytest.mark.parametrize("turns", ["hello", {"content": "x"}, say("x"), 3])
def test_a_script_is_a_list_of_turns(turns):
    """A bare text would be one turn a letter."""
    with pytest.raises(UsageError, match=r"ScriptedClient\(\['hello'\]\)"):
        ScriptedClient(turns)
