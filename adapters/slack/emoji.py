"""
Emoji as Slack names them, and as people write them. Pure.

Rule: those that mean something to Headway are signs elsewhere and names here; all others keep their name.
"""

from typing import Final

SIGNS: Final = {
    "dart": "🎯",
    "white_check_mark": "✅",
    "x": "❌",
    "one": "1️⃣",
    "two": "2️⃣",
    "three": "3️⃣",
    "four": "4️⃣",
    "five": "5️⃣",
    "eyes": "👀",
}
"""By Slack's names, https://github.com/iamcal/emoji-data."""
NAME_MOST: Final = 100
_NAMES: Final = {
    sign.replace("\N{VARIATION SELECTOR-16}", ""): name for name, sign in SIGNS.items()
}


def emoji_of(name: str) -> str:
    """The emoji of a reaction's name, `dart` or `+1::skin-tone-2`; the bare name where it is no sign.

    Empty where it is no name at all.
    """
    plain = name.strip(":").partition("::")[0]
    is_name = 0 < len(plain) <= NAME_MOST and plain.isprintable() and " " not in plain
    return SIGNS.get(plain, plain) if is_name else ""


def name_of(emoji: str) -> str:
    """Slack's name of an emoji; what is none of the signs is taken for a name already."""
    plain = emoji.strip().replace("\N{VARIATION SELECTOR-16}", "")
    return _NAMES.get(plain, plain.strip(":"))
