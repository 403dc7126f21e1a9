"""The proxy in one call: servers behind, a client before."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from failsoft.adapters.mcp.link import Link
from failsoft.adapters.mcp.many import Many
from failsoft.adapters.mcp.served import Served
from failsoft.adapters.mcp.session import Session
from failsoft.adapters.mcp.stdio import StdioClient, take_stdio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.session import ClientSide
    from failsoft.harness.harness import Harness

__all__ = ["label_of", "make_front", "make_session", "run_stdio", "serve_stdio"]


def label_of(argv: Sequence[str]) -> str:
    """A name for a server that was given none: the program, and a mark of the whole command line.

    The command line itself may hold secrets, and a ledger's scope is shown to people.
    """
    mark = hashlib.sha256("\0".join(argv).encode()).hexdigest()[:8]
    return f"{urlsplit(argv[0]).hostname or os.path.basename(argv[0])}-{mark}"


def make_session(
    spec: ServerSpec, client: ClientSide, *, store: Any = "auto", config: Any = "auto"
) -> Session:
    """One server's session.

    Args:
        spec: The server.
        client: The way back to the client.
        store: As for `Harness`.
        config: As for `Harness`.
    """

    def link(owner: Session) -> Link:
        return Link(
            spec.name, spec.connect, owner, restarts=spec.restarts, start_s=spec.start_s, hang_s=spec.hang_s
        )

    session = Session(
        link,
        client,
        options=spec.options,
        scope=f"mcp:{spec.name}",
        store=store,
        config=config,
        remember_s=spec.remember_s,
    )
    session.link.interrupted = getattr(client, "interrupt", None)  # pipes have no streams to close
    return session


def make_front(
    specs: Sequence[ServerSpec], client: ClientSide, *, store: Any = "auto", config: Any = "auto"
) -> Session | Many:
    """What stands before the client: the one server's session, or one for several of them."""
    if len(specs) == 1:
        return make_session(specs[0], client, store=store, config=config)

    def maker(spec: ServerSpec) -> Any:
        return lambda port: make_session(spec, port, store=store, config=config)

    return Many(client, {spec.name: maker(spec) for spec in specs})


async def serve_stdio(harness: Harness, *, name: str | None = None) -> bool:
    """Serve a harness's own tools on standard input and output; False where a signal ended it.

    Args:
        harness: Whose tools; closed at the end.
        name: What the server calls itself.
    """
    client = StdioClient(*take_stdio())
    served = Served(harness, client, name=name)
    try:
        return await client.serve(served)
    finally:
        await served.aclose()
        await harness.aclose()
        await client.close()


async def run_stdio(specs: Sequence[ServerSpec], *, store: str = "auto", config: Any = "auto") -> bool:
    """Serve the client on standard input and output until it leaves; False where a signal ended it.

    Args:
        specs: The servers.
        store: As for `Harness`.
        config: As for `Harness`.

    Raises:
        AgentError: A server cannot be started.
    """
    client = StdioClient(*take_stdio())
    front = make_front(specs, client, store=store, config=config)
    try:
        await front.start()
        return await client.serve(front)
    finally:
        await front.aclose()
        await client.close()
