"""Checks a tool's result against what it was declared to return."""

from __future__ import annotations

from typing import Any

import pydantic
from pydantic import TypeAdapter

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument, InvalidOutput, UsageError

__all__ = ["ResultCheck"]

_MAX_PROBLEMS = 10


class ResultCheck:
    """Checks and shapes a result.

    Args:
        returns: A type that pydantic can check, or a JSON Schema.
        tool_name: For messages.

    Raises:
        UsageError: For a type that pydantic cannot check.
    """

    def __init__(self, returns: Any, tool_name: str) -> None:
        self._tool_name = tool_name
        self._adapter: TypeAdapter[Any] | None = None
        self._reader: ArgumentReader | None = None
        if isinstance(returns, dict):
            # A JSON Schema is checked by the one validator there is, which reads objects: so the result is put in one.
            wrapped = {"type": "object", "properties": {"result": returns}, "required": ["result"]}
            for word in ("$defs", "definitions"):
                if word in returns:
                    wrapped[word] = returns[word]
            self._reader = ArgumentReader.for_schema(wrapped, tool_name=tool_name)
            return
        try:
            self._adapter = TypeAdapter(returns)
        except pydantic.PydanticUserError as exc:
            raise UsageError(
                f"tool {tool_name!r}: returns={returns!r} is no type that can be checked\n\n"
                "hint: take a pydantic model, a dataclass, a builtin type or a JSON Schema"
            ) from exc

    def __call__(self, value: Any) -> Any:
        """The value in its declared shape.

        Raises:
            InvalidOutput: Where it does not fit; the problems are in its context.
        """
        if self._reader is not None:
            try:
                return self._reader.parse({"result": value}).values["result"]
            except InvalidArgument as exc:
                raise self._error(exc.context.get("problems", []), exc) from exc
        assert self._adapter is not None  # one of the two is always set
        try:
            return self._adapter.validate_python(value)
        except pydantic.ValidationError as exc:
            problems = [
                {"field": ".".join(str(part) for part in item["loc"]), "problem": item["msg"]}
                for item in exc.errors(include_url=False, include_input=False)[:_MAX_PROBLEMS]
            ]
            raise self._error(problems, exc) from exc

    def _error(self, problems: Any, exc: Exception) -> InvalidOutput:
        return InvalidOutput(
            f"the result of {self._tool_name} is not what the tool promises to return",
            reason="schema_mismatch",
            context={"problems": problems},
        )
