"""
Scripts about approvals and plans; a part of `tests.peers.scripts`.

| Line | What the agent does, and what the audit says |
|---|---|
| `runs_approved N` | N calls, one after another, of a command that makes a file of another name each time; complete |
| `long_call N` | one call of a command of some N characters; complete |
| `plans STEPS` | proposes a plan of STEPS steps; approved, it has done them; `grow` in a message adds one; complete |
"""

import re
from collections.abc import Callable

from adapters.rehearsal.script import (
    Answer,
    Call,
    Request,
    call,
    calls_of,
    finished_turns,
    last_results,
    say,
    user_texts,
    verdict,
)

Part = Callable[[Request, list[str]], Answer]

RUNS = "mktemp -p drafts ran.XXXXXX"
"""A command that a journey's `ask_commands` puts before people: how often it ran is counted in files."""
APPROVED = "[Automatic] The plan was approved"


def _made(request: Request, name: str) -> list[Call]:
    return [made for made in calls_of(request) if made.name == name]


def _runs_approved(request: Request, arguments: list[str]) -> Answer:
    wanted = int(arguments[0]) if arguments else 1
    ran = _made(request, "bash")
    if len(ran) < wanted:
        return call("bash", {"command": RUNS}, "I want to note that it ran.")
    told = " / ".join(" ".join(str(one.result).split()) for one in ran)
    return say(f"It came to this: {told}")


def _long_call(request: Request, arguments: list[str]) -> Answer:
    most = int(arguments[0]) if arguments else 5_000
    ran = _made(request, "bash")
    if not ran:
        words = " ".join(f"tide-{n}" for n in range(most // 8))
        return call("bash", {"command": f"printf %s {words}"}, "It is long.")
    return say(f"It came to this: {' '.join(str(ran[-1].result).split())}")


def _plans(request: Request, arguments: list[str]) -> Answer:
    steps = [f"step {n}" for n in range(1, 1 + (int(arguments[0]) if arguments else 2))]
    said = "\n".join(user_texts(request))
    if re.search(r"\bgrow\b", said):
        steps.append("the step that was asked for")
    approved = said.count(APPROVED)
    proposed = _made(request, "propose_plan")
    if not approved:
        if last_results(request) and _is_last(request, "propose_plan"):
            return say("This is what I would do.")
        text = f"Plan {len(proposed) + 1}: I looked, and this is how it can be done."
        return call("propose_plan", {"text": text, "steps": steps}, "I have looked around.")
    listed = _made(request, "plan")
    turn = finished_turns(request) + 1
    if last_results(request):
        return say(f"Turn {turn}: all {len(steps)} steps are done.")
    tasks = [{"title": step, "state": "done", "evidence": f"turn {turn}"} for step in steps]
    return call("plan", {"tasks": tasks}, f"I worked, {len(listed) + 1}.")


def _is_last(request: Request, name: str) -> bool:
    made = calls_of(request)
    return bool(made) and made[-1].name == name


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "It is done.", evidence="what it said")


DECISIONS: dict[str, tuple[Part, Part]] = {
    "runs_approved": (_runs_approved, _says_complete),
    "long_call": (_long_call, _says_complete),
    "plans": (_plans, _says_complete),
}
