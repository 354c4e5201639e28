"""
Every sentence that people read, by language and key.

Rule 1: no sentence that a person reads stands anywhere else in `bot.chat` or `adapters.console`.
Rule 2: a template is a `str.format` template; what it names is given by keyword.
Rule 3: a key that a language lacks is said in English.
"""

from collections.abc import Mapping
from typing import Final

from bot.chat.texts.english import CHATS
from bot.chat.texts.english_decisions import DECISIONS
from bot.chat.texts.english_forgetting import FORGETTING
from bot.chat.texts.english_mcp import MCP
from bot.chat.texts.english_money import MONEY
from bot.chat.texts.english_networks import NETWORKS
from bot.chat.texts.english_operations import OPERATIONS
from bot.chat.texts.english_people import PEOPLE
from bot.chat.texts.english_permissions import PERMISSIONS
from bot.chat.texts.english_points import POINTS
from bot.chat.texts.english_presses import PRESSES
from bot.chat.texts.english_projects import PROJECTS
from bot.chat.texts.english_rooms import ROOMS
from bot.chat.texts.english_secrets import SECRETS
from bot.chat.texts.english_slack import SLACK
from bot.chat.texts.english_upkeep import UPKEEP
from bot.chat.texts.english_windows import WINDOWS

DEFAULT: Final = "en"
ENGLISH: Final[Mapping[str, str]] = {
    **CHATS,
    **DECISIONS,
    **FORGETTING,
    **MCP,
    **MONEY,
    **NETWORKS,
    **OPERATIONS,
    **PEOPLE,
    **POINTS,
    **PERMISSIONS,
    **PRESSES,
    **PROJECTS,
    **ROOMS,
    **SECRETS,
    **SLACK,
    **UPKEEP,
    **WINDOWS,
}
"""The complete language, which the others are measured against."""
CATALOGUE: Final[Mapping[str, Mapping[str, str]]] = {DEFAULT: ENGLISH}


class Texts:
    """The sentences of one language."""

    def __init__(self, language: str = DEFAULT) -> None:
        self.language = language
        self._own = CATALOGUE.get(language, ENGLISH)

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence of `key` with its values filled in. Raises KeyError for an unknown key."""
        template = self._own.get(key) or ENGLISH[key]
        return template.format(**values)

    def has(self, key: str) -> bool:
        """True where there is a sentence for `key`."""
        return key in self._own or key in ENGLISH

    def first(self, *keys: str, **values: object) -> str:
        """The sentence of the first key that there is; the last one must be there."""
        return self(next((key for key in keys if self.has(key)), keys[-1]), **values)
