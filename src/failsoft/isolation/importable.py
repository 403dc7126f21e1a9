"""Whether another process can find a body by its name, and how it does."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["Address", "check_importable", "find"]

MAIN = "__mp_main__"
"""The name under which a script runs again in a worker; the one that multiprocessing uses, so that its guard works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a body is found.

    Args:
        module: Name of its module.
        qualname: Its name within the module, with dots.
        script: Path of the main script, where the body was defined in it.
    """

    module: str
    qualname: str
    script: str | None = None


def check_importable(fn: Callable[..., Any]) -> Address:
    """The address of a body, after a look whether it leads back to the body.

    Args:
        fn: A function of a module, or what a decorator made of it, as long as the name leads to the one or the other.

    Raises:
        UsageError: A lambda, a nested function, a method, a callable object, something defined in a notebook or in a
            script without the `__name__` guard, or a name that leads elsewhere.
    """
    layers = _layers(fn)
    plain = layers[-1]
    module, qualname = getattr(plain, "__module__", None), getattr(plain, "__qualname__", None)
    if not (inspect.isroutine(plain) and module and qualname):
        raise _refused(fn, "it is an object, not a function of a module")
    if "<lambda>" in qualname:
        raise _refused(fn, "a lambda has no name")
    if "<locals>" in qualname:
        raise _refused(fn, "it is defined inside another function")
    if module in ("__main__", MAIN):
        address = _in_script(fn, qualname)
    else:
        address = Address(module=module, qualname=qualname)
    found = _walk(sys.modules.get(module), qualname)
    if not any(layer is body for layer in layers for body in _layers(found)):
        raise _refused(fn, f"{module}.{qualname} is something else")
    return address


def find(address: Address) -> Callable[..., Any]:
    """Import a body.

    Raises:
        ImportError: There is none of that name.
        Exception: Whatever the module raises while it is imported.
    """
    module = run_script(address.script) if address.script else importlib.import_module(address.module)
    found = _walk(module, address.qualname)
    body = getattr(found, "fn", found)  # what `@tool` made, without knowing that room
    if not callable(body):
        raise ImportError(f"{address.module} has no function {address.qualname!r}")
    return body  # type: ignore[no-any-return]


@functools.cache
def run_script(path: str) -> ModuleType:
    """Run the main script again, under another name, as multiprocessing does."""
    module = type(sys)(MAIN)
    module.__dict__.update(runpy.run_path(path, run_name=MAIN))
    sys.modules[MAIN] = module
    return module


def _layers(fn: Any) -> list[Any]:
    """A body and what it was made from: decorators set `__wrapped__`, a tool has `fn`."""
    layers = [fn]
    while len(layers) < 20:
        fields = getattr(layers[-1], "__dict__", {})
        inner = fields.get("fn") or fields.get("__wrapped__")
        if inner is None:
            break
        layers.append(inner)
    return layers


def _walk(found: Any, qualname: str) -> Any:
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found


def _in_script(fn: Callable[..., Any], qualname: str) -> Address:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name and not spec.name.endswith("__main__"):  # python -m package.module
        return Address(module=spec.name, qualname=qualname)
    path = getattr(main, "__file__", None)
    if path is None or not Path(path).is_file():
        raise _refused(fn, "it is defined in an interactive session")
    if not _is_guarded(Path(path)):
        raise _refused(
            fn, 'its script runs whole when it is imported; put the start under `if __name__ == "__main__":`'
        )
    return Address(module=MAIN, qualname=qualname, script=str(Path(path).resolve()))


def _is_guarded(path: Path) -> bool:
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.If)
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))
        for node in body
    )


def _refused(fn: Callable[..., Any], why: str) -> UsageError:
    name = getattr(fn, "__qualname__", None) or getattr(fn, "name", None) or repr(fn)
    return UsageError(
        f"isolation='process' cannot run {name}: {why}\n\n"
        "hint: a worker imports the body by its name; define it at the top of a module, or use isolation='thread'"
    )
