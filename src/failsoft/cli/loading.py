"""From `module:name` on the command line to tools or a harness."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import click

from failsoft.core.errors import UsageError
from failsoft.harness.builder import HarnessWarning
from failsoft.harness.harness import Harness
from failsoft.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["build_harness", "load_harness", "load_tools", "names_harness"]

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def _load(target: str) -> tuple[Any, str | None]:
    module_name, _, name = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    if module_name.endswith(".py"):
        raise UsageError(
            f"{module_name!r} is a file\n\nhint: name the module, without .py and with dots for folders"
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        if exc.name is not None and module_name.startswith(exc.name):
            raise UsageError(
                f"there is no module {module_name!r}\n\nhint: run it from the folder where `import {module_name}` works"
            ) from exc
        raise _broken(module_name, exc) from exc
    except UsageError as exc:
        raise UsageError(f"{exc}\n\nat: {_place(exc, module_name)}") from exc
    except Exception as exc:
        raise _broken(module_name, exc) from exc
    if not name:
        return module, None
    try:
        return getattr(module, name), name
    except AttributeError as exc:
        raise UsageError(f"module {module_name!r} has no {name!r}") from exc


def _broken(module_name: str, exc: Exception) -> UsageError:
    """The error for a module that is there and cannot be imported."""
    where = traceback.extract_tb(exc.__traceback__)[-1]
    told = f"{type(exc).__name__}: {exc}"
    return UsageError(
        f"importing {module_name!r} failed: {told}\n\nhint: {where.filename}, line {where.lineno}"
    )


def _place(exc: Exception, module_name: str) -> str:
    """File and line of the module's own code that an error came through; the last frame outside of this package."""
    frames = traceback.extract_tb(exc.__traceback__)
    own = [frame for frame in frames if not _is_inside(frame.filename)]
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else module_name


def _is_inside(filename: str) -> bool:
    return filename.startswith(("<frozen", os.path.dirname(importlib.__file__), _PACKAGE))


def load_tools(target: str) -> list[Tool[..., Any]]:
    """The tools of `module` (all of its `Tool`s), `module:harness` or `module:tool`.

    Raises:
        UsageError: There is nothing of the kind.
    """
    found, name = _load(target)
    if isinstance(found, Harness):
        return list(found.tools)
    if isinstance(found, Tool):
        return [found]
    if name is None:
        harnesses = [value for value in vars(found).values() if isinstance(value, Harness)]
        tools = [value for value in vars(found).values() if isinstance(value, Tool)]
        if tools or harnesses:
            return tools or [tool for harness in harnesses for tool in harness.tools]
    raise UsageError(
        f"{target!r} has no tools\n\nhint: give a module with functions decorated by @tool, or module:name of a harness or tool"
    )


def load_harness(target: str, *, store: str = "auto") -> Harness:
    """The harness `module:name`, or a harness around the tools that are there, with that store.

    Raises:
        UsageError: There is nothing of the kind.
    """
    found, name = _load(target)
    if isinstance(found, Harness):
        return found
    if name is None:
        harnesses = [value for value in vars(found).values() if isinstance(value, Harness)]
        if len(harnesses) == 1:
            return harnesses[0]
    return build_harness(load_tools(target), store=store)


def names_harness(target: str) -> bool:
    """Whether `module:name` is a harness, with policies of its own."""
    found, _ = _load(target)
    return isinstance(found, Harness)


def build_harness(tools: Iterable[Tool[..., Any]], *, store: str = "auto") -> Harness:
    """A harness; what it warns of is a note for the reader, not a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HarnessWarning)
        harness = Harness(tools, store=store)
    for warning in caught:
        click.echo(f"note: {warning.message}", err=True)
    return harness
