"""The services of the desk: catalogue, payments and mail, as one HTTP server on the loopback interface that really fails."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from failsoft.cli.demo.faults import Fault, Faults
from failsoft.core.events import EventName

if TYPE_CHECKING:
    from failsoft.cli.demo.world import World
    from failsoft.core.events import Event

__all__ = ["Services"]

HANG_S = 1.5
SLOW_S = 0.15
OPENS_AFTER_S = 0.3


class _Gone(Exception):
    """The connection is to be cut without an answer."""


class Services:
    """Starts and stops the server. It begins to listen a moment late, so that the first connection is refused.

    Args:
        world: The state behind it.
        seed: Of the schedule of faults.
        chaos: Share of requests that meet trouble, 0 to 1; 0 also means that it listens at once.
    """

    def __init__(self, world: World, seed: int, chaos: float) -> None:
        self.world = world
        self.catalogue = Faults("catalogue", seed, chaos, (Fault.HANG, Fault.LIMITED))
        self.orders = Faults("orders", seed, chaos)
        self.payments = Faults("payments", seed, chaos, (Fault.LOST_ANSWER,))
        self.mail = Faults("mail", seed, chaos)
        self._late = chaos > 0
        handler = type("Handler", (_Handler,), {"services": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler, bind_and_activate=False)
        self._server.server_bind()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._opened = threading.Event()
        self._awaited = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="demo-services", daemon=True)
        self._thread.start()
        if chaos == 0:
            self._awaited.set()
            self._opened.wait(5)

    def __call__(self, event: Event) -> None:
        """Begin to listen a moment after the model has first asked for something, so that its first call is refused."""
        if event.name is EventName.TURN_FINISHED:
            self._awaited.set()

    def _serve(self) -> None:
        self._awaited.wait()
        if self._late and self._closing.wait(OPENS_AFTER_S):
            return
        self._server.server_activate()
        self._opened.set()
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        self._awaited.set()
        if self._opened.is_set():
            self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Routes requests and applies the schedule."""

    services: Services
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the screen belongs to the demo."""

    def do_GET(self) -> None:
        """Reads."""
        self._handle(writes=False)

    def do_POST(self) -> None:
        """Writes."""
        self._handle(writes=True)

    def _handle(self, *, writes: bool) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        body = self._body()
        services = self.services
        by_place = {"catalogue": services.catalogue, "messages": services.mail, "refunds": services.payments}
        faults = by_place.get(parts[0], services.orders)
        fault = faults.next(writes=writes)
        try:
            if self._fails_before(fault):
                return
            status, answer = self._answer(writes, parts, parse_qs(url.query), body)
            if fault is Fault.LOST_ANSWER or (fault is Fault.HANG and writes):
                # The work is done; its answer never arrives.
                if fault is Fault.HANG:
                    time.sleep(HANG_S)
                raise _Gone
            self._send(status, answer)
        except (_Gone, BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _fails_before(self, fault: Fault) -> bool:
        """Trouble before any work is done; whether the request is over with it."""
        match fault:
            case Fault.LIMITED:
                self._send(
                    429, {"error": "too many requests"}, {"Retry-After": "0.3", "retry-after-ms": "300"}
                )
            case Fault.DOWN:
                self._send(503, {"error": "the service is being restarted"})
            case Fault.CUT_BEFORE:
                raise _Gone
            case Fault.HANG if self.command == "GET":
                time.sleep(HANG_S)
                raise _Gone
            case Fault.SLOW:
                time.sleep(SLOW_S)
                return False
            case _:
                return False
        return True

    def _answer(
        self, writes: bool, parts: list[str], query: dict[str, list[str]], body: dict[str, Any]
    ) -> tuple[int, Any]:
        world = self.services.world
        match (writes, parts):
            case (False, ["catalogue"]):
                return 200, {"items": world.search(" ".join(query.get("q", [])))}
            case (False, ["orders", order_id]):
                order = world.order(order_id)
                return (404, {"error": f"there is no order {order_id}"}) if order is None else (200, order)
            case (False, ["refunds", order_id]):
                return 200, {"refunds": world.refunds(order_id)}
            case (False, ["messages", to]):
                return 200, {"messages": [message for message in world.messages() if message["to"] == to]}
            case (True, ["refunds"]):
                order = world.order(body["order_id"])
                if order is None or body["amount_cents"] > order["amount_cents"]:
                    return 422, {
                        "error": f"the amount must be at most {order['amount_cents'] if order else 0} cents"
                    }
                number = world.add_refund(body["order_id"], body["amount_cents"], body["reason"])
                return 201, {"refund": number}
            case (True, ["messages"]):
                return 201, {"message": world.add_message(body["to"], body["subject"], body["body"])}
            case _:
                return 404, {"error": "there is no such place"}

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length") or 0)
        body: dict[str, Any] = json.loads(self.rfile.read(length)) if length else {}
        return body

    def _send(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
