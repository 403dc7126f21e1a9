"""The systems of the crash suite: one file each, found by its being there, and what the driver asks of it.

A file has

    IMPORTS, PACKAGES       what it needs, as modules and as packages; without the modules it is left out
    SETUPS                  the ways in which it is measured
    beside(setup, folder)   a context manager: servers that are not killed; gives what a job must know of them
    work(job)               run in the process that is killed, and that is started again with the same job
    ask(job)                optional: run in a process that is not killed; the run is over when it returns
    RESOLVES                optional: a person may say of a doubt whether it happened, and `work` goes on with that

`work`, or `ask` where there is one, returns `{"doubts": {id: step}}`: the steps of which it says that it does not know.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from dataclasses import dataclass
from typing import Any

__all__ = ["Setup", "missing", "systems"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One way to use a system.

    Args:
        title: What the tables call it.
        store: Where it keeps what it knows, in its own words.
        keys: Whether each payment carries an idempotency key, which the bank honours.
        can_ask: Whether somebody may ask the bank what became of a payment.
        retries: Whether a step in flight may be run again.
        page: The page of its documentation that this follows.
        promise: What that page promises of a step in flight, in a sentence.
        is_quick: Whether the quick mode has it.
    """

    title: str
    page: str
    promise: str
    store: str = ""
    keys: bool = False
    can_ask: bool = False
    retries: bool = True
    is_quick: bool = True


def systems() -> dict[str, Any]:
    """The modules of this folder by name, failsoft's first."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.name.startswith("with_")]
    names.sort(key=lambda name: (name != "with_failsoft", name))
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def missing(module: Any) -> list[str]:
    """The imports that a system needs and that are not to be had."""
    return [name for name in module.IMPORTS if importlib.util.find_spec(name) is None]
