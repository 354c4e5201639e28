"""The script for a try-out without a key: any objective gets a short, honest piece of work. Pure.

It cannot think and says so. What it does is real: it keeps a plan, writes a file, looks at it with a
command in the sandbox, asks where the objective says `ask me`, and ends. It is stateless: the next
step is the first one whose trace is missing from the transcript since the objective, so a Headway
that was killed goes on at that step.
"""

import re
from typing import Final

from adapters.rehearsal.answers import answer_among
from adapters.rehearsal.script import (
    Answer,
    Block,
    Call,
    Memory,
    Reply,
    Request,
    assistant_texts,
    call,
    calls_of,
    is_done,
    offered,
    role_of,
    say,
    texts_of,
    tool_use,
    verdict,
    whole_text,
)

ABOUT: Final = (
    "(The model is rehearsed: a script that was written beforehand and cannot think. The plan, the "
    "file, the command and the audits are real. For a real model run `init` again.)"
)
OPTIONS: Final = ("yes", "no")
QUESTION: Final = "You asked to be asked: shall I look at the file that I wrote, and finish?"
HAIKU: Final = (
    "The tide writes, then wipes,\nand the same line comes again:\nthe shore keeps the rest.\n"
)
FILE: Final = "tryout.md"

_OBJECTIVE: Final = "[A goal, set by"
_WROTE: Final = "is written. Next I look at it."
_ASKED: Final = "I have asked you, and wait for the answer."
_DONE: Final = "is written and was looked at."
_STUCK: Final = "I could not go on"
_TASKS: Final = ("Write the file", "Look at it", "Say what was done")
_ATTEMPTS: Final = 2
_MOST: Final = 2_000
"""Characters of the objective that the file repeats."""


def script(request: Request, number: int, memory: Memory) -> Answer:
    """The try-out's answer to one request."""
    match role_of(request):
        case "agent":
            return _agent(request)
        case "audit":
            return _audit(whole_text(request))
        case other:
            wanted = "The file is written and was looked at."
            return Reply((tool_use(other, {"criteria": [wanted], "text": wanted}),))


def _agent(whole: Request) -> Answer:
    objective, request = _since_objective(whole)
    if not objective or "write" not in offered(whole):
        return say(f"I have no answer of my own. {ABOUT}")
    file, text = _work(objective)
    made = calls_of(request)
    said = "\n".join(assistant_texts(request))
    if not _is_done(made, "write"):
        return _write(made, file, text)
    if _WROTE not in said:
        return say(f"`{file}` {_WROTE}")
    if "ask me" in objective.lower():
        if not _is_done(made, "ask_person"):
            return call("ask_person", {"question": QUESTION, "options": list(OPTIONS)})
        if (answer := answer_among(request, *OPTIONS, QUESTION)) is None:
            return say(_ASKED)
        if answer == OPTIONS[1]:
            return say(f"`{file}` {_DONE} At your word I did not look again. {ABOUT}")
    return _look(made, file, text)


def _write(made: list[Call], file: str, text: str) -> Answer:
    if not _is_done(made, "plan"):
        return call("plan", {"tasks": _tasks(0, file)}, "First a plan.")
    return call("write", {"path": file, "content": text}, f"I write `{file}`.")


def _look(made: list[Call], file: str, text: str) -> Answer:
    if not _is_done(made, "bash"):
        return call("bash", {"command": f"wc -w {file} && cat {file}"}, "Is it really there?")
    if not any(text.strip()[:40] in (one.result or "") for one in made if one.name == "bash"):
        return say(f"{_STUCK}: the command does not show what I wrote to `{file}`.")
    if sum(one.name == "plan" for one in made) < 2:
        return call("plan", {"tasks": _tasks(len(_TASKS), file)})
    return say(f"`{file}` {_DONE} Here it is:\n\n{_quoted(text)}\n\n{ABOUT}")


def _audit(words: str) -> Answer:
    if _STUCK in words:
        return verdict("blocked", "The file could not be written and looked at.")
    if found := re.search(rf"`([\w.-]+)` {re.escape(_DONE)}", words):
        return verdict(
            "complete",
            "The file was written and looked at.",
            evidence=f"{found[1]} was printed by the command",
        )
    if _ASKED in words:
        person = {"kind": "question", "text": QUESTION}
        return verdict("needs_person", "A person's word is wanted first.", person=person)
    return verdict("continue", "It is written; nobody has looked at it yet.")


def _since_objective(request: Request) -> tuple[str, Request]:
    """The newest objective, and the request without what was before it."""
    messages = request.get("messages") or []
    for place in range(len(messages) - 1, -1, -1):
        for words in texts_of(messages[place]):
            if messages[place].get("role") == "user" and words.startswith(_OBJECTIVE):
                return words.partition("\n")[2].strip(), {**request, "messages": messages[place:]}
    return "", request


def _work(objective: str) -> tuple[str, str]:
    """The file that is asked for, by its name alone, and what is written into it."""
    named = re.search(r"\b(?:in)?to ([A-Za-z0-9][\w-]*\.(?:txt|md))\b", objective)
    file = named[1] if named else FILE
    if "haiku" in objective.lower():
        return file, HAIKU
    return file, f"You asked:\n\n{objective[:_MOST]}\n\nA real model would now work at it.\n"


def _tasks(done: int, file: str) -> list[Block]:
    tasks: list[Block] = []
    for place, title in enumerate(_TASKS):
        if place < done:
            tasks.append({"title": title, "state": "done", "evidence": f"{file} was printed"})
        else:
            tasks.append({"title": title, "state": "doing" if place == done else "open"})
    return tasks


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())


def _is_done(made: list[Call], name: str) -> bool:
    return is_done((one for one in made if one.name == name), _ATTEMPTS)
