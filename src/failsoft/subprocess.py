"""Commands for tools: `await failsoft.subprocess.run([...])` ends the whole tree at the deadline and bounds the output."""

from failsoft.isolation.command import Finished, run, run_sync

__all__ = ["Finished", "run", "run_sync"]
