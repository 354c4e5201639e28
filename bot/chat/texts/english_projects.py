"""The sentences in English about checks, repositories and reviews; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

PROJECTS: Final[Mapping[str, str]] = {
    # Repositories of a room.
    "status.repository": "Repository: `{name}`, in checkouts/{name}",
    "said.repo.head": "Repositories of this room:",
    "said.repo.line": "- `{name}` {url}{branch}{secret}",
    "repo.branch": ", branch `{branch}`",
    "repo.secret": ", credential `{secret}`",
    "said.repo.foot": (
        "A goal starts from one with `repo: NAME` in a line of its objective. Admins: `room repo add URL "
        "[as NAME] [secret NAME] [branch NAME]`, `room repo remove NAME`."
    ),
    "said.repo.none": (
        "This room has no repositories. `room repo add URL [as NAME] [secret NAME] [branch NAME]` adds "
        "one (admins)."
    ),
    "said.repo.added": (
        "The repository `{name}` ({url}) is this room's now, set by {by}. A goal starts from it with "
        "`repo: {name}` in a line of its objective."
    ),
    "said.repo.changed": "The repository `{name}` of this room is {url} now, set by {by}.",
    "said.repo.secret": (
        "Its credential is the secret `{secret}`, bound to its host: the agent never has it."
    ),
    "said.repo.removed": (
        "The repository `{name}` is no longer this room's, by {by}. Checkouts of it stay where they are."
    ),
    "bad.repo": (
        "That is not how repositories are named. `room repo add URL [as NAME] [secret NAME] [branch "
        "NAME]`, `room repo remove NAME`, `room repo list`."
    ),
    "bad.repo.scheme": "A repository's address begins with `https://`. Give it so.",
    "bad.repo.credential": (
        "There is a credential in that address, which everybody here has read now. Revoke it, give a new "
        "one as a secret bound to its host, and name it: `room repo add URL secret NAME`."
    ),
    "bad.repo.form": (
        "That is no address of a repository. Give it like `https://git.example.org/team/app.git`."
    ),
    "bad.repo.name": "`{value}` is no name: letters, digits, `.`, `_` and `-`, 40 at most.",
    "bad.repo.secret": "`{value}` is no secret's name. The value itself is never said here.",
    "bad.repo.branch": "`{value}` is no branch's name.",
    "bad.repo.many": "A room has at most {most} repositories. Remove one first.",
    "bad.repo.unknown": "This room has no repository `{name}`. `room repo list` shows them.",
    "refused.no_repositories": "Repositories are not kept here.",
    # Checks of a goal.
    "verb.gate": (
        "its checks: commands that must pass before it counts as done; also `check: COMMAND` in a line "
        "of the objective"
    ),
    "verb.gate.example": "gate G12 add pytest -q",
    "gates.failing": "Failing: {names}",
    "gates.passed": "{names} passed",
    "gates.and": " · ",
    "gates.fails": " — fails",
    "said.gate.head": "{goal} is complete only when these pass:",
    "said.gate.line": "{n}. {command}{state}",
    "said.gate.own": "- {command} (in the objective){state}",
    "said.gate.none": (
        "{goal} has no checks. `gate add COMMAND` sets one, such as `gate add pytest -q`."
    ),
    "said.gate.added": "Check {n} is set: {goal} is complete only when it passes.",
    "said.gate.removed": "Check {n} of {goal} is gone.",
    "refused.gates_changed": "Others change the checks of {goal} right now. Say it again.",
    "bad.gate.long": "A check has at most {most} characters. Put the rest into a script.",
    "bad.gate.many": "A goal has at most {most} checks. Remove one first: `gate list` shows them.",
    "bad.gate.lines": "An objective has at most {most} check lines. Put several commands into one script.",
    "bad.gate.twice": "That check is set already. `gate list` shows them.",
    "bad.gate.none": (
        "{goal} has no check {n} that was set by hand. `gate list` shows them; one of the objective "
        "goes with `edit`."
    ),
}
