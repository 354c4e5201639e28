"""The emoji that mean something to Headway, and how they are told apart. Pure."""

from collections.abc import Mapping
from typing import Final

AIM: Final = "🎯"
"""Under a message: make a goal of it."""
NUMBERS: Final = ("1⃣", "2⃣", "3⃣", "4⃣", "5⃣")
YES, NO = "✅", "❌"
THUMBS: Final[Mapping[str, str]] = {"👍": YES, "👎": NO}
"""What means the same as the signs that cards offer."""
ANSWERING: Final = (*NUMBERS, YES, NO, *THUMBS)
"""What answers a decision, without variation selectors."""
TAKEN: Final = "👀"
CARRIED: Final = "✅"
_SELECTORS: Final = dict.fromkeys((0xFE0E, 0xFE0F))
_TONES: Final = dict.fromkeys(range(0x1F3FB, 0x1F400))


def bare(emoji: str) -> str:
    """The emoji without variation selectors and skin tones: one sign, however it was typed."""
    return emoji.strip().translate(_SELECTORS).translate(_TONES)


def numbers(count: int) -> tuple[str, ...]:
    """The signs of the first options, as keyboards give them: at most five."""
    return tuple(f"{sign[0]}\N{VARIATION SELECTOR-16}{sign[1:]}" for sign in NUMBERS[:count])
