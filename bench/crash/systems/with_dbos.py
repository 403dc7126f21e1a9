"""DBOS: a workflow of steps, recovered by `DBOS.launch()` of the restarted process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.crash.bank import pay
from bench.crash.beside import database
from bench.crash.systems import Setup

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

PACKAGES = ("dbos", "psycopg", "sqlalchemy")
IMPORTS = ("dbos",)
_PAGE = "https://docs.dbos.dev/python/tutorials/workflow-tutorial"
_PLAIN = "Steps are run at least once, and never again once they have completed."
_KEYED = "A step that runs again pays under the same key: the id of its workflow and its number."
SETUPS = tuple(
    Setup(title=f"DBOS, {name}{how}", store=name, page=_PAGE, promise=promise, is_quick=quick, keys=keys)
    for name, quick in (("SQLite", True), ("PostgreSQL", False))
    for how, promise, keys in (("", _PLAIN, False), (", keys", _KEYED, True))
)


def beside(setup: Setup, folder: Path) -> AbstractContextManager[dict[str, Any]]:
    """The database."""
    return database(setup.store, folder)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Recover what was begun, or begin it; a workflow of a known id is begun once."""
    from dbos import DBOS, SetWorkflowID

    DBOS(
        config={
            "name": "crash-suite",
            "system_database_url": job["url"],
            "run_admin_server": False,
            "log_level": "ERROR",
            # The version is worked out from the source where it is not given; a restart keeps it either way.
            "application_version": "1",
        }
    )

    @DBOS.step()
    def charge(step: int) -> str:
        key = f"{DBOS.workflow_id}-{DBOS.step_id}" if job["keys"] else None
        return pay(job["bank"], job["run"], step, key)

    @DBOS.workflow()
    def charge_all(steps: int) -> int:
        for step in range(steps):
            charge(step)
        return steps

    DBOS.launch()
    try:
        with SetWorkflowID(job["run"]):
            handle = DBOS.start_workflow(charge_all, job["steps"])
        handle.get_result()
    finally:
        DBOS.destroy()
    return {"doubts": {}}
