"""A server at its worst, seeded, driven by the official client through the proxy."""

import asyncio
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOY = str(Path(__file__).parent / "toy_server.py")
CALLS = int(os.environ.get("FAILSOFT_CHAOS_CALLS", "300"))
FAULTS = {
    "": 900,
    "garbage": 20,
    "is error": 20,
    "crash before": 8,
    "crash after": 8,
    "hang once": 10,
    "wrong id": 10,
    "late": 5,
    "broken": 10,
    "error": 5,
    "huge": 1,
}
POLICY = """
[policy]
timeout = { attempt_s = 1.0, total_s = 10.0 }
breaker = false
retry_budget = false
"""


async def drive(session, plan, at_once=8):
    """Make all calls, some at once; what came of each."""
    gate = asyncio.Semaphore(at_once)

    async def one(n, name, how):
        async with gate, asyncio.timeout(60):
            try:
                return await session.call_tool(name, {"n": n, "how": how})
            except Exception as exc:
                return exc

    return await asyncio.gather(*(one(n, *each) for n, each in enumerate(plan)))


def told(result):
    """`done`, or the effect that the answer tells of."""
    if isinstance(result, Exception):
        return "none"  # a protocol error of the server's own, without a doubt
    fields = (result.meta or {}).get("failsoft", {})
    return fields.get("effect", "done") if result.is_error else "done"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("seed", "calls"), [(1, CALLS)])
async def test_every_call_is_answered_and_no_effect_is_doubled(tmp_path, seed, calls):
    """Of calls to a server that crashes, hangs and lies each one is answered, and each effect is single or told as possible."""
    rng = random.Random(seed)
    names = rng.choices(["look", "act", "put", "plain"], [40, 30, 20, 10], k=calls)
    plan = list(zip(names, rng.choices(list(FAULTS), list(FAULTS.values()), k=calls), strict=True))
    effects = tmp_path / "effects"
    (tmp_path / "failsoft.toml").write_text(POLICY)
    proxy = ["-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp", "--restarts", "10000"]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*proxy, "--store", "memory", "--", sys.executable, TOY],
        env={**os.environ, "TOY_EFFECTS": str(effects), "FAILSOFT_CONFIG": str(tmp_path / "failsoft.toml")},
        cwd=tmp_path,
    )
    with open(tmp_path / "log", "w") as log:
        async with stdio_client(parameters, log) as streams, ClientSession(*streams) as session:
            await session.initialize()
            results = await drive(session, plan)
            assert (await session.call_tool("look", {"n": -1})).content[0].text == "look -1"
    happened = Counter(line for line in effects.read_text().splitlines() if line.startswith("effect"))
    wrong = []
    for n, ((name, how), result) in enumerate(zip(plan, results, strict=True)):
        if name in ("act", "plain"):
            count, said = happened[f"effect {name} {n}"], told(result)
            allowed = {"done": (1,), "none": (0, 1) if how == "error" else (0,), "possible": (0, 1)}[said]
            if count not in allowed:
                wrong.append((n, name, how, said, count))
        if isinstance(result, TimeoutError):
            wrong.append((n, name, how, "no answer", 0))
    assert not wrong
    looks = [
        result for (name, how), result in zip(plan, results, strict=True) if name == "look" and how == ""
    ]
    assert sum(told(result) == "done" for result in looks) > 0.6 * len(looks)
