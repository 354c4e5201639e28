"""The tables of README.md that are made from the source: `python -m tests.readme_tables` rewrites them.

Each stands between the comments `<!-- table: NAME -->` and `<!-- end -->`.
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bot.chat.texts import Texts
from bot.chat.verbs import help_line, served
from bot.goals.limits import Limits
from bot.settings import PREFIX, Settings

README: Final = Path(__file__).resolve().parent.parent / "README.md"
_TABLE: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MADE: Final = {"state_dir": "`~/.local/state/headway`", "limits": "below"}


def verbs() -> str:
    """What may be said to a goal: the verb as typed, and what it does."""
    rows = [(f"`{_cell(verb.syntax)}`", _cell(help_line(verb, Texts()))) for verb in served()]
    return _table(("Say", "What it does"), rows)


def settings() -> str:
    """Every setting: its variable, default and meaning."""
    rows = [
        (f"`{name}`", f"`{PREFIX}{name.upper()}`", _default(name, field), _cell(field.description))
        for name, field in Settings.model_fields.items()
    ]
    return _table(("Setting", "Variable", "Default", "Meaning"), rows)


def limits() -> str:
    """The numbers of a goal's life, each with its default, as one paragraph."""
    known = Limits()
    words = [f"`{field.name}={getattr(known, field.name):g}`" for field in fields(Limits)]
    return textwrap.fill(", ".join(words) + ".", 100, break_on_hyphens=False) + "\n"


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "verbs": verbs,
    "settings": settings,
    "limits": limits,
}


def written(text: str) -> str:
    """The text with each table as it is now."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


def _default(name: str, field: FieldInfo) -> str:
    value: Any = field.get_default()
    if value is PydanticUndefined:
        return ""
    if name in _MADE:
        return _MADE[name]
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value in ("", ()):
        return ""
    return f"`{value:,}`" if isinstance(value, int) else f"`{value}`"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines: list[tuple[str, ...]] = [heads, tuple("---" for _ in heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(written(README.read_text("utf-8")), "utf-8")
