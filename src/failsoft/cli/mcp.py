"""`failsoft mcp`: stand before an MCP server and make it reliable."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from failsoft.adapters.mcp.config import ServerSpec, load_servers
from failsoft.adapters.mcp.effects import TRUST, ServerOptions
from failsoft.adapters.mcp.restarts import Restarts
from failsoft.adapters.mcp.running import label_of, make_front, run_stdio
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.adapters.mcp.session import ClientSide

__all__ = ["command"]

Command = TypeVar("Command", bound="Callable[..., Any]")


def _patterns(word: str, text: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{word}", multiple=True, metavar="TOOL", help=f"{text} A name or a pattern such as 'get_*'."
    )


@click.command("mcp", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("argv", metavar="[-- CMD [ARGS]...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--config",
    "files",
    multiple=True,
    metavar="FILE",
    help="Policies (failsoft.toml) or servers (mcp.json); can be given for each.",
)
@click.option("--name", help="The server's name, and the scope of its ledger.")
@click.option(
    "--trust", type=click.Choice(TRUST), default="all", help="How far the server's annotations are believed."
)
@_patterns("read-only", "This tool changes nothing.")
@_patterns("idempotent", "A second identical call of this tool has no further effect.")
@_patterns("acts", "This tool changes something.")
@_patterns("destructive", "This tool may delete or overwrite.")
@click.option("--store", default="auto", envvar="FAILSOFT_STORE", metavar="URL", help="As for a harness.")
@click.option(
    "--restarts", type=click.IntRange(min=0), default=5, show_default=True, help="Most restarts in a minute."
)
@click.option(
    "--hang-after",
    "hang_s",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Seconds after which a server that answers nothing is killed.",
)
@click.option(
    "--remember",
    "remember_s",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Seconds for which an identical call that acts gets the recorded result; default none.",
)
@click.option("--url", help="A server behind a URL (streamable HTTP), instead of CMD.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME:VALUE",
    help="Sent to --url with each request; ${VARIABLE} is filled in from the environment.",
)
@click.option(
    "--login", is_flag=True, help="Have a person log in to --url by a browser, keep the login, and end."
)
@click.option("--logout", is_flag=True, help="Forget the login to --url, and end.")
@click.option(
    "--client-id", help="With --login: a client that is registered; its secret in $FAILSOFT_CLIENT_SECRET."
)
@click.option(
    "--login-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="With --login: the port of this machine that the browser comes back to; default a free one.",
)
@click.option("--no-browser", is_flag=True, help="With --login: print the address, open no browser.")
@click.option(
    "--pass-authorization",
    "passes_authorization",
    is_flag=True,
    help="With --http: send the clients' own Authorization to --url, and have them log in there.",
)
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve clients at http://127.0.0.1:PORT/mcp instead of standard input and output.",
)
@click.option(
    "--token",
    envvar="FAILSOFT_TOKEN",
    show_envvar=True,
    help="What clients of --http send as bearer token (with --pass-authorization as Failsoft-Token); "
    "default a fresh one, told on standard error.",
)
@click.option("--no-token", is_flag=True, help="Ask clients of --http for no token.")
@click.option(
    "--doctor", is_flag=True, help="Look at the server and its tools, print what was found, and end."
)
@click.option("--json", "as_json", is_flag=True, help="With --doctor: print JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Log each call on standard error.")
def command(
    argv: tuple[str, ...],
    files: tuple[str, ...],
    verbose: bool,
    store: str,
    doctor: bool,
    as_json: bool,
    port: int | None,
    token: str | None,
    no_token: bool,
    login: bool,
    logout: bool,
    client_id: str | None,
    login_port: int,
    no_browser: bool,
    **given: Any,
) -> int:
    """Serve the MCP server CMD to the client on standard input and output, made reliable.

    In a client's configuration put `failsoft mcp --` before the server's own command.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING, format="failsoft: %(message)s"
    )
    # An HTTP client logs whole addresses, whose queries may hold secrets.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    specs, config = read_specs(argv, files, given)
    if logout or login:
        from failsoft.cli.mcp_login import log_in, log_out

        if logout:
            return log_out(specs)
        return log_in(specs, client_id=client_id, port=login_port, browser=not no_browser)
    specs = _checked(specs)
    if given["passes_authorization"] and (port is None or len(specs) > 1 or specs[0].url is None):
        raise UsageError(
            "--pass-authorization is for clients over --http of one server behind --url\n\n"
            "hint: without --http use --login, or --header 'Authorization: Bearer ${TOKEN}'"
        )
    if doctor:
        from failsoft.cli.mcp_doctor import look

        return look(specs, config, as_json=as_json)
    if port is not None:
        # Without an authorization that the server takes nothing is done, so that no token of our own is needed.
        open_to_all = no_token or (given["passes_authorization"] and token is None)
        asked = None if open_to_all else token or secrets.token_urlsafe(24)
        return _over_http(specs, port, asked, store, config, told=token is None)
    finished = asyncio.run(run_stdio(specs, store=store, config=config))
    return 0 if finished else 130


