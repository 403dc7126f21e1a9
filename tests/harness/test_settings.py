"""Policies from a file: which file is read, what wins, and what a mistake in it is answered with."""

import subprocess
import sys
import warnings

import pytest

from failsoft import Harness, Policy, UsageError, tool
from failsoft.harness.builder import HarnessWarning
from failsoft.harness.settings import Settings, load_settings


@tool(read_only=True, retry=4)
def look(at: str) -> str:
    """Look."""
    return at


@tool(read_only=True)
def find(what: str) -> str:
    """Find."""
    return what


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """An empty working folder, and no word from outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAILSOFT_CONFIG", raising=False)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_in_the_working_folder_is_read(tmp_path):
    """What it says of all tools and of one holds, and each part tells where it was said."""
    write(tmp_path / "failsoft.toml", "[policy]\nbreaker = false\n[tools.find]\ntimeout = 7\n")
    policies = Harness([look, find]).policies()
    assert policies["look"].breaker is None
    assert policies["look"].origin["breaker"] == "failsoft.toml"
    assert policies["find"].timeout.attempt_s == 7
    assert policies["find"].origin["timeout"] == "failsoft.toml [tools.find]"
    assert policies["look"].origin["timeout"] == "default"
    assert policies["look"].origin["retry"] == "tool"


def test_code_beats_the_file_and_one_tool_beats_all(tmp_path):
    """All of six layers in their order: default, file, harness; tool, file for the tool, harness for the tool."""
    write(
        tmp_path / "failsoft.toml",
        "[policy]\nretry = 2\nrate = '1/s'\noutput = 50\n[tools.look]\nretry = 3\nbulkhead = 5\n",
    )
    harness = Harness([look, find], policy=Policy(rate="2/s"), policies={"look": Policy(bulkhead=6)})
    look_at, find_at = harness.policies()["look"], harness.policies()["find"]
    assert look_at.retry.max_attempts == 3
    assert find_at.retry.max_attempts == 2
    assert find_at.rate.limit == 2
    assert look_at.bulkhead.limit == 6
    assert look_at.output.max_chars == 50
    assert [look_at.origin[part] for part in ("retry", "rate", "bulkhead", "output", "breaker")] == [
        "failsoft.toml [tools.look]",
        "harness",
        "harness",
        "failsoft.toml",
        "default",
    ]


def test_pyproject_is_read_where_it_has_the_table(tmp_path):
    """`[tool.failsoft]` counts, a `pyproject.toml` without it or broken does not, and `failsoft.toml` comes first."""
    path = write(tmp_path / "pyproject.toml", "[project]\nname = 'failsoft-user'\n")
    assert load_settings() == Settings()
    write(path, "[tool.failsoft\n")
    assert load_settings() == Settings()
    write(path, "[tool.failsoft.policy]\nretry = 2\n[tool.failsoft.tools.find]\nretry = 1\n")
    found = load_settings()
    assert found.policy.retry.max_attempts == 2
    assert found.tools["find"].source == "pyproject.toml [tool.failsoft.tools.find]"
    write(tmp_path / "failsoft.toml", "")
    assert load_settings().policy == Policy()


def test_the_environment_and_the_argument_name_a_file(tmp_path, monkeypatch):
    """`$FAILSOFT_CONFIG` goes before the folder, `none` turns reading off, and `config` goes before both."""
    write(tmp_path / "failsoft.toml", "[policy]\nretry = 2\n")
    other = write(tmp_path / "other.toml", "[policy]\nretry = 3\n")
    monkeypatch.setenv("FAILSOFT_CONFIG", str(other))
    assert load_settings().policy.retry.max_attempts == 3
    assert load_settings("failsoft.toml").policy.retry.max_attempts == 2
    monkeypatch.setenv("FAILSOFT_CONFIG", "none")
    assert load_settings() == Settings()
    assert load_settings(other).policy.retry.max_attempts == 3
    monkeypatch.delenv("FAILSOFT_CONFIG")
    assert load_settings(None) == Settings()
    assert Harness([find], config=None).policies()["find"].origin["retry"] == "default"


def test_folders_above_are_not_searched(tmp_path, monkeypatch):
    """A file that lies above the working folder changes nothing."""
    write(tmp_path / "failsoft.toml", "[policy]\nretry = 2\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("store = 'memory'", "there is no setting 'store'"),
        ("[policy]\nretri = 2", "did you mean 'retry'"),
        ("[policy]\nretry = 'often'", "failsoft.toml: retry: Retry.max_attempts must be a whole number"),
        ("[policy.breaker]\nwindows = 5", "Breaker has no option 'windows'"),
        ("[tools.look]\ntimeout = -1", "failsoft.toml [tools.look]: timeout"),
        ("policy = 3", "policy must be a table"),
        ("tools = [1]", "tools must be a table"),
        ("[tools]\nlook = 3", "failsoft.toml [tools.look] must be a table"),
        ("[[", "cannot be read"),
    ],
)
def test_a_mistake_names_its_place(tmp_path, text, says):
    """A word or value that cannot work is refused when the harness is built, with the file and what was near."""
    write(tmp_path / "failsoft.toml", text)
    with pytest.raises(UsageError) as caught:
        Harness([look])
    assert says in str(caught.value)


def test_a_file_that_cannot_be_read_is_no_silence(tmp_path, monkeypatch):
    """A file that was named must be there and be text."""
    (tmp_path / "failsoft.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        load_settings()
    with pytest.raises(UsageError, match="there is no file"):
        load_settings("gone.toml")
    with pytest.raises(UsageError, match=r"no table \[tool.failsoft\]"):
        load_settings(write(tmp_path / "pyproject.toml", ""))
    monkeypatch.setenv("FAILSOFT_CONFIG", "gone.toml")
    with pytest.raises(UsageError, match="FAILSOFT_CONFIG=none"):
        Harness([look])


def test_a_table_for_a_misspelt_tool_is_told(tmp_path):
    """A name close to a tool's warns, a strange one belongs to another harness, and a right one is silent."""
    write(tmp_path / "failsoft.toml", "[tools.finde]\nretry = 2\n")
    with pytest.warns(HarnessWarning, match="did you mean 'find'"):
        Harness([find])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(tmp_path / "failsoft.toml", "[tools.refund_order]\nretry = 2\n[tools.find]\nretry = 1\n")
        Harness([find])


@tool(read_only=False)
def act(what: str) -> str:
    """Act."""
    return what


def test_built_in_tools_are_left_alone(tmp_path):
    """What is said of all tools, in a file or in code, does not reach the tools that only talk to the store."""
    write(tmp_path / "failsoft.toml", "[policy]\nisolation = 'process'\n")
    for harness in (
        Harness([act], store="memory"),
        Harness([act], store="memory", config=None, policy=Policy(isolation="process")),
    ):
        policies = harness.policies()
        assert policies["act"].isolation.mode == "process"
        assert policies["resolve_doubt"].isolation.mode == "auto"


def test_a_harness_without_a_file_loads_no_reader(tmp_path):
    """pydantic-settings is loaded only where there is a file, because it is slow and optional."""
    code = (
        "import sys; from failsoft import Harness; Harness([]); sys.exit('pydantic_settings' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_a_file_without_its_reader_is_no_silence(tmp_path, monkeypatch):
    """Where pydantic-settings is not installed, a file is refused with what to install, never ignored."""
    write(tmp_path / "failsoft.toml", "[policy]\nretry = 2\n")
    monkeypatch.setitem(sys.modules, "pydantic_settings", None)
    with pytest.raises(UsageError, match="needs pydantic-settings"):
        Harness([find])
