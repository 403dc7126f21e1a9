"""What a type checker sees of the front door, in its strict mode."""

import subprocess
import sys

import pytest

from failsoft import Harness, ToolCall, UsageError, tool

PROGRAM = '''
from typing import assert_type
from failsoft import Harness, tool

@tool(read_only=True)
async def rate(currency: str) -> float:
    """Rate."""
    return 1.0

@tool(read_only=True)
def size(of: str) -> int:
    """Size."""
    return len(of)

async def main(harness: Harness) -> None:
    assert_type(await harness.wrap(rate)("USD"), float)
    assert_type(harness.wrap(size)(of="x"), int)
    harness.wrap(size)(3)  # E: arg-type
    result = harness.call_sync("size", {"of": "x"}, deadline_s=3)
    harness.call_sync("size", deadlin_s=3)  # E: call-arg
    if not result.ok:
        print(result.failure.kind, result.failure.suggestion)
    async with harness.run() as run:
        await run.call(size, {"of": "x"}, approved=True)
        await run.call("size", aproved=True)  # E: call-arg
'''


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_types_reach_the_caller(tmp_path):
    """Wrapped functions keep their types, options are known by name, and a failure needs no check for None."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path),
        "--no-error-summary",
        file,
    ]
    told = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    wanted = {
        (n, line.split("# E: ")[1]) for n, line in enumerate(PROGRAM.splitlines(), 1) if "# E: " in line
    }
    lines = [line for line in told.splitlines() if ": error: " in line]
    assert {(int(line.split(":")[1]), line.rpartition("[")[2].rstrip("]")) for line in lines} == wanted, told


async def test_a_failure_is_there_where_a_result_is_not_ok():
    """It is the result's error; a result with a value has none, and says so."""

    @tool(read_only=True)
    async def fine() -> int:
        """Work."""
        return 1

    async with Harness([fine], store="memory") as harness:
        good, bad = await harness.call_all([ToolCall("a", "fine"), ToolCall("b", "none")])
    assert bad.failure is bad.error
    with pytest.raises(UsageError, match=r"has a value and no failure"):
        _ = good.failure


async def test_a_call_of_a_run_takes_no_other_run():
    """Two runs in one call are refused."""
    async with Harness([], store="memory") as harness, harness.run() as run:
        with pytest.raises(UsageError, match="takes no other run"):
            await run.call("x", run="other")
