"""What source code may not do; each rule takes one file and names what breaks it."""

import ast
from collections.abc import Iterator

from tests.meta.imports import imported
from tests.meta.source import Source

UNSAFE_CALLS = {"eval", "exec"}
UNSAFE_MODULES = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
MAY_SLEEP = {"cli", "isolation"}
# Says on the line why the cause must go; without a reason the marker does not count.
CAUSE_MARKER = "# cause dropped: "


def calls(source: Source) -> Iterator[ast.Call]:
    """Every call in the file."""
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


def unsafe(source: Source) -> list[str]:
    """No text is run as code, no stored bytes are turned into objects, no shell reads a command."""
    found = [
        (call.lineno, f"{call.func.id}()")
        for call in calls(source)
        if isinstance(call.func, ast.Name) and call.func.id in UNSAFE_CALLS
    ]
    found += [(line, name) for line, name in imported(source) if name.split(".")[0] in UNSAFE_MODULES]
    found += [(call.lineno, "shell=True") for call in calls(source) if has_shell(call)]
    return [f"{source.path}:{line}: {what}" for line, what in sorted(found)]


def has_shell(call: ast.Call) -> bool:
    """Whether a call hands its command to a shell."""
    by_keyword = any(
        word.arg == "shell" and not (isinstance(word.value, ast.Constant) and word.value.value is False)
        for word in call.keywords
    )
    return by_keyword or ast.unparse(call.func) in {"os.system", "os.popen"}


def lost_cause(source: Source) -> list[str]:
    """A raise keeps its cause: `from None` also wipes one that was set earlier."""
    return [
        f"{source.path}:{node.lineno}: raise ... from None"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Raise)
        and isinstance(node.cause, ast.Constant)
        and node.cause.value is None
        and not has_reason(source, node)
    ]


def has_reason(source: Source, node: ast.Raise) -> bool:
    """Whether the marker with a reason stands on the last line of the statement."""
    line = source.lines[(node.end_lineno or node.lineno) - 1]
    return bool(line.partition(CAUSE_MARKER)[2].strip())


def sleeps(source: Source) -> list[str]:
    """Only the rooms that own a thread or a terminal may block; everywhere else waiting is the driver's."""
    if source.room in MAY_SLEEP:
        return []
    found = [call.lineno for call in calls(source) if ast.unparse(call.func) == "time.sleep"]
    found += [line for line, name in imported(source) if name == "time.sleep"]
    return [f"{source.path}:{line}: time.sleep" for line in sorted(set(found))]