def _over_http(
    specs: list[ServerSpec], port: int, token: str | None, store: str, config: Any, *, told: bool
) -> int:
    try:
        from failsoft.adapters.mcp.listener import listen
    except ModuleNotFoundError as exc:
        raise UsageError("serving over HTTP needs a package\n\nhint: pip install 'failsoft[mcp]'") from exc

    def front(client: ClientSide) -> Any:
        return make_front(specs, client, store=store, config=config)

    def tell(url: str) -> None:
        click.echo(f"failsoft: {url}", err=True)
        if token is not None and told:
            click.echo(f"failsoft: Authorization: Bearer {token}", err=True)

    login_url = specs[0].reached_at()[0] if specs[0].passes_authorization else None
    asyncio.run(listen(front, port, token=token, login_url=login_url, told=tell))
    return 0


def _checked(specs: list[ServerSpec]) -> list[ServerSpec]:
    """The servers that can be reached as they are described; of several, one that cannot is left out.

    Raises:
        UsageError: None of them can.
    """
    good = []
    for spec in specs:
        try:
            spec.check()
        except UsageError as exc:
            if len(specs) == 1:
                raise
            logging.getLogger("failsoft.mcp").warning("the server %s is left out: %s", spec.name, exc)
            continue
        good.append(spec)
    if not good:
        raise UsageError("none of the servers can be reached as they are described")
    return good


def read_specs(
    argv: tuple[str, ...], files: tuple[str, ...], given: dict[str, Any]
) -> tuple[list[ServerSpec], Any]:
    """The servers that the command line names, and the file with policies.

    Raises:
        UsageError: There is none, or it is said in two ways.
    """
    policies = [file for file in files if not file.endswith(".json")]
    servers = [spec for file in files if file.endswith(".json") for spec in load_servers(file)]
    if len(policies) > 1:
        raise UsageError(f"there is one file with policies, got {', '.join(policies)}")
    if bool(argv) + bool(servers) + bool(given["url"]) != 1:
        raise UsageError(
            "wanted one server: after `--`, by --url, or in a file\n\n"
            "hint: failsoft mcp -- CMD ARGS, or failsoft mcp --config mcp.json"
        )
    return servers or [_spec(argv, given)], policies[0] if policies else "auto"


def _spec(argv: tuple[str, ...], given: dict[str, Any]) -> ServerSpec:
    tools: dict[str, dict[str, Any]] = {}
    for option, word, value in (
        ("read_only", "read_only", True),
        ("idempotent", "idempotent", True),
        ("acts", "read_only", False),
        ("destructive", "destructive", True),
    ):
        for pattern in given[option]:
            tools.setdefault(pattern, {})[word] = value
    return ServerSpec(
        name=given["name"] or label_of(argv or (given["url"],)),
        argv=argv,
        url=given["url"],
        headers=dict(_header(text) for text in given["headers"]),
        passes_authorization=given["passes_authorization"],
        options=ServerOptions(trust=given["trust"], tools=tools),
        restarts=Restarts(most=given["restarts"]),
        hang_s=given["hang_s"],
        remember_s=given["remember_s"],
    )


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header is NAME:VALUE, got {name!r} without a colon")
    return name.strip(), value.strip()
