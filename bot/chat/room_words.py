"""How a room's settings are written and read: `budget_usd 5`, `mention ask`, `goals off`. Pure."""

import difflib
from typing import Final
from zoneinfo import ZoneInfo

from bot.bundles import BUNDLES
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.limits import MOST_DAYS, MOST_USD
from bot.hosts import read_words
from bot.ports.room_settings import CHOICES, KEYS, KINDS, Setting

ALIASES: Final = {"budget": "budget_usd", "caps": "cap_usd", "cap": "cap_usd", "texts": "retention_days",
                  "workspaces": "workspace_days", "live": "cap_live_goals"}  # fmt: skip
OPEN: Final = "default"
"""The value that leaves a setting open again."""
_ON: Final = frozenset({"on", "yes", "true"})
_OFF: Final = frozenset({"off", "no", "false"})
_NAME_CHARS: Final = 120
_HOSTS_MOST: Final = 50


def read_setting(text: str, texts: Texts) -> tuple[str, Setting | None] | None:
    """The key and value in a text (None: `default`), or None where it is rather an objective.

    Raises:
        BadInput: the key is unknown and one like it is not, or the value does not fit it.
    """
    words = text.split()
    if len(words) != 2:
        return None
    key, value = words[0].lower(), words[1]
    known = key_named(key)
    if known is None:
        if _nearest(key) is None:
            return None
        raise unknown_key(key, texts)
    return known, None if value.lower() == OPEN else read_value(known, value, texts)


def key_named(word: str) -> str | None:
    """The key that a word means."""
    key = ALIASES.get(word.lower(), word.lower())
    return key if key in KEYS else None


def is_like_a_key(word: str) -> bool:
    """Whether a word is a key, or was meant to be one."""
    return key_named(word) is not None or _nearest(word) is not None


def unknown_key(word: str, texts: Texts) -> BadInput:
    """What is said of a key that there is not."""
    near = _nearest(word)
    if near is None:
        return BadInput(texts("bad.setting", key=word, keys=texts("list_of").join(KEYS)))
    return BadInput(texts("bad.setting.near", key=word, near=near))


def read_value(key: str, text: str, texts: Texts) -> Setting:
    """The value of a key. Raises BadInput with what would fit."""
    kind = KINDS[key]
    if kind is bool:
        return _switch(key, text, texts)
    if kind is str:
        return _word(key, text, texts)
    return _number(key, text, texts)


def value_text(value: Setting | None, texts: Texts) -> str:
    """The value as somebody would type it."""
    if value is None or value == "":
        return texts("room.open")
    if isinstance(value, bool):
        return "on" if value else "off"
    # `g` would say 1e+06.
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _nearest(word: str) -> str | None:
    near = difflib.get_close_matches(word.lower(), [*KEYS, *ALIASES], n=1, cutoff=0.7)
    return near[0] if near else None


def _switch(key: str, text: str, texts: Texts) -> bool:
    if text.lower() in _ON | _OFF:
        return text.lower() in _ON
    raise BadInput(texts("bad.value", key=key, value=text, fits=texts("bad.value.switch")))


def _word(key: str, text: str, texts: Texts) -> str:
    if key in CHOICES:
        if text.lower() in CHOICES[key]:
            return text.lower()
        fits = texts("list_of").join(CHOICES[key])
        raise BadInput(texts("bad.value", key=key, value=text, fits=fits))
    if key == "zone":
        try:
            return ZoneInfo(text).key
        except (KeyError, ValueError, OSError) as error:
            fits = texts("bad.value.zone")
            raise BadInput(texts("bad.value", key=key, value=text, fits=fits)) from error
    if key == "hosts":
        return _hosts(key, text, texts)
    if len(text) > _NAME_CHARS or not text.isprintable():
        raise BadInput(texts("bad.value", key=key, value=text[:40], fits=texts("bad.value.model")))
    return text


def _hosts(key: str, text: str, texts: Texts) -> str:
    """Bundles and hosts with commas between, in their one form."""
    fits = texts("bad.value.hosts", bundles=texts("list_of").join(BUNDLES))
    refused = BadInput(texts("bad.value", key=key, value=text[:60], fits=fits))
    try:
        words = read_words(text.split(","))
    except (ValueError, UnicodeError) as error:
        raise refused from error
    if not 0 < len(words) <= _HOSTS_MOST:
        raise refused
    return ",".join(words)


def _number(key: str, text: str, texts: Texts) -> Setting:
    is_money = KINDS[key] is float
    fits = texts("bad.value.money" if is_money else "bad.value.count")
    refused = BadInput(texts("bad.value", key=key, value=text, fits=fits))
    try:
        number = float(text.removeprefix("$").lower().removesuffix("usd"))
    except ValueError:
        raise refused from None
    least, most = (0.01, MOST_USD) if is_money else (0, MOST_DAYS)
    if not least <= number <= most or (not is_money and number != int(number)):
        raise refused
    return number if is_money else int(number)
