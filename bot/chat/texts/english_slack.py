"""What Slack shows of the app before anybody talks to it; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

SLACK: Final[Mapping[str, str]] = {
    "app.about": "Give it a goal; it works until that is reached, or asks.",
    "app.agent": (
        "Works at a goal for minutes or days, checks every turn against it, survives restarts, and asks "
        "when a decision is yours."
    ),
    "app.command": "Give me a goal, or say what becomes of one",
    "app.run_as_goal": "Run as goal",
    "app.run_as_goal.about": "Make a goal of this message",
    "app.new_goal": "New goal",
    "app.new_goal.about": "Give me a goal, with its budget",
    "app.not_there": (
        "I am not installed in this workspace any more. Whoever runs me can install me again."
    ),
    "install.ask": "Add Headway to Slack",
    "install.about": (
        "Slack asks you next what it may see and do. Adding it lets nobody give it goals yet: that is "
        "said afterwards."
    ),
    "install.button": "Add to Slack",
    "install.done": "Headway is in {team}",
    "install.next": (
        "Nobody there may give it goals yet. Whoever runs Headway lets the first person in: `headway "
        "claim` prints a code, which is sent to Headway in a direct message within 15 minutes, as claim "
        "CODE."
    ),
    "install.open": "Open Slack",
    "install.failed": "Headway was not added",
    "install.again": "Begin again",
    "install.why.access_denied": "You did not allow it. Nothing has changed.",
    "install.why.invalid_browser": (
        "This page was opened by another browser than the one that began, or twice. Begin again, in one "
        "browser that takes cookies."
    ),
    "install.why.invalid_state": "It took more than ten minutes, or this page was opened before.",
    "install.why.missing_code": "Slack's answer was not complete.",
    "install.why.invalid_code": "Slack did not know its own answer any more: it counts once.",
    "install.why.storage_error": (
        "Slack allowed it, and it could not be kept here. Whoever runs Headway finds why in its log."
    ),
    "install.why.unreached": "Slack could not be reached, or did not answer. Try it in a minute.",
    "install.why.other": "Slack refused it: {reason}.",
    "app.working": "is working...",
    "app.prompts": "What should be done?",
    "app.prompt.1": "Work at a goal",
    "app.prompt.1.said": "Compare the three plans in the attached file and write a recommendation",
    "app.prompt.2": "Ask one question",
    "app.prompt.2.said": "ask What can you do for me?",
    "app.prompt.3": "See how my goals stand",
    "app.prompt.3.said": "list mine",
    "view.loading": "One moment ...",
    "view.failed": "This cannot be shown.",
    "view.title": "Headway",
    "view.later": "Further",
    "view.earlier": "Back",
    "view.page": "Page {page} of {pages}",
    "view.thread": "Thread",
}
