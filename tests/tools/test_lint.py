"""What the linter says of a tool definition before anybody calls it."""

from typing import Any

import pytest

from failsoft.core.errors import UsageError
from failsoft.policies import Fallback, Retry
from failsoft.tools import Tool, tool
from failsoft.tools.lint import RULES, Finding, lint


def good(order_id: str) -> str:
    """Look up one order by its id and return its state.

    Args:
        order_id: The id, such as "A-17".
    """
    return order_id


async def later(order_id: str) -> str:
    """Look up one order by its id and return its state.

    Args:
        order_id: The id, such as "A-17".
    """
    return order_id


def bare(data, timeout: int = 3, userId: str = "", user_id: str = ""):  # type: ignore[no-untyped-def]
    pass


def delete_order(order_id: str) -> None:
    """Delete one order by its id.

    Args:
        order_id: The id.
    """


def rules(*tools: Tool[..., Any], **options: Any) -> set[tuple[str, str]]:
    """Rule and severity of everything found."""
    return {(item.rule, item.severity) for item in lint(tools, **options)}


def test_a_good_tool_has_no_findings() -> None:
    """A declared, described, limited tool passes in silence."""
    assert (
        lint(
            [tool(good, read_only=True, timeout_s=3), tool(later, name="other", read_only=True, timeout_s=3)]
        )
        == []
    )


@pytest.mark.parametrize(
    ("made", "rule", "severity", "words"),
    [
        (lambda: tool(good), "undeclared_effects", "warning", "read_only=True"),
        (lambda: tool(delete_order), "undeclared_effects", "warning", "destructive=True"),
        (lambda: tool(delete_order, read_only=True), "contradictory_name", "warning", "'delete'"),
        (
            lambda: tool(good, read_only=False, retry=Retry(max_attempts=3)),
            "retry_not_repeatable",
            "warning",
            "retry",
        ),
        (lambda: tool(good, read_only=False, retry=3), "retry_not_repeatable", "warning", "retry"),
        (lambda: tool(good, read_only=True), "limits", "info", "timeout_s"),
        (lambda: tool(good, read_only=False), "limits", "info", "process"),
        (lambda: tool(good, isolation="task"), "isolation", "error", "make it async"),
        (lambda: tool(good, isolation="inline"), "isolation", "warning", "event loop"),
        (lambda: tool(lambda: None, name="x", isolation="process"), "isolation", "error", "top of a module"),
        (lambda: tool(good, destructive=True), "doubts", "info", "verify="),
        (lambda: tool(good, read_only=False, fallback=Fallback(tool="x")), "doubts", "warning", "fallback"),
        (lambda: tool(bare), "description", "warning", "docstring"),
        (lambda: tool(good, description="Do."), "description", "info", "'Do.'"),
        (lambda: tool(good, description="x" * 2_000), "description", "warning", "2000"),
        (lambda: tool(bare), "parameters", "warning", "has no type"),
        (lambda: tool(bare), "parameters", "warning", "its unit"),
        (lambda: tool(bare), "parameters", "warning", "what it takes"),
        (lambda: tool(bare), "parameters", "info", "no description"),
        (lambda: tool(bare), "similar_parameters", "warning", "'userId' and 'user_id'"),
        (
            lambda: Tool.from_schema("x", {"properties": {"a b": {}}}, lambda **v: v),
            "provider_name",
            "warning",
            "'a b'",
        ),
        (lambda: Tool.from_schema("x", {"required": ["q"]}, lambda **v: v), "schema", "error", "'q'"),
        (lambda: Tool.from_schema("x.y", {}, lambda **v: v), "provider_name", "warning", "x_y_"),
        (
            lambda: Tool.from_schema(
                "x", {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {}]}, lambda **v: v
            ),
            "provider_schema",
            "info",
            "only in the description",
        ),
        (
            lambda: Tool.from_schema("x", {"properties": {f"p{n}": {} for n in range(25)}}, lambda **v: v),
            "parameters",
            "info",
            "25 parameters",
        ),
    ],
)
def test_each_rule_finds_its_case(made: Any, rule: str, severity: str, words: str) -> None:
    """Every rule names what is the matter and what to do."""
    found = [item for item in lint([made()]) if (item.rule, item.severity) == (rule, severity)]
    assert any(words in f"{item.message} {item.hint}" for item in found), found
    assert all(item.message and item.hint for item in found)


def test_names_that_a_model_mixes_up() -> None:
    """Two tools whose names differ only in case or underscores are one to a model."""
    found = lint([tool(good, name="get_order", read_only=True), tool(good, name="getOrder", read_only=True)])
    assert (
        Finding(
            tool="getOrder",
            rule="similar_names",
            severity="warning",
            message="its name differs from 'get_order' only in case or underscores",
            hint="rename one: a model mixes them up",
        )
        in found
    )


def test_errors_come_first_and_dialects_are_chosen() -> None:
    """The list is ordered by severity, and only the dialects asked for are looked at."""
    findings = lint([tool(bare), Tool.from_schema("x.y", {"required": ["q"]}, lambda **v: v)])
    order = [("error", "warning", "info").index(item.severity) for item in findings]
    assert order == sorted(order)
    dotted = Tool.from_schema("x.y", {}, lambda: None)
    assert ("provider_name", "warning") in rules(dotted)
    assert ("provider_name", "warning") not in rules(dotted, dialects=["mcp"])
    with pytest.raises(UsageError, match="dialect"):
        lint([], dialects=["nobody"])
    assert len(RULES) == 11


@pytest.mark.parametrize(
    ("category", "meant"),
    [("qeury", "query"), ("Write", "write"), ("comunicate", "communicate"), ("crm", None)],
)
def test_a_slip_in_a_category_is_found(category: str, meant: str | None) -> None:
    """It would stand for nothing; a word of somebody's own is none."""
    found = [
        item.hint for item in lint([tool(good, category=category, read_only=True)]) if item.rule == "category"
    ]
    assert bool(found) == (meant is not None)
    assert meant is None or f"did you mean {meant!r}" in found[0]
