"""Commands that tools run."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import pytest

from failsoft import subprocess as commands
from failsoft.core.context import CallContext, current_call
from failsoft.core.errors import NotFound, PermissionDenied, ToolTimeout, UsageError
from tests.isolation.bodies import IGNORES_TERM
from tests.isolation.conftest import is_alive, until, written_pid

pytestmark = [pytest.mark.process, pytest.mark.slow]

DAEMON = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {code!r}], start_new_session=True)
open({path!r}, "a").write(f"{{child.pid}}\\n")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({path!r}, "a").write(f"{{os.getpid()}}\\n")
        time.sleep(60)
    os._exit(0)
time.sleep({sleep_s})
child.returncode = 0
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


async def test_output_input_and_code():
    """Output, input, exit code, folder and environment are those of the command."""
    done = await commands.run(["cat"], input="hello")
    assert (done.ok, done.returncode, done.text, done.stderr) == (True, 0, "hello", b"")
    done = await commands.run(
        ["sh", "-c", "pwd; echo $X >&2; exit 3"], cwd="/", env={"X": "y", "PATH": os.environ["PATH"]}
    )
    assert (done.ok, done.returncode, done.stdout, done.stderr) == (False, 3, b"/\n", b"y\n")
    assert (await commands.run(["sh", "-c", "kill -9 $$"])).returncode == -9


async def test_output_is_bounded():
    """Output beyond the bound is read and counted, and does not stop the command."""
    done = await commands.run(python("print('x' * 3_000_000)"), max_output_bytes=1000)
    assert (len(done.stdout), done.stdout_cut, done.returncode) == (1000, 2_999_001, 0)


async def test_grandchild_that_holds_the_pipe():
    """A grandchild that keeps the output open does not keep the caller waiting past the limit, and is ended."""
    begun = time.monotonic()
    with pytest.raises(ToolTimeout) as failed:
        await commands.run(["sh", "-c", "echo begun; sleep 31.7 & echo $!; wait"], timeout_s=0.5)
    assert time.monotonic() - begun < 1.5
    assert failed.value.effect == "possible"
    begun_text, pid = failed.value.context["stdout"].split()
    assert begun_text == "begun"
    await until(lambda: not is_alive(int(pid)))


async def test_background_child_of_a_finished_command(pids):
    """A command that ends and leaves a child with its pipe is answered at once; the child is left alone."""
    begun = time.monotonic()
    done = await commands.run(["sh", "-c", f"sleep 30 & echo $! > {pids}; echo hi"])
    assert time.monotonic() - begun < 2
    assert done.stdout == b"hi\n"
    assert is_alive(written_pid(pids))
    os.kill(written_pid(pids), 9)
    await until(lambda: not is_alive(written_pid(pids)))


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_whole_tree_is_ended(pids, how):
    """Children that ignore SIGTERM, left the session or lost their parents are gone, after a time-out and after a cancel."""
    code = DAEMON.format(code=IGNORES_TERM, path=str(pids), sleep_s=60)
    task = asyncio.ensure_future(commands.run(python(code), timeout_s=1.0 if how == "timeout" else 60))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    if how == "cancel":
        task.cancel()
    with pytest.raises(ToolTimeout if how == "timeout" else asyncio.CancelledError):
        await task
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


async def test_limit_of_the_current_call():
    """Without a limit of its own a command has what the current call has left."""
    token = current_call.set(CallContext("t", {}, deadline=time.monotonic() + 0.3))
    try:
        with pytest.raises(ToolTimeout):
            await commands.run(["sleep", "30"], timeout_s=10)
    finally:
        current_call.reset(token)


async def test_what_cannot_run():
    """A missing program, one that may not be run, and a command line as text are told apart."""
    with pytest.raises(NotFound):
        await commands.run(["no-such-program-here"])
    with pytest.raises(PermissionDenied):
        await commands.run(["/etc/hostname"])
    with pytest.raises(UsageError, match="no shell"):
        await commands.run("ls -l")
    with pytest.raises(UsageError, match="await"):
        commands.run_sync(["true"])


async def test_from_a_thread():
    """`run_sync` does the same for plain functions in threads."""
    done = await asyncio.to_thread(commands.run_sync, ["echo", "hi"])
    assert done.stdout == b"hi\n"
    with pytest.raises(ToolTimeout):
        await asyncio.to_thread(commands.run_sync, ["sleep", "30"], timeout_s=0.2)


async def test_nothing_is_left_open():
    """Descriptors are closed whatever became of the command."""
    await commands.run(["true"])
    before = len(os.listdir("/proc/self/fd"))
    await commands.run(["echo", "hi"])
    for _ in range(3):
        with pytest.raises(ToolTimeout):
            await commands.run(["sh", "-c", "sleep 30 & wait"], timeout_s=0.1)
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before)
