"""What the classifier says of the failures that every tool meets."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from failsoft.classify import classify, classify_response
from failsoft.core.errors import AgentError, NotFound


@pytest.mark.parametrize(
    ("exc", "kind", "retryable", "effect"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "network", True, "none"),
        (ConnectionResetError(104, "Connection reset by peer"), "network", True, "possible"),
        (socket.gaierror(-3, "Temporary failure in name resolution"), "network", True, "none"),
        (OSError(113, "No route to host"), "network", True, "none"),
        (OSError(28, "No space left on device"), "quota_exhausted", False, "possible"),
        (TimeoutError(), "timeout", True, "possible"),
        (asyncio.CancelledError(), "cancelled", False, "possible"),
        (KeyboardInterrupt(), "cancelled", False, "possible"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "not_found", False, "none"),
        (PermissionError(13, "Permission denied"), "permission_denied", False, "none"),
        (KeyError("x"), "not_found", False, "possible"),
        (ZeroDivisionError("division by zero"), "internal", False, "possible"),
        (RuntimeError("bad state"), "unknown", False, "possible"),
        (subprocess.CalledProcessError(3, ["x"], stderr=b"no\nsuch thing"), "internal", False, "possible"),
    ],
)
def test_builtins(exc: BaseException, kind: str, retryable: bool, effect: str) -> None:
    """Python's own exceptions get the kind, the retry and the effect that they prove."""
    error = classify(exc)
    assert (error.kind, error.retryable, error.effect) == (kind, retryable, effect)
    assert error.__cause__ is exc
    assert error.message


def test_agent_error_comes_back() -> None:
    """What is an AgentError already is handed back untouched."""
    error = NotFound("no such order")
    assert classify(error) is error


def test_success_is_no_error() -> None:
    """A good answer is no error, whatever words are in it."""
    assert classify_response(200, {}, {"text": "this failed", "error": None}) is None
    assert classify_response(204, {}, "") is None
    assert classify_response(200, {}, "<html>Error 500</html>") is None


def test_subclass_of_the_kind() -> None:
    """The error is of the class that belongs to its kind."""
    assert isinstance(classify(FileNotFoundError()), NotFound)
    assert isinstance(classify_response(404, {}, None), AgentError)


def test_imports_no_client_library() -> None:
    """Importing the room imports no client library."""
    code = (
        "import sys, failsoft.classify\n"
        "bad = {'httpx','httpcore','requests','urllib3','aiohttp','openai','anthropic','tenacity'}\n"
        "print(sorted(bad & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
