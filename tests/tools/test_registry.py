"""Which tool a requested name stands for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.core.errors import UnknownTool
from failsoft.tools import Registry, Tool, tool, undeclared_hint
from failsoft.tools.names import COMMON, GEMINI, NameMap, safe_name


def made(name: str, **options: Any) -> Tool[..., Any]:
    return Tool.from_schema(name, {}, lambda: None, **options)


REGISTRY = Registry([made(name) for name in ("view", "edit", "manage_cart", "read_file")])


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ("view", "view"),
        ("default_api:view", "view"),
        ("default_api.view", "view"),
        ("functions.read_file", "read_file"),
        ("functions.read_file:0", "read_file"),
        ("multi_tool_use.functions.edit", "edit"),
        ("tools/view", "view"),
        ("mcp__some_server__view", "view"),
        ("manage_cart<|channel|>commentary", "manage_cart"),
        ("<|channel|>commentary to=functions.edit", "edit"),
        ("edit<｜tool▁sep｜>", "edit"),
        ("<tool_call>view", "view"),
        ("Read_File", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        (" view\n", "view"),
        ("`view`", "view"),
        ("view()", "view"),
        ("ｖｉｅｗ", "view"),
    ],
)
def test_known_mangling_is_undone(requested: str, expected: str) -> None:
    """What providers are known to do to a name is undone, and every change is recorded."""
    found = REGISTRY.resolve(requested)
    assert found.tool is not None
    assert found.tool.name == expected
    assert (found.repaired is None) == (requested == expected)
    if found.repaired is not None:
        assert found.repaired.rule == "tool_name"
        assert expected in found.repaired.detail
        assert found.near[0] == expected


@pytest.mark.parametrize(
    ("requested", "near"),
    [
        ("book_flight", ()),
        ("veiw", ("view",)),
        ("some_server.view", ("view",)),
        ("print(default_api.view)", ("view",)),
        ("view_file", ("view", "read_file")),
        ("cart_manage", ("manage_cart",)),
        ("", ()),
        ("<|channel|>", ()),
        ("\ud83d\ude00", ()),
        ("v" * 100_000, ()),
    ],
)
def test_guesses_are_only_suggested(requested: str, near: tuple[str, ...]) -> None:
    """A name that merely looks like a tool's is never run; it is answered with the likely ones."""
    found = REGISTRY.resolve(requested)
    assert found.tool is None
    assert found.repaired is None
    assert found.near == near


@pytest.mark.parametrize("options", [{"destructive": True}, {"read_only": False}, {"idempotent": False}])
def test_a_tool_that_acts_is_never_reached_by_repair(options: dict[str, Any]) -> None:
    """A protected tool wants its exact name; the suggestion costs one turn, a wrong deletion more."""
    registry = Registry([made("delete_file", **options)])
    found = registry.resolve("functions.delete_file")
    assert found.tool is None
    assert found.near == ("delete_file",)
    assert registry.resolve("delete_file").tool is not None


def test_two_tools_that_fit_are_both_suggested() -> None:
    """With more than one meaning nothing is repaired, also when one of them is destructive."""
    registry = Registry([made("get_user"), made("getUser"), made("Get-User", destructive=True)])
    found = registry.resolve("GET_USER")
    assert found.tool is None
    assert set(found.near) == {"get_user", "getUser", "Get-User"}
    assert registry.resolve("getUser").tool is registry.get("getUser")


def test_provider_aliases_lead_back() -> None:
    """A name that a dialect sent out is as good as the tool's own, also for one that acts."""
    registry = Registry(
        [made("catalog.get-entity"), made("catalog_get-entity"), made("1.delete", destructive=True)]
    )
    for rule in (COMMON, GEMINI):
        for name in ("catalog.get-entity", "catalog_get-entity", "1.delete"):
            found = registry.resolve(safe_name(name, rule))
            assert found.tool is registry.get(name)
            assert found.repaired is None


def test_unknown_tool_error_is_bounded_and_names_what_there_is() -> None:
    """The model reads what may have been meant and what there is, however many tools there are."""
    error = REGISTRY.unknown_tool_error("book_flight")
    assert isinstance(error, UnknownTool)
    assert error.reason == "tool_not_found"
    assert error.context == {
        "tool": "book_flight",
        "available_tools": ["view", "edit", "manage_cart", "read_file"],
    }
    near = REGISTRY.unknown_tool_error("veiw")
    assert near.context["did_you_mean"] == ["view"]
    assert "view" in (near.suggestion or "")
    many = Registry([made(f"tool_number_{n}") for n in range(500)])
    error = many.unknown_tool_error("x" * 10_000)
    assert len(error.context["available_tools"]) == 40
    assert error.context["more_tools"] == 460
    assert len(str(error)) < 200
    assert many.unknown_tool_error("tool_nubmer_499").context["available_tools"][0].startswith("tool_number_")
    assert Registry([]).unknown_tool_error("x").suggestion == "There are no tools; answer without one."


def test_others_in_category() -> None:
    """Tools of the same category are alternatives; without a category there are none."""
    registry = Registry(
        [made("a", category="maps"), made("b", category="maps"), made("c", category="x"), made("d")]
    )
    first, last = registry.get("a"), registry.get("d")
    assert first is not None
    assert last is not None
    assert registry.others_in_category(first) == ("b",)
    assert registry.others_in_category(last) == ()


def test_plain_functions_become_undeclared_tools() -> None:
    """A registry takes functions as they are, and the hint names them with the word to add."""

    def look(n: int) -> int:
        """Look."""
        return n

    registry = Registry([look, tool(look, name="declared", read_only=True)])
    assert len(registry) == 2
    assert "look" in registry
    hint = undeclared_hint(registry)
    assert "look;" in hint
    assert "declared;" not in hint
    assert "read_only=True" in hint
    assert undeclared_hint([tool(look, read_only=True)]) == ""


@given(st.text(max_size=400))
def test_resolving_never_fails(name: str) -> None:
    """Any text is answered, and only an existing tool is ever named."""
    found = REGISTRY.resolve(name)
    assert set(found.near) <= {"view", "edit", "manage_cart", "read_file"}
    assert len(found.near) <= 3
    error = REGISTRY.unknown_tool_error(name)
    f"{error} {error.context}".encode()


NAMES = st.text(min_size=1, max_size=120)


@given(st.lists(NAMES, unique=True, max_size=20), st.sampled_from([COMMON, GEMINI]))
def test_aliases_fit_are_distinct_and_lead_back(names: list[str], rule: Any) -> None:
    """Whatever the tools are called, the provider gets distinct names that it accepts."""
    names_map = NameMap(names, rule)
    aliases = [names_map.alias(name) for name in names]
    assert len(set(aliases)) == len(names) == len(names_map)
    assert all(rule.pattern.fullmatch(alias) for alias in aliases)
    assert [names_map.original(alias) for alias in aliases] == names
    assert all(
        alias == name for name, alias in zip(names, aliases, strict=True) if rule.pattern.fullmatch(name)
    )


def test_aliases_stay_readable_and_apart() -> None:
    """Names that clean up or cut down to the same text keep a readable beginning and differ in the end."""
    long = "mcp__enterprise_database_management_service__synchronise_all_customer_"
    names = ["catalog.get-entity", "catalog_get-entity", f"{long}records", f"{long}orders"]
    aliases = [NameMap(names).alias(name) for name in names]
    assert aliases[0].startswith("catalog_get-entity_")
    assert aliases[1] == "catalog_get-entity"
    assert aliases[2][:50] == aliases[3][:50] == long[:50]
    assert len(set(aliases)) == 4
