"""
The story that every drill plays: what the person says, what the model answers, what must come of it.

Turn 1 plans, leaves a line that would be seen twice if it were left twice, and reads it. Turn 2
writes a report and asks how it should end; the person first looks at the tasks and raises the
budget, then answers. Turn 3, steered in the middle, leaves a second line,
mends the report and leaves a note. The audit says continue, then complete.

The model looks at nothing but the request, so that it answers a process that was killed and started
again the same way. Told that an outcome is unknown it does what a good agent does: it looks, and
does it again only if it is not there.

An objective with `!break KIND N` breaks the N-th call of its conversation.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from adapters.rehearsal.script import (
    Answer,
    Call,
    Fault,
    Memory,
    Reply,
    Request,
    call,
    calls_of,
    finished_turns,
    role_of,
    say,
    tool_use,
    user_of,
    user_texts,
    verdict,
    whole_text,
)
from tests.crash.story import Lines, Saying, Story, has_settled, name_of

SCRIPT: Final = "tests.crash.scenario:script"
OBJECTIVE: Final = "Leave both lines in notes/effects.txt, and a report that ends as I say."
QUESTION: Final = "How should the report end?"
OPTIONS: Final = ("softly", "loudly")
ANSWERED: Final = "[Answer of"
STEERING: Final = "Keep the report short."
CONVERSATION: Final = (
    ("decision:1", "tasks", "tasks"),
    ("reply:tasks", "budget", "budget +1"),
    ("reply:budget", "answer", "1"),
)
"""After which post the person says what: the name of the post, that of the message, its text."""
POSTS: Final = ("decision:1", "reply:tasks", "reply:budget", "card:1", "settle")
"""Names of what is posted, in order: the card is the decision's message, edited."""
EFFECTS: Final = "notes/effects.txt"
REPORT: Final = "artifacts/report.md"
NOTE: Final = "Both lines are there, and the report ends softly; steered {} time."
FILES: Final = {EFFECTS: "once-1\nonce-2\n", REPORT: "# Report\nIt ends softly.\n"}
TURNS: Final = 3
CALLS: Final = 12
"""Of the model, audits included."""
REPLY_S: Final = 0.06

_DRAFT: Final = "# Report\nIt ends somehow.\n"
_FIRST: Final = "The first line is there."
_ASKED: Final = "The report waits for an answer."
_ALL: Final = "All of it is there."
_PLAN: Final = [{"title": f"part {number}", "state": "open"} for number in (1, 2, 3)]

Step = Callable[[list[Call]], Reply | None]


def _said_next(lines: Lines) -> Iterable[Saying]:
    posted = {name_of(line): line for line in lines}
    for before, id, text in CONVERSATION:
        if before in posted:
            yield id, text, posted[before].thread


STORY: Final = Story("first", SCRIPT, OBJECTIVE, _said_next, has_settled)


def script(request: Request, number: int, memory: Memory) -> Answer:
    """The answer to one request."""
    reply = _audit(request) if role_of(request) == "audit" else _agent(request)
    reply = replace(reply, duration_s=REPLY_S, deltas=6)
    told = re.search(r"!break (\w+) (\d+)", whole_text(request))
    if told is None:
        return reply
    count = memory[user_of(request)] = memory.get(user_of(request), 0) + 1
    kind: Any = told[1]
    return Fault(kind, reply=reply, after_deltas=2) if count == int(told[2]) else reply


def _audit(request: Request) -> Reply:
    if _ALL in whole_text(request):
        return verdict("complete", "Both lines and the report are there.", evidence="the files")
    return verdict("continue", "The report and the second line are missing.")


def _agent(request: Request) -> Reply:
    made = calls_of(request)
    turn = finished_turns(request) + 1
    for step in _STEPS[min(turn, TURNS)]:
        reply = step(made)
        if reply is not None:
            return reply
    if turn >= TURNS and not _of(made, "finish_note"):
        heard = sum(words.count(STEERING) for words in user_texts(request))
        return call("finish_note", {"text": NOTE.format(heard)})
    return say({1: _FIRST, 2: _ASKED}.get(turn, _ALL))


def _planned(made: list[Call]) -> Reply | None:
    return _once(made, "plan", {"tasks": _PLAN})


def _first_line(made: list[Call]) -> Reply | None:
    if not _of(made, "bash"):
        bash = tool_use("bash", {"command": _leaving(1)})
        return Reply((bash, tool_use("read", {"path": EFFECTS})))
    return _left(made, 1)


def _written(made: list[Call]) -> Reply | None:
    write = {"path": REPORT, "content": _DRAFT}
    return _looked_after(made, call("write", write), "write", "somehow")


def _asked(made: list[Call]) -> Reply | None:
    return _once(made, "ask_person", {"question": QUESTION, "options": list(OPTIONS)})


def _second_line(made: list[Call]) -> Reply | None:
    return _left(made, 2)


def _mended(made: list[Call]) -> Reply | None:
    edit = {"path": REPORT, "old": "somehow", "new": "softly"}
    return _looked_after(made, call("edit", edit), "edit", "softly")


_STEPS: Final[dict[int, tuple[Step, ...]]] = {
    1: (_planned, _first_line),
    2: (_written, _asked),
    3: (_second_line, _mended),
}


def _leaving(number: int) -> str:
    # It goes on for a moment after its effect, so that it can be killed between the two.
    return f"echo once-{number} >> {EFFECTS}; sleep 0.1"


def _left(made: list[Call], number: int) -> Reply | None:
    """Leave a line; where that may have happened, look before doing it again."""
    again = call("bash", {"command": _leaving(number)})
    tries = [place for place, each in enumerate(made) if f"once-{number} " in _said(each)]
    if not tries:
        return again
    if not made[tries[-1]].is_error:
        return None
    looks = _of(made[tries[-1] :], "grep")
    if not looks or looks[-1].is_error:
        return call("grep", {"pattern": f"once-{number}"})
    return None if re.search(r"\.txt:\d", looks[-1].result or "") else again


def _looked_after(made: list[Call], again: Reply, name: str, mark: str) -> Reply | None:
    """Change the report; where that may have happened, look before doing it again."""
    tries = [place for place, each in enumerate(made) if each.name == name]
    if not tries:
        return again
    if not made[tries[-1]].is_error:
        return None
    looks = _of(made[tries[-1] :], "read")
    if not looks:
        return call("read", {"path": REPORT})
    return None if mark in (looks[-1].result or "") else again


def _once(made: list[Call], name: str, arguments: dict[str, Any]) -> Reply | None:
    return None if _of(made, name) else call(name, arguments)


def _of(made: list[Call], name: str) -> list[Call]:
    return [each for each in made if each.name == name]


def _said(made: Call) -> str:
    return str(made.input.get("command", "")) if made.name == "bash" else ""
