"""Programs that use workers: killed, ended without a word, and written as one script."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.isolation.conftest import is_alive, written_pid

pytestmark = [pytest.mark.process, pytest.mark.slow]

HEAD = """
import asyncio, os, sys
from failsoft.core.context import CallContext
from failsoft.isolation.process import ProcessRunner

"""

PARENT = (
    HEAD
    + """
from tests.isolation import bodies

async def main():
    runner = ProcessRunner(max_workers=2)
    call = CallContext("t", {})
    await runner.start(bodies.add, {"a": 1}, call)
    jobs = [runner.start(bodies.forks, {"path": sys.argv[1], "leave_group": True}, call),
            runner.start(bodies.swallows, {}, call)]
    while not (os.path.exists(sys.argv[1]) and all(job.started for job in jobs)):
        await asyncio.sleep(0.01)
    stats = runner.stats()
    print(stats.supervisor_pid, *stats.pids, flush=True)
    END

asyncio.run(main())
"""
)

SCRIPT = (
    HEAD
    + """
def body(n: int) -> int:
    return n + 1

async def main():
    runner = ProcessRunner(max_workers=1)
    print(await runner.start(body, {"n": 1}, CallContext("t", {})))
    await runner.aclose()

GUARD
"""
)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, ["src", os.getcwd(), *sys.path]))}


@pytest.mark.parametrize("end", ["await asyncio.sleep(60)", "os._exit(1)", "return", "sys.exit(1)"])
def test_nothing_outlives_the_parent(pids, end):
    """Killed with -9, ended by `os._exit`, by its last line or by `sys.exit`: no worker and no grandchild after 2 s."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.replace("END", end), str(pids)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        processes = [int(pid) for pid in (parent.stdout or sys.stdin).readline().split()]
        assert len(processes) >= 3
        grandchild = written_pid(pids)
        if not end.startswith("await"):
            parent.wait(10)
    finally:
        parent.kill()
        parent.communicate()
    until = time.monotonic() + 2
    while time.monotonic() < until and any(map(is_alive, [*processes, grandchild])):
        time.sleep(0.01)
    assert [pid for pid in [*processes, grandchild] if is_alive(pid)] == []


@pytest.mark.parametrize("how", ["script", "module"])
def test_bodies_of_the_main_script(tmp_path, how):
    """A script with the guard can run its own functions in workers, started by its path or as a module."""
    path = tmp_path / "agent_script.py"
    path.write_text(SCRIPT.replace("GUARD", 'if __name__ == "__main__":\n    asyncio.run(main())'))
    argv = [str(path)] if how == "script" else ["-m", "agent_script"]
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([os.path.abspath("src"), str(tmp_path), env["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=15
    )
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr


def test_script_without_the_guard(tmp_path):
    """A script without the guard is told to have one, before anything runs twice."""
    path = tmp_path / "agent_script.py"
    path.write_text(SCRIPT.replace("GUARD", "print('begun')\nasyncio.run(main())"))
    env = {
        **environment(),
        "PYTHONPATH": os.pathsep.join([os.path.abspath("src"), environment()["PYTHONPATH"]]),
    }
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=15)
    assert done.stdout == "begun\n"
    assert '`if __name__ == "__main__":`' in done.stderr
