"""
What is written for people and made from the source: `python -m tests.readme_tables` writes it anew.

The tables of README.md and deploy/README.md, each between the comments `<!-- table: NAME -->` and
`<!-- end -->`, and deploy/env.example whole.
"""

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from adapters.telemetry.catalogue import table as metrics
from bot.chat.texts import Texts
from bot.chat.verbs import help_line, served
from bot.goals.limits import Limits
from bot.ports.room_settings import KEYS
from bot.settings import PREFIX, Settings

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = ROOT / "README.md"
HANDBOOK: Final = ROOT / "deploy" / "README.md"
ENV_EXAMPLE: Final = ROOT / "deploy" / "env.example"
WHAT_ONE_SETS: Final = ("api_key_file", "model", "budget_usd", "sandbox", "profile")
"""The settings that README.md shows; the handbook has all of them."""
_HEAD: Final = """\
# Headway's settings as variables, each with its default. Copy this, take the # off a line, change it.
# A value may also be in a file of its own: HEADWAY_X_FILE=FILE (Docker, Kubernetes, systemd).
# Made from the source: python -m tests.readme_tables
"""
_TABLE: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MADE: Final = {"state_dir": "`~/.local/state/headway`", "limits": "below"}


def verbs() -> str:
    """What may be said to a goal: the verb as typed, and what it does."""
    rows = [(f"`{_cell(verb.syntax)}`", _cell(help_line(verb, Texts()))) for verb in served()]
    return _table(("Say", "What it does"), rows)


def settings() -> str:
    """The settings that one begins with: default and meaning."""
    known = Settings.model_fields
    rows = [
        (f"`{name}`", _default(name, known[name]), _cell(known[name].description))
        for name in WHAT_ONE_SETS
    ]
    return _table(("Setting", "Default", "Meaning"), rows)


def all_settings() -> str:
    """Every setting: its default and meaning. Its variable is its name in capitals, after HEADWAY_."""
    rows = [
        (f"`{name}`", _default(name, field), _cell(field.description))
        for name, field in Settings.model_fields.items()
    ]
    return _table(("Setting", "Default", "Meaning"), rows)


def limits() -> str:
    """The numbers of a goal's life, each with its default, as one paragraph."""
    known = Limits()
    words = [f"`{field.name}={getattr(known, field.name):g}`" for field in fields(Limits)]
    return textwrap.fill(", ".join(words) + ".", 100, break_on_hyphens=False) + "\n"


def rooms() -> str:
    """What a room may set: each key with what it is for."""
    rows = [(f"`{key}`", _cell(Texts()(f"room.{key}"))) for key in KEYS]
    return _table(("Key", "Meaning"), rows)


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "verbs": verbs,
    "settings": settings,
    "all_settings": all_settings,
    "limits": limits,
    "rooms": rooms,
    "metrics": metrics,
}


def written(text: str) -> str:
    """The text with each table as it is now."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


def env_example() -> str:
    """deploy/env.example: every setting as a variable, commented out, with its default."""
    parts = [_HEAD]
    for name, field in Settings.model_fields.items():
        about = textwrap.wrap(field.description or "", 96, break_on_hyphens=False)
        default = _plain(name, field)
        parts.append(
            "\n".join([*(f"# {line}" for line in about), f"#{PREFIX}{name.upper()}={default}\n"])
        )
    return "\n".join(parts)


def _plain(name: str, field: FieldInfo) -> str:
    """The default as a variable holds it; empty where it is nothing, or depends on the machine."""
    value: Any = field.get_default()
    if name in _MADE or value is PydanticUndefined or value is None or value in ("", ()):
        return ""
    if isinstance(value, tuple):
        return json.dumps(value)
    return "" if isinstance(value, SecretStr) else str(value)


def _default(name: str, field: FieldInfo) -> str:
    value: Any = field.get_default()
    if name in _MADE:
        return _MADE[name]
    if value is PydanticUndefined:
        return ""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, tuple):
        return f"`{json.dumps(value)}`"
    return f"`{value:,}`" if isinstance(value, int) else f"`{value}`"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines: list[tuple[str, ...]] = [heads, tuple("---" for _ in heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


if __name__ == "__main__":
    for path in (README, HANDBOOK):
        path.write_text(written(path.read_text("utf-8")), "utf-8")
    ENV_EXAMPLE.write_text(env_example(), "utf-8")
