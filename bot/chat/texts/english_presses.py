"""The sentences in English about what is pressed, filled in and commanded; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

PRESSES: Final[Mapping[str, str]] = {
    # Buttons.
    "button.edit": "Edit",
    "button.undo": "Undo",
    "button.again": "Try again",
    "button.cancel_sure": "Cancel it",
    # Starts.
    "root.ask": "💬 {owner} asks: {objective}",
    "said.shut_out": (
        "I am not in this channel, so nothing was started. Say `/invite @{name}` here, then try again: "
        "what you asked for is kept. Where nobody can be invited, say it in a message to me."
    ),
    "window.shut_out": (
        "I am not in that channel. Say `/invite @{name}` there, then submit this again."
    ),
    "said.again_gone": (
        "What you asked for then is no longer kept. Say it again: `/goal <objective>`."
    ),
    "said.again_done": "{goal} came of that already.",
    "said.again_done.ask": "That was asked already.",
    "said.aimed_already": "That message has its goal already: {goal}.",
    # What is pressed or filled in too late.
    "said.press_gone": (
        "That button is of a message that is gone, so it did nothing. `/goal list` shows the goals here."
    ),
    "said.form_gone": (
        "What that form was about is gone, so nothing was done. `/goal list` shows the goals here."
    ),
    "said.too_late_by": "Too late: {name} answered decision {number} of {goal} before you: {answer}",
    "said.too_late_by.bare": "Too late: {name} answered decision {number} of {goal} before you.",
    "said.too_late.expired": "Too late: nobody answered decision {number} of {goal} in time.",
    "said.too_late.expired.approval": (
        "Too late: nobody answered decision {number} of {goal} in time, so it counted as no."
    ),
    "said.too_late.withdrawn": (
        "Decision {number} of {goal} was withdrawn: the goal moved on without it. Nothing was done."
    ),
    "said.enough": (
        "That was a lot that I did not take. For a minute I answer what I can do, and say no more of "
        "what I cannot."
    ),
    "said.exact_only": "That takes its exact word: `{yes} {number}` or `{no} {number}`.",
    "bad.empty_answer": "An answer needs words.",
    "bad.not_a_mention": (
        "{name} is only a name here. Pick the person from the list that Slack shows after `@`."
    ),
    # Help.
    "said.help.head.slack": (
        "What I take: behind **/{name}** in the room, behind **!{name}** in its threads, where Slack has "
        "no such commands, or the bare word in a goal's thread:"
    ),
    # Workspaces.
    "status.room_lost.uninstalled": "The bot was removed from the workspace.",
    "incident.room.uninstalled": (
        "the app was removed from the workspace {subject}. Its goals are paused: {goals}. Installed "
        "again, they go on at `resume`."
    ),
}
