"""
The one table of verbs: parser, help and README are made of it.

Rule 1: a verb counts only in its own syntax: what follows the word must fit `takes`, whole.
Rule 2: a verb that this version lacks is known by name only, to be answered and never offered.
Rule 3: help line and example of a verb are texts `verb.NAME` and `verb.NAME.example`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bot.chat.rights import Act
from bot.chat.texts import Texts


class Takes(Enum):
    """What may follow a verb's word."""

    NOTHING = ""
    GOAL = "[G12]"
    CONFIRMATION = "[G12] [yes]"
    RESUMPTION = "[G12] [anyway]"
    SCOPE = "[mine|room]"
    AMOUNT = "[G12] <amount> [and resume]"
    TEXT = "<text>"
    GOAL_AND_TEXT = "[G12] <text>"
    SPENT = "[today|week|room|mine|model|person @name|G12]"
    HOLD = "[room|all|@name] [: <why>]"
    VERB = "[verb]"
    ENTRY = "[@name [role] [here]] [remove @name]"
    SETTING = "[key value]"
    PERSON = "[G12] @name"
    SECRET = "[NAME [host ...] [given] [as VARIABLE] | remove NAME]"
    CODE = "<code>"
    ONESELF = "me [yes]"
    POINT = "[G12] [number]"
    COPY = "[G12] [number] [<objective>]"
    PERMISSION = "[revoke <number>]"
    PROFILE = "[G12] [profile|default]"
    GATE = "[G12] [add <command> | remove <number> | list]"
    WORD = "[word]"
    """One word: only of verbs that this version lacks."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A row of the table. `placeholder` stands for the text in help (`<objective>`)."""

    name: str
    takes: Takes
    act: Act
    placeholder: str = ""
    is_served: bool = True

    @property
    def syntax(self) -> str:
        """The verb as help shows it: `budget [G12] <amount> [and resume]`."""
        takes = self.takes.value.replace("<text>", self.placeholder or "<text>")
        return f"{self.name} {takes}".strip()


def _lacking(name: str, takes: Takes = Takes.GOAL) -> Verb:
    return Verb(name, takes, Act.SEE, is_served=False)


START: Final = Verb("", Takes.TEXT, Act.START, "<objective>")
"""No word at all: the whole text is an objective."""

_SERVED: Final = (
    Verb("plan", Takes.TEXT, Act.START, "<objective>"),
    Verb("ask", Takes.TEXT, Act.START),
    Verb("status", Takes.GOAL, Act.SEE),
    Verb("list", Takes.SCOPE, Act.SEE),
    Verb("pause", Takes.GOAL, Act.PAUSE),
    Verb("resume", Takes.RESUMPTION, Act.RESUME),
    Verb("stop", Takes.GOAL, Act.PAUSE),
    Verb("cancel", Takes.CONFIRMATION, Act.CANCEL),
    Verb("reopen", Takes.GOAL_AND_TEXT, Act.START, "<what is missing>"),
    Verb("edit", Takes.GOAL_AND_TEXT, Act.EDIT, "<objective>"),
    Verb("budget", Takes.AMOUNT, Act.BUDGET),
    Verb("spend", Takes.SPENT, Act.SEE),
    Verb("hold", Takes.HOLD, Act.HOLD),
    Verb("release", Takes.HOLD, Act.HOLD),
    Verb("tasks", Takes.GOAL, Act.SEE),
    Verb("trace", Takes.GOAL, Act.SEE),
    Verb("files", Takes.GOAL, Act.SEE),
    Verb("rewind", Takes.POINT, Act.EDIT),
    Verb("fork", Takes.COPY, Act.START),
    Verb("gate", Takes.GATE, Act.SEE),
    Verb("profile", Takes.PROFILE, Act.SEE),
    Verb("permissions", Takes.PERMISSION, Act.SEE),
    Verb("owner", Takes.PERSON, Act.HAND_OVER),
    Verb("accept", Takes.GOAL, Act.START),
    Verb("decline", Takes.GOAL, Act.SEE),
    Verb("room", Takes.SETTING, Act.SEE),
    Verb("secret", Takes.SECRET, Act.SECRETS),
    Verb("allow", Takes.ENTRY, Act.ALLOW),
    Verb("claim", Takes.CODE, Act.SEE),
    Verb("access", Takes.NOTHING, Act.SEE),
    Verb("why", Takes.NOTHING, Act.SEE),
    Verb("forget", Takes.ONESELF, Act.FORGET),
    Verb("help", Takes.VERB, Act.SEE),
)

_LACKING: Final = (
    *(_lacking(name, Takes.TEXT) for name in ("next",)),
    *(_lacking(name, Takes.WORD) for name in ("model", "search")),
    *(
        _lacking(name)
        for name in (
            "follow", "unfollow", "notify", "schedule", "watch", "hook", "open",
            "memory",
        )
    ),
)  # fmt: skip

OF_GOAL: Final = frozenset(
    {
        Takes.GOAL,
        Takes.CONFIRMATION,
        Takes.RESUMPTION,
        Takes.AMOUNT,
        Takes.GOAL_AND_TEXT,
        Takes.PERSON,
        Takes.GATE,
        Takes.PROFILE,
        Takes.POINT,
        Takes.COPY,
    }
)
"""Verbs that take one of these are about a goal."""
OF_ANYBODY: Final = frozenset({"claim", "access", "forget"})
"""What somebody may say who is not on the list."""

VERBS: Final[Mapping[str, Verb]] = {verb.name: verb for verb in (*_SERVED, *_LACKING)}


def served() -> tuple[Verb, ...]:
    """The verbs that this version has, in the order of help; an objective comes first."""
    return (START, *_SERVED)


def help_line(verb: Verb, texts: Texts) -> str:
    """What the verb does, in one line."""
    return texts(f"verb.{verb.name or 'start'}")


def example(verb: Verb, texts: Texts) -> str:
    """The verb as somebody would type it, without the command's name."""
    return texts(f"verb.{verb.name or 'start'}.example")
