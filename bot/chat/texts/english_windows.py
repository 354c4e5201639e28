"""The sentences in English of forms, details and homes; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

WINDOWS: Final[Mapping[str, str]] = {
    # Forms. Slack takes 24 characters for a title and for what a button says.
    "window.close": "Close",
    "window.cancel": "Not now",
    "window.new": "New goal",
    "window.aim": "Run as goal",
    "window.edit": "Edit {goal}",
    "window.budget": "Budget of {goal}",
    "window.answer": "{goal}, decision {number}",
    "window.reopen": "Go on from {goal}",
    "window.details": "Details of {goal}",
    "window.start": "Start",
    "window.save": "Save",
    "window.set": "Set",
    "window.set_and_resume": "Set and resume",
    "window.answer.submit": "Answer",
    "window.go_on": "Go on",
    "window.room": "Where",
    "window.room.hint": "The goal gets a thread there.",
    "window.objective": "Objective",
    "window.objective.hint": (
        "Say what should be true when it is done. At most {most} characters here; a longer one is said "
        "in a message."
    ),
    "window.money": "Budget",
    "window.money.hint": "For example $5, 500k tokens or 3 h. Empty: {usual}.",
    "window.more.hint": "For example $5, or +2 on top. Spent so far: {spent}.",
    "window.answer.label": "Your answer",
    "window.answer.hint": "At most {most} characters.",
    "window.missing": "What is missing",
    "window.missing.hint": "It goes on in the same thread with what is left of the budget: {rest}.",
    "window.whole": "The whole message is the objective, all {count} characters of it. It begins:",
    "window.too_long": (
        "That message has {count} characters, and a form takes {most}. React to it with 🎯: then all of "
        "it is the objective."
    ),
    "window.unreadable": (
        "I cannot read what that message says. Copy its words into a new goal: `/goal <objective>`."
    ),
    "window.edit_long": (
        "The objective of {goal} has {count} characters, and a form takes {most}. Say `edit <objective>` "
        "in its thread, or edit the message that it came from."
    ),
    "window.no_goal": "That goal is gone: there is nothing left to show or to change.",
    "window.not_yours": "Only who is in the room can see its goals.",
    "window.unknown": "There is no window for that. Use the commands: `/goal help`.",
    "window.no_room": "Choose a room: the goal gets a thread there.",
    "window.no_member": "You are not in that room. Join it first, or choose another one.",
    "window.gone_decision": (
        "Too late: that decision is no longer open. Copy your words and say them in the thread."
    ),
    "window.settings": "Settings of the room",
    "window.setting.hint": "{help}. Now: {now}.",
    "button.settings": "Change",
    "said.room.same": "Nothing is different: this room's settings are as they were.",
    "window.empty": "Say it in words.",
    "window.amount": "That is no amount. Give for example $5, +2, 500k tokens or 3 h.",
    "window.longer": "That has {count} characters; a form takes {most}. Say it in a message.",
    "window.by_button": "That is answered by its button alone. Say your words in the thread.",
    # Details.
    "details.cost": "Cost",
    "details.cost.line": "{role}: {money} · {calls}, {tokens} tokens",
    "details.cost.total": "Together: {spent}",
    "details.cost.none": "Nothing was spent yet.",
    "details.decisions": "Decisions",
    "details.decisions.line": "{number} · {what} → {came}",
    "details.decision.open": "open",
    "details.decision.answered": "{answer}, by {name}",
    "details.decision.expired": "no answer in time",
    "details.decision.withdrawn": "no longer needed",
    "details.files": "Files",
    "details.files.line": "{name} ({size})",
    "details.work": "What it did",
    "details.work.turns": "{turns} since {time}, owned by {name}",
    "details.work.tools": "Tools: {tools}",
    "details.work.tool": "{name} {n}×",
    "details.work.failed": "{n} of them failed",
    "details.work.audits": "Audits: {audits}",
    "details.work.edited": "The objective was edited {n}×",
    "details.last": "Last {n} of {all} steps",
    "details.others": "{n} more",
    "details.more": "The whole journal: `headway trace {goal}` on the machine that runs it.",
    # Homes.
    "home.title": "Headway",
    "home.today": "Spent today: {spent}",
    "home.decisions": "Waiting for you",
    "home.mine": "My goals",
    "home.rooms": "In my rooms",
    "home.ended": "Ended lately",
    "home.empty": (
        "No goals yet. Say what should be true when it is done: with the button above, with "
        "`/goal <objective>` in a room, or in a message to me."
    ),
    "home.stranger": "I take goals from people on my list. Ask whoever looks after me.",
    "home.hidden.one": "1 more goal of yours lives in a room that you are not in.",
    "home.hidden.many": "{n} more goals of yours live in rooms that you are not in.",
    "home.sum": "{n} {state}",
    "home.progress": "{done} of {all} tasks done",
    "home.owner": "of {name}",
    "home.for": "For: {objective}",
    "home.too_long": "It is too long to be answered here: its card in the thread shows it whole.",
    "home.by_hand": "Answer it in its thread.",
    "home.new": "New goal",
}
