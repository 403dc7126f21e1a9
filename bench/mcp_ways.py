"""Ways to one MCP server that answers at once: over pipes and over HTTP, by clients without a framework.

A client library would cost more than what is measured, and would hide it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["IN_FLIGHT", "Http", "Pipe", "Way"]

IN_FLIGHT = 32
LONGEST_S = 5.0  # of one way in one round: the slowest must not make the run an hour
ANSWERS = """
import json, sys
TOOL = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "look", "inputSchema": TOOL, "annotations": {"readOnlyHint": True}},
         {"name": "act", "inputSchema": TOOL, "annotations": {"readOnlyHint": False}}]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
def answer(message):
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
    else:
        result = {"initialize": HELLO, "tools/list": {"tools": TOOLS}}.get(message["method"], {})
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
"""
PIPE_SERVER = (
    ANSWERS
    + """
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        sys.stdout.write(answer(message) + "\\n")
        sys.stdout.flush()
"""
)
HTTP_SERVER = (
    ANSWERS
    + """
import asyncio
async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\\r\\n")[0] or 0)
            body = await reader.readexactly(length)
            message = json.loads(body) if head.startswith(b"post") else {}
            if "id" not in message:
                status = b"202 Accepted" if message else b"405 Method Not Allowed"
                writer.write(b"HTTP/1.1 " + status + b"\\r\\ncontent-length: 0\\r\\n\\r\\n")
                continue
            text = answer(message).encode()
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(text) + text)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""
)
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}


class Way:
    """One way to the server: a process, times of calls one after another, calls a second with many under way."""

    def __init__(self, name: str, argv: list[str], folder: str, *, tool: str = "look", pipe: bool) -> None:
        self.name, self.tool, self.next = name, tool, 0
        self.times_ms: list[float] = []
        self.rates: list[float] = []
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "FAILSOFT_HOME": folder, "FAILSOFT_CONFIG": "none"},
        )

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """A request under a fresh id."""
        self.next += 1
        return {"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}

    def call(self) -> dict[str, Any]:
        """A call that differs from all others."""
        return self.request(
            "tools/call", {"name": self.tool, "arguments": {"text": f"hello {self.next + 1}"}}
        )

    def one_by_one(self, calls: int) -> None:
        """Time calls, each after the one before."""
        raise NotImplementedError

    def at_once(self, calls: int, *, longest_s: float = LONGEST_S) -> None:
        """Time many calls with `IN_FLIGHT` under way."""
        raise NotImplementedError

    def memory_mb(self) -> float:
        """Resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


def checked(message: dict[str, Any]) -> dict[str, Any]:
    """An answer that is a success."""
    assert "result" in message, message
    assert not message["result"].get("isError"), message
    return message


class Pipe(Way):
    """A process that speaks the protocol on its standard input and output."""

    def __init__(self, name: str, argv: list[str], folder: str, *, tool: str = "look") -> None:
        super().__init__(name, argv, folder, tool=tool, pipe=True)
        self.send(self.request("initialize", HELLO))
        self.read()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.send(self.request("tools/list", {}))
        self.read()

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name} has ended")
            message: dict[str, Any] = json.loads(line)
            if "method" not in message:
                return checked(message)

    def one_by_one(self, calls: int) -> None:
        for _ in range(calls):
            message = self.call()
            began = time.perf_counter()
            self.send(message)
            self.read()
            self.times_ms.append((time.perf_counter() - began) * 1e3)

    def at_once(self, calls: int, *, longest_s: float = LONGEST_S) -> None:
        began = time.perf_counter()
        for _ in range(IN_FLIGHT):
            self.send(self.call())
        for _ in range(calls - IN_FLIGHT):
            self.read()
            self.send(self.call())
        for _ in range(IN_FLIGHT):
            self.read()
        self.rates.append(calls / (time.perf_counter() - began))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Http(Way):
    """A process that listens: a session, and connections that are kept."""

    def __init__(
        self, name: str, argv: list[str], folder: str, *, port: int, path: str = "/mcp", tool: str = "look"
    ) -> None:
        super().__init__(name, argv, folder, tool=tool, pipe=False)
        self.port, self.session = port, b""
        self._path = path.encode()
        self._loop = asyncio.new_event_loop()
        self._connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._wait()
        self._loop.run_until_complete(self._begin())

    def _wait(self) -> None:
        for _ in range(1200):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"{self.name} does not listen")

    async def _connect(self) -> None:
        """Fresh connections: servers close those that rest."""
        for _, writer in self._connections:
            writer.close()
        self._connections = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(IN_FLIGHT)]

    async def _begin(self) -> None:
        await self._connect()
        checked(await self._ask(0, self.request("initialize", HELLO)))
        await self._ask(0, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        checked(await self._ask(0, self.request("tools/list", {})))

    async def _ask(self, connection: int, message: dict[str, Any]) -> dict[str, Any]:
        reader, writer = self._connections[connection]
        body = json.dumps(message).encode()
        writer.write(
            b"POST %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\naccept: application/json, text/event-stream\r\n"
            b"content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n%b"
            b"content-length: %d\r\n\r\n%b" % (self._path, self.port, self.session, len(body), body)
        )
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        if b"mcp-session-id" in headers:
            self.session = b"mcp-session-id: %b\r\n" % headers[b"mcp-session-id"]
        if b"transfer-encoding" in headers:
            text = await self._chunks(reader)
        else:
            text = await reader.readexactly(int(headers.get(b"content-length", 0)))
        return self._answer(text)

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        text = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            text += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
        return text

    def _answer(self, text: bytes) -> dict[str, Any]:
        for line in text.splitlines():
            data = line.removeprefix(b"data:")
            message = json.loads(data) if data.strip()[:1] == b"{" else {}
            if "result" in message or "error" in message:
                return dict(message)
        return {}

    def one_by_one(self, calls: int) -> None:
        self._loop.run_until_complete(self._one_by_one(calls))

    async def _one_by_one(self, calls: int) -> None:
        await self._connect()
        end = time.perf_counter() + LONGEST_S
        for _ in range(calls):
            message = self.call()
            began = time.perf_counter()
            if began > end:
                break
            checked(await self._ask(0, message))
            self.times_ms.append((time.perf_counter() - began) * 1e3)

    def at_once(self, calls: int, *, longest_s: float = LONGEST_S) -> None:
        began, done = 0.0, 0

        async def some(connection: int) -> None:
            nonlocal done
            for _ in range(calls // IN_FLIGHT):
                checked(await self._ask(connection, self.call()))
                done += 1
                if time.perf_counter() - began > longest_s:
                    return

        async def all_of_them() -> None:
            await asyncio.gather(*(some(connection) for connection in range(IN_FLIGHT)))

        self._loop.run_until_complete(self._connect())
        began = time.perf_counter()
        self._loop.run_until_complete(all_of_them())
        self.rates.append(done / (time.perf_counter() - began))

    def close(self) -> None:
        for _, writer in self._connections:
            writer.close()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()
        super().close()


def http_server(folder: str) -> tuple[Http, int]:
    """The server itself, reached directly."""
    port = free_port()
    return Http("direct", [sys.executable, "-c", HTTP_SERVER, str(port)], folder, port=port), port
