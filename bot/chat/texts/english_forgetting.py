"""The sentences in English about forgetting; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

FORGETTING: Final[Mapping[str, str]] = {
    "verb.forget": "take all that is kept of you away; asks once",
    "verb.forget.example": "forget me",
    "said.forget_sure": (
        "That takes away everything kept of you, everywhere: your name, what you said, your goals' "
        "texts and their files. {ends}Sums and journals stay, without a word of yours. It cannot be "
        "brought back. Say `/goal forget me yes` if you are sure."
    ),
    "said.forget_ends": "It cancels {goals}. ",
    "said.forgetting": "You are forgotten within a minute.",
    "said.objective_removed": (
        "{owner}: the message with the objective of {goal} was deleted, and its text is gone from here "
        "too. The goal is paused. `edit <objective>` and then `resume` goes on, `cancel` ends it."
    ),
    "said.edit_kept": (
        "{owner}: {name} edited the message with the objective of {goal}, and may not change it: it "
        "stays.\n> {old}\n\nThe message says now:\n> {new}\n\n`edit <objective>` takes it over."
    ),
    "said.deleted": "Your last message is deleted.",
    "said.deleted.none": "There is no message of this session to delete.",
}
