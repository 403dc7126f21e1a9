"""Restate: a durable handler; the service that runs it is killed and started again, the server stays and retries."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import time
from typing import TYPE_CHECKING, Any

from bench.crash.bank import pay
from bench.crash.beside import free_port, running, wait_for_port
from bench.crash.systems import Setup
from bench.fetch import from_npm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGES = ("restate-sdk", "hypercorn")
IMPORTS = ("restate", "hypercorn")
SERVER = "@restatedev/restate-server@1.7.12"
_PAGE = "https://docs.restate.dev/develop/python/durable-steps"
SETUPS = (
    Setup(
        title="Restate",
        page=_PAGE,
        promise="A step's result is stored when the step has ended; one that was under way is run again.",
    ),
    Setup(
        title="Restate, keys",
        keys=True,
        page=_PAGE,
        promise="A step that runs again pays under the same key, from `ctx.uuid()`.",
    ),
)


@contextlib.contextmanager
def beside(setup: Setup, folder: Path) -> Iterator[dict[str, Any]]:
    """The server, and the port at which it will find the service."""
    binary = from_npm(SERVER) / ".bin" / "restate-server"
    ingress, admin, node = free_port(), free_port(), free_port()
    config = folder / "restate.toml"
    config.write_text(
        f'disable-telemetry = true\n[admin]\nbind-address = "127.0.0.1:{admin}"\n'
        f'[ingress]\nbind-address = "127.0.0.1:{ingress}"\n',
        encoding="utf-8",
    )
    command = [str(binary), "--config-file", str(config), "--base-dir", str(folder / "restate"), "--no-logo"]
    command += ["--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", str(node)]
    with running(command, folder / "restate.log"):
        wait_for_port(admin)
        wait_for_port(ingress)
        yield {"ingress": ingress, "admin": admin, "service": free_port()}


def work(job: dict[str, Any]) -> dict[str, Any]:
    """The service; it has no end of its own."""
    import hypercorn.asyncio
    import restate

    shop = restate.Service("shop")

    @shop.handler("charge_all")
    async def charge_all(ctx: Any, steps: int) -> int:
        async def charge(step: int, key: str | None) -> str:
            return await asyncio.to_thread(pay, job["bank"], job["run"], step, key)

        for step in range(steps):
            key = str(ctx.uuid()) if job["keys"] else None
            await ctx.run_typed(f"charge {step}", charge, step=step, key=key)
        return steps

    config = hypercorn.Config()
    config.bind = [f"127.0.0.1:{job['service']}"]
    config.loglevel = "ERROR"
    asyncio.run(hypercorn.asyncio.serve(restate.app([shop]), config))
    return {"doubts": {}}


def ask(job: dict[str, Any]) -> dict[str, Any]:
    """Make the service known, call it, and wait for its answer."""
    wait_for_port(job["service"])
    _request(job["admin"], "/deployments", {"uri": f"http://127.0.0.1:{job['service']}", "force": True})
    _request(job["ingress"], "/shop/charge_all", job["steps"], {"Idempotency-Key": job["run"]})
    return {"doubts": {}}


def _request(port: int, path: str, body: Any, headers: dict[str, str] | None = None) -> str:
    until = time.monotonic() + 20
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request(
                "POST", path, json.dumps(body), {"Content-Type": "application/json", **(headers or {})}
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status < 300:
            return text
        if time.monotonic() > until:
            raise RuntimeError(f"{path}: {answer.status} {text[:300]}")
        time.sleep(0.2)
