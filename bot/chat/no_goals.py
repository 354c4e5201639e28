"""
Texts that are no goals, though they are said where one is started. Pure.

Rule: an answer's very words are meant for a card, whatever stands around them: no goal comes of them.
"""

import re
from typing import Final

from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.hands import SCOPES

_KINDS: Final = ("approval", "plan", "sign_off", "review")
_NUMBERS: Final = re.compile(r"(?:\s+[gG#]?[0-9]{1,9})*[.!]*$")


def refuse_no_goal(text: str, texts: Texts) -> None:
    """Raise BadInput where it answers a card, or nobody could tell when it is done."""
    said = " ".join(_NUMBERS.sub("", text.strip()).split()).casefold()
    if said in _answers(texts):
        raise BadInput(texts("bad.for_a_card", text=text))
    if _is_vague(text, texts):
        raise BadInput(texts("bad.vague", text=text))


def _answers(texts: Texts) -> frozenset[str]:
    single = (word for kind in _KINDS for word in re.split(r"[ |]", texts(f"words.{kind}")))
    scoped = (words for scope in SCOPES for words in texts(f"words.approve.{scope}").split("|"))
    return frozenset((*single, *scoped))


def _is_vague(text: str, texts: Texts) -> bool:
    """Nothing but words like `fix it`: nobody could tell when that is done."""
    words = set(re.findall(r"[^\W\d_]+|\S", text.lower())) - set(".,!?")
    return words <= set(texts("words.vague").split())
