"""Structured answers: what is asked of the model, and what its text amounts to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import InvalidOutput
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Form"]

_SHOWN = 5


class Form:
    """The shape of the answer that is wanted.

    Args:
        model: A pydantic model.
        echo: Whether a complaint shows the wrong values again. They are short pieces of the model's own text.
    """

    def __init__(self, model: type[BaseModel], *, echo: bool = True) -> None:
        self.model = model
        self.echo = echo

    def instructions(self) -> str:
        """What the system prompt has to add."""
        schema = json.dumps(self.model.model_json_schema(), ensure_ascii=False)
        return (
            "When you give your final answer, write one JSON object and nothing else: no prose, no Markdown fence. "
            f"It must fit this JSON Schema:\n{schema}"
        )

    def read(self, text: str) -> BaseModel:
        """The answer as an instance of the model. One surrounding Markdown fence is taken off; nothing is guessed.

        Raises:
            InvalidOutput: The text is no JSON object or does not fit; `context["problems"]` says where.
        """
        from pydantic import ValidationError

        try:
            return self.model.model_validate_json(_unfenced(text))
        except ValidationError as exc:
            problems = [
                self._problem(dict(one)) for one in exc.errors(include_url=False, include_context=False)
            ]
            raise InvalidOutput(
                f"The model's answer does not fit {self.model.__name__}.",
                reason="schema_mismatch" if problems and problems[0]["field"] else "not_json",
                effect=Effect.NONE,
                context={"problems": problems},
            ) from exc

    def complaint(self, error: InvalidOutput | Any) -> str:
        """What to tell the model about an answer that does not fit."""
        problems = error.context.get("problems", [])
        lines = [
            f"- {one['field'] or 'the whole answer'}: {one['problem']}"
            + (f" (you wrote {one['got']})" if self.echo and one.get("got") else "")
            for one in problems[:_SHOWN]
        ]
        more = f"\n- and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        return (
            "Your answer does not have the form that was asked for:\n"
            + "\n".join(lines)
            + more
            + "\nWrite the whole JSON object again, corrected, and nothing else."
        )

    def _problem(self, one: dict[str, Any]) -> dict[str, Any]:
        field = ".".join(str(part) for part in one["loc"])
        problem: dict[str, Any] = {"field": field, "problem": one["msg"]}
        if field and one["type"] != "missing":
            problem["got"] = repr(one["input"])[:80]
        return problem


def _unfenced(text: str) -> str:
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        return body[body.index("\n") + 1 : -3].strip()
    return body
