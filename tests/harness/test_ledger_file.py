"""The ledger in a file: restarts, the default store, a file that cannot be written, and outputs that were cut."""

import asyncio
import re

from failsoft import Harness, tool
from failsoft.testing.clock import run_virtual

LOST = ConnectionResetError(104, "reset")


class Desk:
    """A desk whose acts are counted."""

    def __init__(self, fail=None):
        self.acts = []
        self.fail = fail

    def tools(self):
        @tool(read_only=False)
        async def refund(order: str) -> dict:
            """Refund an order."""
            self.acts.append(order)
            if self.fail is not None:
                raise self.fail
            return {"refunded": order}

        return [refund]


async def test_a_restarted_program_meets_its_doubts(tmp_path):
    """What one harness left in doubt in a file, the next one knows."""
    url = f"sqlite:///{tmp_path / 'f.db'}"
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store=url) as harness:
        first = await harness.call("refund", {"order": "o1"})
    desk.fail = None
    async with Harness(desk.tools(), store=url) as harness:
        again = await harness.call("refund", {"order": "o1"})
        assert [doubt.id for doubt in await harness.recover()] == [first.doubt]
    assert again.error.kind == "in_doubt"
    assert again.doubt == first.doubt
    assert len(desk.acts) == 1


def test_auto_uses_a_file_only_for_protected_tools(tmp_path, monkeypatch):
    """`store="auto"` writes a file, for its owner's eyes, as soon as a protected tool is there."""
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path / "home"))

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    async def use(tools):
        async with Harness(tools) as harness:
            await harness.call(tools[0], {"order": "o"} if tools[0].name == "refund" else {})

    asyncio.run(use([look]))
    assert not (tmp_path / "home").exists()
    asyncio.run(use(Desk().tools()))
    file = tmp_path / "home" / "failsoft.db"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_claim_that_cannot_be_written_stops_the_effect(tmp_path):
    """Where the intent cannot be made durable the body does not run."""
    folder = tmp_path / "file"
    folder.write_text("not a folder")
    desk = Desk()

    async def main():
        async with Harness(desk.tools(), store=f"sqlite:///{folder}/f.db") as harness:
            return await harness.call("refund", {"order": "o1"})

    result = asyncio.run(main())
    assert result.error.kind == "unavailable"
    assert result.error.effect == "none"
    assert desk.acts == []


def test_cut_output_can_be_read_on():
    """A long output is cut with a handle, and `read_more` gives the rest within the run."""

    async def main(clock):
        @tool(read_only=True, output=1000)
        async def long() -> str:
            """Write."""
            return "".join(f"line {n}\n" for n in range(400))

        harness = Harness([long, *Desk().tools()], clock=clock, store="memory")
        async with harness, harness.run() as run:
            result = await run.call("long")
            handle = re.search(r"handle='(\w+)', start=(\d+)", result.content)
            rest = await run.call("read_more", {"handle": handle[1], "start": int(handle[2])})
            elsewhere = await harness.call("read_more", {"handle": handle[1]})
            return result, rest, elsewhere

    result, rest, elsewhere = run_virtual(main)
    assert result.output_cut > 0
    assert len(result.content) < 1300
    assert rest.content.endswith("line 399\n")
    assert elsewhere.error.kind == "not_found"
