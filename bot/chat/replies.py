"""
The buttons under what is said to people and rooms, by the reason that the row carries. Pure.

A reason is a kind and, behind a colon, what its buttons are about: `access:@eve`, `lost:G12`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.chat.abilities import HAS_BUTTONS
from bot.chat.facts import Manner
from bot.goals.goal import Goal
from bot.ports.chat import Button, Network

UNDO: Final = "undo"
"""What a press says that takes a goal back."""
AGAIN: Final = "again"
"""What a press says that has an earlier message handled again; behind it that message's id."""
PICK: Final = "pick"
"""The reason of a list to pick from: behind it `VERB G1|G1`, one a line."""
PICKS_MOST: Final = 20
SETTINGS: Final = "settings"
"""The reason of a list of a room's settings, for who may set them."""
SECRET: Final = "secret"
"""The reason of the way to a form in which a secret's value is typed; behind it the words of the verb."""
_BUTTONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "stranger": (("/goal access", "button.ask_access"),),
    "access": (("/goal allow {of}", "button.allow"),),
    "offer": (("accept", "button.accept"), ("decline", "button.decline")),
    "lost": (
        ("/goal owner {of} me", "button.take_over"),
        ("/goal cancel {of}", "button.cancel"),
        ("/goal pause {of}", "button.keep_paused"),
    ),
}
_PRESSED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    AGAIN: (("again {of}", "button.again"),),
    "sure": (("cancel {of} yes", "button.cancel_sure"),),
    SETTINGS: (("room", "button.settings"),),
    SECRET: (("secret {of}", "button.secret"),),
}
"""Those that spare typing, where there are buttons: elsewhere the words above them say what to type."""


def root_buttons(goal: Goal, network: Network, manner: Manner) -> tuple[Button, ...]:
    """Those of the first message of a goal's thread; elsewhere than where there are buttons, none."""
    if network not in HAS_BUTTONS or goal.kind != "goal" or goal.is_final:
        return ()
    edit = Button("edit", manner.texts("button.edit"))
    return (edit, *undo_buttons(goal, network, manner))


def undo_buttons(goal: Goal, network: Network, manner: Manner) -> tuple[Button, ...]:
    """The button that takes a goal back, until its first turn has ended."""
    has_begun = goal.turn > 1 or (goal.turn == 1 and not goal.turn_open)
    if network not in HAS_BUTTONS or has_begun or goal.is_final:
        return ()
    return (Button(UNDO, manner.texts("button.undo")),)


def picking(picks: Sequence[tuple[str, str]]) -> str:
    """The reason of a list: what each button says when it is pressed, and what stands on it.

    Where it says nothing it is the number of its line.
    """
    lines = (f"{verb or number}|{label}" for number, (verb, label) in enumerate(picks, 1))
    return f"{PICK}:" + "\n".join(list(lines)[:PICKS_MOST])


def is_of_asker(reason: str) -> bool:
    """Whether the buttons are for whoever asked: they call nobody else."""
    kind = reason.partition(":")[0]
    return not kind or kind == PICK or kind in _PRESSED


def buttons_of(reason: str, manner: Manner, network: Network = "console") -> tuple[Button, ...]:
    """The buttons of a reply; none for one that has no reason."""
    kind, _, of = reason.partition(":")
    has_buttons = network in HAS_BUTTONS
    if kind == PICK:
        lines = of.split("\n") if has_buttons else ()
        return tuple(
            Button(verb, label) for verb, _, label in (one.partition("|") for one in lines)
        )
    offered = _BUTTONS.get(kind, _PRESSED.get(kind, ()) if has_buttons else ())
    return tuple(Button(verb.format(of=of), manner.texts(label)) for verb, label in offered)
