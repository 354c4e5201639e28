"""The sentences in English about reactions, marks, and rooms that are lost or moved; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

ROOMS: Final[Mapping[str, str]] = {
    # Reactions.
    "said.words_only": (
        "In an encrypted room an approval takes words: `{yes} {number}` or `{no} {number}`."
    ),
    "said.aim_unreadable": (
        "I cannot read that message, so I cannot make a goal of it. Say what it wants: "
        "`/goal <objective>`."
    ),
    "said.taken_back": "Taken back.",
    "refused.begun": "{goal} has done a turn already: `cancel` ends it.",
    # Rooms without threads.
    "refused.room_busy": (
        "This room has one goal at a time, and {goal} is live. `edit` changes it, `cancel` ends it; "
        "`/goal room threads on` gives each goal a thread."
    ),
    # Why.
    "said.why.others": "It spoke to others and not to me. Begin with `@headway` or `/goal`.",
    "said.why.reaction": (
        "Of reactions I take 🎯 under a message, and the signs under a card that is open."
    ),
}
