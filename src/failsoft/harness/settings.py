"""Policies from a file: `failsoft.toml`, or `[tool.failsoft]` in a `pyproject.toml`.

    [policy]              # for all tools; below what `Harness(policy=...)` says
    retry = 2

    [tools.refund]        # for one tool; above what `@tool(...)` says, below `Harness(policies=...)`
    timeout = { attempt_s = 20, total_s = 40 }

A file holds policies and nothing else: where things are stored, and whether a tool may be repeated, is said in code.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from failsoft.core.errors import UsageError
from failsoft.policies import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_settings import BaseSettings

__all__ = ["VARIABLE", "Settings", "load_settings"]

VARIABLE: Final = "FAILSOFT_CONFIG"
_OFF: Final = ("none", "off")
_OWN, _SHARED = "failsoft.toml", "pyproject.toml"
_TABLE: Final = ("tool", "failsoft")
_TOPICS: Final = ("policy", "tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a file says.

    Args:
        file: The file; None where none was read.
        policy: What holds for all tools.
        tools: What holds for single tools, by name. Names of tools that a harness does not have are ignored, because
            the harnesses of one program share one file.
    """

    file: Path | None = None
    policy: Policy = field(default_factory=Policy)
    tools: Mapping[str, Policy] = field(default_factory=dict)

    def misspelt(self, names: Iterable[str]) -> dict[str, str]:
        """Tables that are probably meant for one of these tools: the name in the file, and the tool's."""
        known = list(names)
        free = [name for name in known if name not in self.tools]
        found = {}
        for name in self.tools:
            close = difflib.get_close_matches(name, free, n=1, cutoff=0.8) if name not in known else []
            if close:
                found[name] = close[0]
        return found


def load_settings(config: str | os.PathLike[str] | Settings | None = "auto") -> Settings:
    """What the file says that `config` names.

    Args:
        config: A file; `auto` for the one that `$FAILSOFT_CONFIG` names, else `failsoft.toml` in the working folder,
            else the table `[tool.failsoft]` of the `pyproject.toml` there; None, or `$FAILSOFT_CONFIG` set to `none`,
            for no file. Folders above are not searched.

    Raises:
        UsageError: A file that was named is not there or cannot be read; a word or a value in it cannot work.
    """
    if isinstance(config, Settings):
        return config
    if config is None:
        return Settings()
    if config != "auto":
        return _read(Path(config))
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Settings() if named.lower() in _OFF else _read(Path(named))
    own, shared = Path(_OWN), Path(_SHARED)
    if own.is_file():
        return _read(own)
    if shared.is_file() and _has_table(shared):
        return _read(shared)
    return Settings()


def _has_table(path: Path) -> bool:
    """Whether a `pyproject.toml` has a table for failsoft. One that cannot be read is somebody else's business."""
    try:
        text = path.read_bytes()
        if b"failsoft" not in text:
            return False
        import tomllib  # most folders have no need of it

        data = tomllib.loads(text.decode())
    except (OSError, ValueError):
        return False
    tools = data.get("tool")
    return isinstance(tools, dict) and isinstance(tools.get("failsoft"), dict)


def _read(path: Path) -> Settings:
    label = str(path)
    values = _values(path, label)
    within = ".".join(_TABLE) + "." if path.name == _SHARED else ""
    for name in values:
        if name not in _TOPICS:
            topics = " and ".join(f"[{within}{topic}]" for topic in _TOPICS)
            raise UsageError(f"{label}: there is no setting {name!r}\n\nhint: a file has {topics}")
    for name in _TOPICS:
        if not isinstance(values.get(name, {}), dict):
            raise UsageError(f"{label}: {name} must be a table, got {values[name]!r}")
    tools = {
        name: Policy.from_mapping(table, f"{label} [{within}tools.{name}]")
        for name, table in values.get("tools", {}).items()
    }
    return Settings(
        file=path.absolute(), policy=Policy.from_mapping(values.get("policy", {}), label), tools=tools
    )


def _values(path: Path, label: str) -> dict[str, Any]:
    """The tables of a file, through pydantic-settings; which is loaded only here, because it takes 0.2 s."""
    if not path.is_file():
        raise UsageError(f"there is no file {label!r}\n\nhint: {VARIABLE}=none reads no file")
    if path.name == _SHARED and not _has_table(path):
        raise UsageError(f"{label} cannot be read, or has no table [tool.failsoft]")
    try:
        model = _model(path)
    except ModuleNotFoundError as exc:
        if exc.name != "pydantic_settings":
            raise
        raise UsageError(
            f"reading {label!r} needs pydantic-settings\n\nhint: pip install 'failsoft[cli]', or {VARIABLE}=none to ignore it"
        ) from exc
    try:
        return model().model_dump()
    except (OSError, ValueError) as exc:  # TOML's and UTF-8's errors are ValueErrors
        raise UsageError(f"{label} cannot be read: {exc}") from exc


def _model(path: Path) -> type[BaseSettings]:
    from pydantic_settings import (
        BaseSettings,
        PydanticBaseSettingsSource,
        PyprojectTomlConfigSettingsSource,
        SettingsConfigDict,
        TomlConfigSettingsSource,
    )

    def source(of: type[BaseSettings]) -> PydanticBaseSettingsSource:
        shared = path.name == _SHARED
        return PyprojectTomlConfigSettingsSource(of, path) if shared else TomlConfigSettingsSource(of, path)

    class File(BaseSettings):
        # What the tables mean is for `Policy.from_mapping` to say: its errors name the place and the near words.
        model_config = SettingsConfigDict(
            extra="allow", **({"pyproject_toml_table_header": _TABLE} if path.name == _SHARED else {})
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            """The file and nothing else: an environment has words that begin alike by chance."""
            return (source(settings_cls),)

    return File
