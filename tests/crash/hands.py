"""
Stories of what the agent may do: asked and answered, refused, left without an answer, planned, checked.

Each model looks at nothing but the request, as that of the first story. What is done once leaves a line
in `notes/effects.txt`, so that doing it twice is seen.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from adapters.console.parse import Edited, Posted
from adapters.rehearsal.script import (
    Answer,
    Call,
    Memory,
    Reply,
    Request,
    call,
    calls_of,
    finished_turns,
    role_of,
    say,
    user_texts,
    verdict,
    whole_text,
)
from tests.crash.scenario import EFFECTS, REPLY_S
from tests.crash.story import Lines, Saying, Story, has_settled, name_of

SCRIPT: Final = "tests.crash.hands:script"
WHY: Final = "not in this house"
CHANGE: Final = "Only the first line, please."
DONE: Final = "That is all of it."
BACK: Final = "put the goal back to this point"
"""What the agent is told of a rewind (`bot.agent.prompts_rewind`)."""
ODD_FILE: Final = "drafts/odd.bin"
ODD: Final = rf"printf '\0\377 one\r\n%.0s' 1 2 3 > {ODD_FILE}; chmod 640 {ODD_FILE}"
ODD_BYTES: Final = b"\x00\xff one\r\n" * 3
_LOOKED: Final = "I looked around first."
_CARD: Final = re.compile(r"decision:(\d+)")


def _leaving(number: int) -> str:
    # It goes on for a moment after its effect, so that it can be killed between the two.
    return f"echo once-{number} >> {EFFECTS}; sleep 0.1"


def script(request: Request, number: int, memory: Memory) -> Answer:
    """The answer to one request, in the story whose objective it tells."""
    told = whole_text(request)
    agent = next(agent for story, agent in _AGENTS if story.objective.splitlines()[0] in told)
    if role_of(request) == "audit":
        # A check that fails rules it out; nothing else does.
        reply = verdict("complete", "It says that this is all of it.", evidence="its reply")
    else:
        reply = agent(request, calls_of(request))
    return replace(reply, duration_s=REPLY_S, deltas=6)


def _left(made: list[Call], number: int) -> Reply | None:
    """Leave a line; where that may have happened, look before doing it again. A no is a no."""
    again = call("bash", {"command": _leaving(number)})
    tries = [place for place, each in enumerate(made) if _leaving(number) in _command(each)]
    if not tries:
        return again
    last = made[tries[-1]]
    if not last.is_error or "Not run" in (last.result or ""):
        return None
    looks = [each for each in made[tries[-1] :] if each.name == "grep"]
    if not looks:
        return call("grep", {"pattern": f"once-{number}"})
    return None if re.search(r"\.txt:\d", looks[-1].result or "") else again


def _command(made: Call) -> str:
    return str(made.input.get("command", "")) if made.name == "bash" else ""


def _asks(request: Request, made: list[Call]) -> Reply:
    """One line that is allowed, and one that is not."""
    step = _left(made, 1) or _left(made, 2)
    if step is not None:
        return step
    heard = WHY in (made[-1].result or "")
    return say(f"{DONE} I was told why: {heard}.")


def _waits(request: Request, made: list[Call]) -> Reply:
    """A line that nobody allows."""
    step = _left(made, 1)
    return step or say(f"{DONE} Nobody answered: {'nobody answered' in (made[-1].result or '')}.")


def _plans(request: Request, made: list[Call]) -> Reply:
    """A line before there is a plan, two plans, and a line of the second."""
    plans = [each for each in made if each.name == "propose_plan"]
    is_changed = any(CHANGE in words for words in user_texts(request))
    if not plans:
        if not any(_leaving(0) in _command(each) for each in made):
            return call("bash", {"command": _leaving(0)})
        return call("propose_plan", {"text": "Two lines.", "steps": ["line 1", "line 2"]})
    if len(plans) == 1:
        if not is_changed:
            return say("There is the plan.")
        return call("propose_plan", {"text": "One line.", "steps": ["line 1"]})
    if finished_turns(request) < 2:
        return say("There is another plan.")
    return _left(made, 1) or say(DONE)


def _is_checked(request: Request, made: list[Call]) -> Reply:
    """Nothing in the first turn, and the line in the second."""
    if finished_turns(request) == 0:
        return call("glob", {"pattern": "**/*"}) if not made else say(f"{_LOOKED} {DONE}")
    return _left(made, 1) or say(DONE)


def _goes_back(request: Request, made: list[Call]) -> Reply:
    """A line and an odd file; then another line, and the file is gone; and back before that."""
    told = whole_text(request)
    if BACK in told:
        return say(DONE) if _of(made, "grep") else call("grep", {"pattern": "once-"})
    if finished_turns(request) == 0:
        step = _left(made, 1) or _once(made, f"{ODD}; ls {ODD_FILE}")
        return step or _asked(made, "first") or say("I wait for a word.")
    step = _left(made, 2) or _once(made, f"rm -f {ODD_FILE}; ls notes")
    return step or _asked(made, "second") or say("I wait for another word.")


def _once(made: list[Call], command: str) -> Reply | None:
    # Done twice it is the same.
    done = [each for each in made if _command(each) == command and not each.is_error]
    return None if done else call("bash", {"command": command})


def _asked(made: list[Call], word: str) -> Reply | None:
    known = [each for each in _of(made, "ask_person") if word in str(each.input)]
    return None if known else call("ask_person", {"question": f"What is the {word} word?"})


def _of(made: list[Call], name: str) -> list[Call]:
    return [each for each in made if each.name == name]


def _answers_calls(lines: Lines) -> Iterable[Saying]:
    for number, line in _cards(lines):
        if "once-1" in line.shape.body:
            yield f"answer{number}", f"approve {number}", line.thread
        elif "once-2" in line.shape.body:
            yield f"answer{number}", f"deny {number} because {WHY}", line.thread


def _says_nothing(lines: Lines) -> Iterable[Saying]:
    return ()


def _answers_plans(lines: Lines) -> Iterable[Saying]:
    for number, line in _cards(lines):
        yield f"answer{number}", CHANGE if number == 1 else "approve", line.thread


def _puts_back(lines: Lines) -> Iterable[Saying]:
    posted = {name_of(line): line for line in lines}
    for before, id, text in (
        ("decision:1", "answer1", "go on"),
        ("decision:2", "rewind", "rewind 1"),
        ("reply:rewind", "resume", "resume"),
    ):
        if before in posted:
            yield id, text, posted[before].thread


def _cards(lines: Lines) -> Iterable[tuple[int, Posted | Edited]]:
    for line in lines:
        found = _CARD.fullmatch(name_of(line))
        if found is not None:
            yield int(found[1]), line


ASKED: Final = Story(
    "asked",
    SCRIPT,
    "Leave the first line, and the second if you may.",
    _answers_calls,
    has_settled,
    environ={"HEADWAY_PROFILE": "read_only"},
)
EXPIRED: Final = Story(
    "expired",
    SCRIPT,
    "Leave the first line, if anybody lets you.",
    _says_nothing,
    has_settled,
    environ={"HEADWAY_PROFILE": "read_only", "HEADWAY_LIMITS__APPROVAL_EXPIRES_S": "1"},
)
PLANNED: Final = Story(
    "planned",
    SCRIPT,
    "Leave lines as I like them.",
    _answers_plans,
    has_settled,
    command="/goal plan",
)
CHECKED: Final = Story(
    "checked",
    SCRIPT,
    f"Leave the first line.\ncheck: grep -q once-1 {EFFECTS}",
    _says_nothing,
    has_settled,
)
REWOUND: Final = Story(
    "rewound", SCRIPT, "Leave lines until I say where to stop.", _puts_back, has_settled
)
STORIES: Final = (ASKED, EXPIRED, PLANNED, CHECKED, REWOUND)

_AGENTS: Final[tuple[tuple[Story, Callable[[Request, list[Call]], Reply]], ...]] = (
    (ASKED, _asks), (EXPIRED, _waits), (PLANNED, _plans), (CHECKED, _is_checked),
    (REWOUND, _goes_back),
)  # fmt: skip
