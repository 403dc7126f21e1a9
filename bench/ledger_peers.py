"""What other packages pay for one call that is to happen once, as each of them is set up by its own quick start.

A peer that is not installed is left out. Each runs a trivial function over a SQLite file in the same folder.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["open_peers"]

STEPS = 40
Peer = Any  # a function of a count, giving seconds


def _seconds(call: Callable[[int], Any], count: int) -> float:
    started = time.perf_counter()
    for number in range(count):
        call(number)
    return (time.perf_counter() - started) / count


def _agent_once(folder: Path) -> Peer:
    from once import Once

    once = Once(folder / "agent_once.db")

    @once.tool
    def pay(order: int, run: str, amount: int = 1200) -> dict[str, Any]:
        return {"charge": "ch_1", "amount": amount, "note": "x" * 120}

    def calls(count: int) -> float:
        run = secrets.token_hex(4)
        return _seconds(lambda number: pay(number, run), count)

    return calls


def _agent_outbox(folder: Path) -> Peer:
    from agent_outbox import OutboxStore, ToolExecutor

    executor = ToolExecutor(OutboxStore(folder / "agent_outbox.db"))

    def pay(order: int, amount: int) -> dict[str, Any]:
        return {"charge": "ch_1", "amount": amount, "note": "x" * 120}

    def calls(count: int) -> float:
        run = secrets.token_hex(4)
        return _seconds(
            lambda number: executor.run("pay", pay, {"order": number, "amount": 1200}, run), count
        )

    return calls


def _agentraas(folder: Path) -> Peer:
    from agentraas.local import SQLiteStore, exactly_once

    @exactly_once(SQLiteStore(str(folder / "agentraas.db")))
    def pay(order: int, run: str, amount: int = 1200) -> dict[str, Any]:
        return {"charge": "ch_1", "amount": amount, "note": "x" * 120}

    def calls(count: int) -> float:
        run = secrets.token_hex(4)
        return _seconds(lambda number: pay(number, run), count)

    return calls


def _dbos(folder: Path, ending: contextlib.ExitStack) -> Peer:
    from dbos import DBOS

    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder / 'dbos.db'}",
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )

    @DBOS.step()
    def pay(order: int, amount: int) -> dict[str, Any]:
        return {"charge": "ch_1", "amount": amount, "note": "x" * 120}

    @DBOS.workflow()
    def shop(count: int) -> float:
        return _seconds(lambda number: pay(number, 1200), count)

    DBOS.launch()
    ending.callback(DBOS.destroy)
    return lambda count: shop(min(count, STEPS))


@contextlib.contextmanager
def open_peers(folder: Path) -> Iterator[dict[str, Peer]]:
    """Name to a function that makes so many calls, and gives the seconds for each."""
    found: dict[str, Peer] = {}
    with contextlib.ExitStack() as ending:
        for name, make in (
            ("agent-once, a new call", _agent_once),
            ("agent-outbox, a new call", _agent_outbox),
            ("agentraas exactly_once, a new call", _agentraas),
            ("DBOS, a step", lambda where: _dbos(where, ending)),
        ):
            with contextlib.suppress(ImportError):
                found[name] = make(folder)
        yield found
