"""
Where settings come from, and what is said of a source that is wrong.

Rule 1: a flag, then `HEADWAY_X`, then the file that `HEADWAY_X_FILE` names, then `headway.toml`
        (`--config`, here, the user's, the system's configuration folder), then the default. It is so
        for every setting, those of a table too, and nothing here knows one of them by name.
Rule 2: an unknown key or variable is an error with the nearest name, never ignored.
Rule 3: a sentence about a wrong value never holds the value of a key.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource
from pydantic_settings.sources.utils import parse_env_vars

from bot.errors import BadSettings

PREFIX: Final = "HEADWAY_"
FILE_NAME: Final = "headway.toml"
OF_FILE: Final = "_FILE"
NESTED: Final = "__"
SECRET_WORDS: Final = frozenset({"key", "password", "token"})
"""What the name of a setting holds whose value is told to nobody."""

Leaf = tuple[str, ...]
"""A setting's name, and within a table the names that lead to one value."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was found: a flag's or a variable's name, a file, or a file and its line."""

    kind: Literal["flag", "variable", "file", "toml", "default"]
    where: str = ""


DEFAULT: Final = Origin("default")


class Variables(EnvSettingsSource):
    """The variables `HEADWAY_X`."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        others = {name for name, _ in _named(self.settings_cls).values()}
        return parse_env_vars({k: v for k, v in os.environ.items() if k not in others})


class FileVariables(EnvSettingsSource):
    """The variables `HEADWAY_X_FILE`: each names a file that holds the value of `X`.

    A name that is a setting of its own (`api_key_file`) is that setting, and none of these.
    """

    def _load_env_vars(self) -> Mapping[str, str | None]:
        named = _named(self.settings_cls)
        return parse_env_vars({name: _content(*named[name]) for name in named})


def places() -> tuple[Path, ...]:
    """Where a settings file is looked for, in order."""
    return Path(FILE_NAME), of_the_user(), Path("/etc/headway") / FILE_NAME


def of_the_user() -> Path:
    """The settings file in the user's configuration folder."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.environ.get("HOME", ""), ".config")
    return Path(home) / "headway" / FILE_NAME


def found_file() -> Path | None:
    """The first settings file that is there."""
    return next((place for place in places() if place.is_file()), None)


def refuse_unknown_variables(environ: Mapping[str, str], names: Iterable[str]) -> None:
    """Raise BadSettings for a `HEADWAY_*` variable that is no setting."""
    known = {PREFIX + name.upper() for name in names}
    for name in environ:
        told = {name.split(NESTED)[0], name.removesuffix(OF_FILE).split(NESTED)[0]}
        if name.startswith(PREFIX) and not told & known:
            raise BadSettings(
                f"The variable {name} is not a setting.{_nearest(name, known)} "
                "Mend its name, or unset it."
            )


def origins(
    settings_cls: type[BaseSettings], flags: Mapping[str, Any], path: Path | None
) -> dict[Leaf, Origin]:
    """Where each value that is not a default comes from."""
    found: dict[Leaf, Origin] = {(name,): Origin("flag", _flag(name)) for name in flags}
    for leaf in _leaves(Variables(settings_cls)()):
        found.setdefault(leaf, Origin("variable", _variable(leaf, os.environ)))
    files = _named(settings_cls)
    for leaf in _leaves(FileVariables(settings_cls)()):
        variable, file = files[_variable(leaf, files)]
        found.setdefault(leaf, Origin("file", f"{file} ({variable})"))
    if path is not None:
        text = path.read_text("utf-8")
        for leaf in _leaves(tomllib.loads(text)):
            found.setdefault(leaf, Origin("toml", f"{path.absolute()}:{line_of(text, leaf)}"))
    return found


def origin_of(leaf: Leaf, found: Mapping[Leaf, Origin]) -> Origin:
    """The origin of a value: its own, or that of the table it stands in."""
    for length in range(len(leaf), 0, -1):
        if leaf[:length] in found:
            return found[leaf[:length]]
    return DEFAULT


def line_of(text: str, leaf: Leaf) -> int:
    """The line of a settings file that sets this value; 1 where it cannot be told."""
    table: Leaf = ()
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[+([^\]]+)\]", line):
            table = _keys(head[1])
        elif key := re.match(r"\s*([\w.\"'-]+)\s*=", line):
            here = (*table, *_keys(key[1]))
            if here == leaf[: len(here)]:
                return number
    return 1


def sentence(error: ValidationError, path: Path | None, known: Iterable[str]) -> str:
    """What is wrong with a value or a name, and the mend; `known` are the names there are."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    where = f" (in {path}, a {PREFIX}* variable or a flag)" if path else ""
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{name} is not a setting{where}.{_nearest(name, known)} Mend or remove it."
    given = first.get("input")
    is_secret = bool(SECRET_WORDS & set(re.split(r"[._]", name)))
    got = "" if is_secret or isinstance(given, dict) else f", not {given!r}"
    told = str(first["msg"]).removeprefix("Value error, ")
    if not name:
        return f"The settings do not go together{where}: {told}{got}. Mend one of them."
    return f"The setting {name} is wrong{where}: {told}{got}. Mend it."


def not_json(told: str) -> str:
    """Of a variable that holds a table or a list, and is not read as one."""
    field = re.search(r'field "(\w+)"', told)
    variable = PREFIX + field[1].upper() if field else f"A {PREFIX}* variable"
    return f"{variable} is not JSON, as a list or a table has to be. Mend or unset it."


def _named(settings_cls: type[BaseSettings]) -> dict[str, tuple[str, Path]]:
    """By the variable whose value a file holds: the variable that names the file, and the file."""
    own = {PREFIX + name.upper() for name in settings_cls.model_fields}
    return {
        name.removesuffix(OF_FILE): (name, Path(path))
        for name, path in os.environ.items()
        if name.startswith(PREFIX) and name.endswith(OF_FILE) and name not in own and path
    }


def _content(variable: str, path: Path) -> str:
    """A file's text without its last line's end."""
    try:
        return path.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadSettings(
            f"The file {path} that {variable} names cannot be read ({why}). "
            "Mend its path or its rights."
        ) from error


def _leaves(values: Mapping[str, Any], above: Leaf = ()) -> Iterator[Leaf]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, str(name)))
        else:
            yield (*above, str(name))


def _variable(leaf: Leaf, names: Iterable[str]) -> str:
    """The variable that sets a leaf: its own, or that of the table it stands in."""
    by_key = {name.upper(): name for name in names}
    for length in range(len(leaf), 0, -1):
        name = PREFIX + NESTED.join(leaf[:length]).upper()
        if name in by_key:
            return by_key[name]
    return PREFIX + leaf[0].upper()


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _keys(dotted: str) -> Leaf:
    return tuple(part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|[^.]+', dotted))


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""
