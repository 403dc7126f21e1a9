"""Which file may import what; each rule takes one file and names what breaks it."""

import ast
import sys
from collections.abc import Iterator

from tests.meta.source import PACKAGE, Source

# An optional package: the file or folder names that may import it.
HOMES = {
    "agents": {"openai_agents"},
    "anthropic": {"anthropic"},
    "click": {"cli"},
    "dbos": {"dbos"},
    "langchain": {"langchain"},
    "langchain_core": {"langchain"},
    "langgraph": {"langchain"},
    "matplotlib": {"matplotlib"},
    "mcp": {"mcp"},
    "openai": {"openai"},
    "opentelemetry": {"otel"},
    "prometheus_client": {"prometheus"},
    "psycopg": {"postgres"},
    "psycopg_pool": {"postgres"},
    "pydantic_ai": {"pydantic_ai"},
    "redis": {"redis"},
    "rich": {"cli"},
    "structlog": {"structlog"},
}
# A room that production code may not import: the rooms that may.
GUARDED = {"chaos": {"chaos", "lab"}, "testing": {"testing"}}


def imported(source: Source) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of each import; `from a import b` gives `a.b`."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(source, node)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and (name := imported_by_call(node)):
            yield node.lineno, name


def absolute(source: Source, node: ast.ImportFrom) -> str:
    """The module that a `from` line reads, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    package = [PACKAGE, *source.parts[:-1]]
    kept = package[: len(package) - (node.level - 1)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imported_by_call(node: ast.Call) -> str | None:
    """The name in `import_module("name")` or `__import__("name")`."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in {"import_module", "__import__"} or not node.args:
        return None
    first = node.args[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def away_from_home(source: Source) -> list[str]:
    """An optional package is imported only in the file named after it."""
    names = {part.strip("_") for part in source.parts}
    return [
        f"{source.path}:{line}: {name} belongs in a file named {' or '.join(sorted(homes))}"
        for line, name in imported(source)
        if (homes := HOMES.get(name.split(".")[0])) and not homes & names
    ]


def package_root(source: Source) -> list[str]:
    """No module imports the front door; `from failsoft import core` reads it as well."""
    return [
        f"{source.path}:{node.lineno}: import the module that owns the name, not {PACKAGE} itself"
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.Import) and any(alias.name == PACKAGE for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and absolute(source, node) == PACKAGE)
    ]


def public_errors(source: Source) -> list[str]:
    """Rooms take errors from core; `failsoft.errors` is for users."""
    return [
        f"{source.path}:{line}: import from {PACKAGE}.core.errors"
        for line, name in imported(source)
        if name == f"{PACKAGE}.errors" or name.startswith(f"{PACKAGE}.errors.")
        if source.parts != ("__init__",)
    ]


def guarded_rooms(source: Source) -> list[str]:
    """Production rooms never import the rooms made for tests."""
    return [
        f"{source.path}:{line}: {name} is not for production code"
        for line, name in imported(source)
        for room, allowed in GUARDED.items()
        if f"{name}.".startswith(f"{PACKAGE}.{room}.") and source.room not in allowed
    ]


def only_stdlib_in_core(source: Source) -> list[str]:
    """core stands on the standard library alone."""
    allowed = {*sys.stdlib_module_names, PACKAGE}
    return [
        f"{source.path}:{line}: core imports {name}"
        for line, name in imported(source)
        if source.room == "core" and name.split(".")[0] not in allowed
    ]
