"""How long files and functions are; `./run py -m tests.meta.sizes` prints the long ones."""

import ast
from collections.abc import Iterator

from tests.meta.source import Source, sources

FILE_SOFT, FILE_HARD = 200, 400
BODY_SOFT, BODY_HARD = 30, 50
FOLDERS = ("src", "tests", "bench")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[FunctionNode]:
    """Every function and method, also nested ones."""
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def body_size(source: Source, function: FunctionNode) -> int:
    """Lines of the body without docstring, blank and comment lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    first, last = body[0].lineno, function.end_lineno or body[-1].lineno
    lines = (line.strip() for line in source.lines[first - 1 : last])
    return sum(1 for line in lines if line and not line.startswith("#"))


def long_files(files: tuple[Source, ...], limit: int) -> list[str]:
    """Files of more lines than the limit."""
    return [f"{file.path}: {len(file.lines)} lines" for file in files if len(file.lines) > limit]


def long_functions(files: tuple[Source, ...], limit: int) -> list[str]:
    """Functions of more body lines than the limit."""
    return [
        f"{file.path}:{function.lineno}: {function.name} has {size} lines"
        for file in files
        for function in functions(file.tree)
        if (size := body_size(file, function)) > limit
    ]


def main() -> None:
    """Print what is over the soft limits."""
    files = sources(*FOLDERS)
    for line in [*long_files(files, FILE_SOFT), *long_functions(files, BODY_SOFT)]:
        print(line)


if __name__ == "__main__":
    main()
