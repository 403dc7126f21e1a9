"""A harness that is built before its process forks."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.server
@pytest.mark.process
@pytest.mark.slow
async def test_forked_children_are_members_of_their_own(server: Any) -> None:
    """A child that breaks tells its parent and its sibling, which has never made a call."""
    command = [sys.executable, str(Path(__file__).with_name("forking.py")), server.url]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.decode().split() == ["parent", "open", "listener", "0", "breaking", "0"]
