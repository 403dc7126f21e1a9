"""Run the demo: build the world, let an agent work in it, and compare its report with what happened."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failsoft.agent.agent import Agent
from failsoft.agent.clients.anthropic import AnthropicClient
from failsoft.agent.limits import Limits
from failsoft.cli.demo.desk import DESK_POLICY, desk_tools
from failsoft.cli.demo.model_server import ModelServer
from failsoft.cli.demo.report import Verdict, is_done, judge, rows_of
from failsoft.cli.demo.services import Services
from failsoft.cli.demo.world import World
from failsoft.harness.harness import Harness
from failsoft.harness.sync_door import run_sync

if TYPE_CHECKING:
    from failsoft.agent.outcome import Outcome
    from failsoft.cli.demo.screen import Screen

__all__ = ["DemoOptions", "run_demo"]

_SYSTEM = (
    "You work at the order desk of a shop. Use the tools; read their errors and follow what they say. "
    "Never do a refund or send a message twice. At the end say what was done and what was not."
)
STAND_IN = "stand-in (rules on a local server that speaks the Messages API; not a language model)"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """How to run.

    Args:
        question: The task.
        chaos: Share of requests that meet trouble, 0 to 1.
        seed: Of the schedule of faults.
        model: A real model's name; None for the stand-in.
        base_url: Where a real model is, if not at its provider's.
        keep: Folder in which the world is kept; None for a temporary one.
    """

    question: str
    chaos: float
    seed: int
    model: str | None = None
    base_url: str | None = None
    keep: Path | None = None


def run_demo(options: DemoOptions, screen: Screen) -> dict[str, Any]:
    """Run once; gives everything as plain data."""
    if options.keep is not None:
        return _run_in(options.keep, options, screen)
    with tempfile.TemporaryDirectory(prefix="failsoft-demo-") as folder:
        return _run_in(Path(folder), options, screen)


def _run_in(folder: Path, options: DemoOptions, screen: Screen) -> dict[str, Any]:
    world = World(folder)
    services = Services(world, options.seed, options.chaos)
    server = None if options.model else ModelServer(options.seed, options.chaos)
    try:
        screen.opening(options.question, options.model or STAND_IN, options.chaos, options.seed)
        outcome = _work(folder, options, screen, services, server)
        verdict = judge(outcome, world.effects())
        screen.closing(outcome, rows_of(outcome), verdict)
        return _as_data(options, outcome, verdict)
    finally:
        if server is not None:
            server.close()
        services.close()
        world.close()


def _work(
    folder: Path, options: DemoOptions, screen: Screen, services: Services, server: ModelServer | None
) -> Outcome:
    if server is None:
        client = AnthropicClient(options.model or "", base_url=options.base_url)
    else:
        client = AnthropicClient("stand-in", api_key="none-needed", base_url=server.url, timeout_s=10)
    harness = Harness(
        desk_tools(services.url),
        policy=DESK_POLICY,
        store=f"sqlite:///{folder / 'failsoft.db'}",
        sinks=[screen, services],
        name="order-desk",
    )
    agent = Agent(client, harness, system=_SYSTEM, limits=Limits(max_errors=30, same_call_failures=6))
    try:
        return agent.run_sync(options.question)
    finally:
        run_sync(client.aclose)
        harness.close_sync()


def _as_data(options: DemoOptions, outcome: Outcome, verdict: Verdict) -> dict[str, Any]:
    return {
        "question": options.question,
        "seed": options.seed,
        "chaos": options.chaos,
        "model": options.model or STAND_IN,
        "stop_reason": str(outcome.stop_reason),
        "done": is_done(outcome),
        "answer": outcome.text or outcome.summary(),
        "turns": outcome.turns,
        "calls": [asdict(row) for row in rows_of(outcome)],
        "doubts": list(outcome.doubts),
        **asdict(verdict),
    }
