"""Tools for the command-line tests."""

from failsoft import tool


@tool(read_only=True)
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Whom.
        times: How often.
    """
    return " ".join([f"hello {name}"] * times)


@tool(read_only=True, retry=None)
async def broken() -> str:
    """Fail."""
    raise ConnectionRefusedError(111, "Connection refused")
