"""What one call costs through the whole default policy, beside floors and peers in the same run.

    python -m bench.call_path [--rounds 40] [--processes 3] [--python PYTHON] [--json]

A trivial async read-only tool goes through arguments, deadline, retry, breaker, time-out and events.
The second floor is `validate + asyncio.timeout + await`: what a validated call with a time-out costs at least with
asyncio's own means. Aims, as ratios to it: on 3.11 at most 0.75 for a body that does not suspend and 1.0 for one that
does; on 3.13 at most 1.0 and 1.2. Importing failsoft: at most 1.3 times pydantic's `BaseModel`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from itertools import repeat
from typing import TYPE_CHECKING, Any

from bench.measure import ROOT, Table, environment, figures, in_processes, machine, say, show, timed

if TYPE_CHECKING:
    from collections.abc import Callable

FLOOR = "validate + asyncio.timeout + await"
OURS = "failsoft, whole default policy"
AT_ONCE = 1_000
ARGUMENTS = {"a": 1, "b": 2}
PEERS = ("tenacity", "purgatory")
IMPORTS = {
    "pydantic's BaseModel": "from pydantic import BaseModel",
    "import failsoft": "import failsoft",
    "from failsoft import tool": "from failsoft import tool",
    "from failsoft import Harness, tool": "from failsoft import Harness, tool",
}


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def hop(a: int, b: int) -> int:
    """Add two numbers after one turn of the loop, as real input and output does."""
    await asyncio.sleep(0)
    return a + b


async def nap(a: int, b: int) -> int:
    """Add two numbers after 10 ms."""
    await asyncio.sleep(0.01)
    return a + b


def validators() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The cheapest validation that pydantic has for keyword arguments, to a dict; and the usual one, to a model."""
    from pydantic import TypeAdapter, create_model
    from typing_extensions import TypedDict

    class Arguments(TypedDict):
        a: int
        b: int

    to_dict = TypeAdapter(Arguments).validator.validate_python
    return to_dict, create_model("Model", a=(int, ...), b=(int, ...)).__pydantic_validator__.validate_python


def one_call(title: str, fn: Callable[..., Any]) -> Table:
    """One call after another of one body, through everything."""
    from failsoft import Harness, tool

    table = Table(title, FLOOR)
    validate, to_model = validators()
    name = fn.__name__
    call = Harness([tool(fn, read_only=True)], store="memory", config=None).call

    @table.case("validate + await")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await fn(**validate(ARGUMENTS))

    @table.case(FLOOR)
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            async with asyncio.timeout(30):
                await fn(**validate(ARGUMENTS))

    @table.case("the same, validated to a model")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            model = to_model(ARGUMENTS)
            async with asyncio.timeout(30):
                await fn(model.a, model.b)

    @table.case(OURS)
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await call(name, ARGUMENTS)

    @table.case(f"{OURS}, arguments as text")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await call(name, '{"a":1,"b":2}')

    _peers(table, fn, validate)
    return table


def _peers(table: Table, fn: Callable[..., Any], validate: Callable[[Any], Any]) -> None:
    """Retry alone, and the stack that people build by hand; left out where it is not installed."""
    try:
        import tenacity
    except ModuleNotFoundError:
        return
    retry = tenacity.retry(
        stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_exponential_jitter(), reraise=True
    )
    alone = retry(fn)

    @table.case("tenacity's decorator alone")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await alone(1, 2)

    try:
        import purgatory
    except ModuleNotFoundError:
        return

    @retry
    @purgatory.AsyncCircuitBreakerFactory()("tool")
    async def by_hand(arguments: dict[str, Any]) -> Any:
        return await asyncio.wait_for(fn(**validate(arguments)), 30)

    @table.case("by hand: pydantic, tenacity, purgatory, wait_for")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await by_hand(ARGUMENTS)


def many_calls() -> Table:
    """A thousand calls of 10 ms in one gather; wall time, the 10 ms included."""
    from failsoft import Harness, tool

    floor = "bare gather"
    table = Table(f"{AT_ONCE:,} concurrent calls of 10 ms in one gather", floor, unit="ms", wall=True)
    validate = validators()[0]
    call = Harness([tool(nap, read_only=True)], store="memory", config=None).call

    @table.case(floor)
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await asyncio.gather(*(nap(1, 2) for _ in range(AT_ONCE)))

    async def limited() -> None:
        values = validate(ARGUMENTS)
        async with asyncio.timeout(30):
            await nap(**values)

    @table.case("validate + asyncio.timeout")
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await asyncio.gather(*(limited() for _ in range(AT_ONCE)))

    @table.case(OURS)
    async def _(n: int) -> None:
        for _ in repeat(None, n):
            await asyncio.gather(*(call("nap", ARGUMENTS) for _ in range(AT_ONCE)))

    return table


async def child(rounds: int) -> dict[str, Any]:
    """Samples of all tables, for the parent."""
    tables = [
        one_call("one call, the body does not suspend", add),
        one_call("one call, the body suspends once", hop),
        many_calls(),
    ]
    found = [
        {"title": each.title, "floor": each.floor, "unit": each.unit, "samples": await timed(each, rounds)}
        for each in tables
    ]
    return {"machine": machine(*PEERS), "tables": found}


def import_times(rounds: int, python: str) -> list[dict[str, Any]]:
    """Processor time of imports, each in a fresh process, in turns."""
    program = "import time; began = time.process_time_ns(); {}; print(time.process_time_ns() - began)"
    samples: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for number in range(rounds + 1):
        for name, statement in IMPORTS.items():
            command = [python, "-c", program.format(statement)]
            said = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
            if number:  # the first round writes the bytecode
                samples[name].append(float(said.stdout))
    say("bench.call_path: imports")
    return figures("imports in a fresh process", "pydantic's BaseModel", [samples], "ms")


def measure(rounds: int, processes: int, python: str) -> dict[str, Any]:
    """All tables, from as many processes."""
    parts = in_processes("bench.call_path", ["--child", "--rounds", str(rounds)], processes, python)
    rows = []
    for same in zip(*(part["tables"] for part in parts), strict=True):
        first = same[0]
        rows += figures(first["title"], first["floor"], [each["samples"] for each in same], first["unit"])
    return {"machine": parts[0]["machine"], "rows": rows + import_times(max(5, rounds // 4), python)}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument(
        "--python", default=sys.executable, help="another interpreter, with the same packages"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(asyncio.run(child(options.rounds))))
        return
    found = measure(options.rounds, options.processes, options.python)
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    print(", ".join(f"{key} {value}" for key, value in found["machine"].items()))
    show(found["rows"])


if __name__ == "__main__":
    main()
