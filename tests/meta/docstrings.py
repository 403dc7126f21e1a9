"""Where a docstring must stand; each rule takes one file and names what breaks it."""

import ast
import re

from tests.meta.sizes import functions
from tests.meta.source import Source

NEW_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


def missing_ownership(source: Source) -> list[str]:
    """A folder's `__init__` says what the folder owns."""
    if not source.path.endswith("/__init__.py") or ast.get_docstring(source.tree):
        return []
    return [f"{source.path}: no docstring says what this folder owns"]


def promised_names(source: Source) -> set[str]:
    """The strings of `__all__`, where it is a plain list or tuple."""
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            elements = value.elts if isinstance(value, ast.List | ast.Tuple) else []
            return {str(item.value) for item in elements if isinstance(item, ast.Constant)}
    return set()


def missing_public(source: Source) -> list[str]:
    """Functions and classes named in the `__all__` of a public module say what they are for."""
    if any(part.startswith("_") and part != "__init__" for part in source.parts):
        return []
    promised = promised_names(source)
    return [
        f"{source.path}:{node.lineno}: {node.name} has no docstring"
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if node.name in promised and not ast.get_docstring(node) and not is_overload(node)
    ]


def is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a definition only adds a signature to a later one."""
    return any(ast.unparse(decorator).split(".")[-1] == "overload" for decorator in node.decorator_list)


def unclear_promises(source: Source) -> list[str]:
    """A test's docstring states its promise in one plain sentence."""
    return [
        f"{source.path}:{function.lineno}: {function.name}: {problem}"
        for function in functions(source.tree)
        if function.name.startswith("test_")
        if (problem := problem_of(ast.get_docstring(function)))
    ]


def problem_of(docstring: str | None) -> str:
    """What keeps a text from being one plain sentence; empty when nothing does."""
    if not docstring:
        return "no docstring"
    if not docstring.endswith("."):
        return "the docstring does not end with a full stop"
    if "\n\n" in docstring or NEW_SENTENCE.search(docstring):
        return "the docstring is more than one sentence"
    return ""
