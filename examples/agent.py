"""A complete agent: model, tools, limits and an honest outcome.

ANTHROPIC_API_KEY=... python examples/agent.py     # a real model
python examples/agent.py                           # a scripted one
"""

import os

from failsoft import Harness, tool
from failsoft.agent import Agent, AnthropicClient, Limits
from failsoft.testing.clients import ScriptedClient

sent: list[str] = []


@tool(read_only=True)
def find_address(name: str) -> str:
    """Find the mail address of a person.

    Args:
        name: First and last name.
    """
    return {"Dana Brook": "dana@shop.example"}[name]


@tool(category="communicate")
def send_mail(to: str, text: str) -> str:
    """Send a mail.

    Args:
        to: The mail address.
        text: What to write.
    """
    sent.append(to)
    raise ConnectionResetError(104, "Connection reset by peer")  # the mail is out, the answer is lost


def scripted() -> ScriptedClient:
    """What a careful model would say."""
    return ScriptedClient(
        [
            [("find_address", {"name": "Dana Brook"})],
            [("send_mail", {"to": "dana@shop.example", "text": "Your order is on its way."})],
            "I wrote to Dana, but I cannot say whether the mail went out; please check before writing again.",
        ]
    )


def main() -> None:
    """Run one task and print how it ended."""
    client = AnthropicClient("claude-sonnet-5-5") if os.environ.get("ANTHROPIC_API_KEY") else scripted()
    harness = Harness([find_address, send_mail], store="memory")
    outcome = Agent(client, harness, limits=Limits(max_turns=8)).run_sync(
        "Tell Dana Brook that her order is on its way."
    )
    print(outcome.text)
    print(outcome.summary())
    print(f"mails sent: {len(sent)}")
    harness.close_sync()


if __name__ == "__main__":
    main()
