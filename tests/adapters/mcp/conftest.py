"""A proxy in this process before the toy server in another one, and a client that is a list of messages."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from failsoft.adapters.mcp.child import Child
from failsoft.adapters.mcp.link import Link
from failsoft.adapters.mcp.session import Session
from failsoft.harness.settings import Settings
from failsoft.policies import Policy, Timeout

TOY = Path(__file__).parent / "toy_server.py"
QUICK = Settings(policy=Policy(timeout=Timeout(attempt_s=0.4, total_s=2.0)))


class Client:
    """What a client would see; `ask` gives the answer to one request."""

    def __init__(self):
        self.lines, self.messages = [], []
        self.paused = []
        self.session = None
        self._waiting = {}
        self._next = 0

    def send(self, line, message):
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        self.lines.append(line)
        message = json.loads(line)
        self.messages.append(message)
        waiter = self._waiting.pop(message.get("id"), None) if "method" not in message else None
        if waiter is not None and not waiter.done():
            waiter.set_result(message)

    def pause(self, paused):
        self.paused.append(paused)

    def write(self, message):
        self.session.from_client(json.dumps(message).encode())

    def begin(self, method, params=None, id=None):
        self._next += 1
        id = self._next if id is None else id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self._waiting[id] = waiter = asyncio.get_running_loop().create_future()
        self.write(message if params is None else {**message, "params": params})
        return id, waiter

    async def ask(self, method, params=None, id=None):
        _, waiter = self.begin(method, params, id)
        async with asyncio.timeout(15):
            return await waiter

    async def call(self, name, how="", n=0, **more):
        return await self.ask("tools/call", {"name": name, "arguments": {"how": how, "n": n}, **more})

    async def hello(self, version="2025-06-18"):
        answer = await self.ask(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
        )
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def of(self, method):
        return [message for message in self.messages if message.get("method") == method]


class Effects:
    """The file in which the toy server notes what it does."""

    def __init__(self, path):
        self.path = path

    def lines(self, word=""):
        text = self.path.read_text() if self.path.exists() else ""
        return [line for line in text.splitlines() if line.startswith(word)]


@pytest.fixture
def effects(tmp_path):
    return Effects(tmp_path / "effects")


@pytest.fixture
async def connect(effects):
    """Make a client, its session and the toy server: `client = await connect(...)`."""
    made = []

    async def make(*arguments, link=None, environment=None, store="memory", config=QUICK, **options):
        client = Client()
        argv = [sys.executable, "-u", str(TOY), *arguments]
        env = {"TOY_EFFECTS": str(effects.path), **(environment or {})}
        client.session = session = Session(
            lambda owner: Link("toy", lambda: Child(argv, env=env), owner, **(link or {})),
            client,
            store=store,
            config=config,
            **options,
        )
        made.append(session)
        await session.link.start()
        return client

    yield make
    for session in made:
        await session.aclose()
