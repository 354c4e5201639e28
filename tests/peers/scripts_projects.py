"""
Scripts about checks and repositories; a part of `tests.peers.scripts`.

| Line | What the agent does, and what the audit says |
|---|---|
| `claims` | says in each turn that it is done; complete each time |
| `runs COMMAND` | runs the command in each turn and says what it printed; complete each time |
| `mends PATH` | claims to be done, writes PATH once it is told that a check fails; complete each time |
"""

import re
from collections.abc import Callable

from adapters.rehearsal.script import (
    Answer,
    Request,
    call,
    finished_turns,
    last_results,
    say,
    user_texts,
    verdict,
)

Part = Callable[[Request, list[str]], Answer]

FAILS = re.compile(r"\[Automatic\] (?:One check|\d+ checks) of this goal fail")


def _claims(request: Request, arguments: list[str]) -> Answer:
    turn = finished_turns(request) + 1
    if last_results(request):
        return say(f"Turn {turn}: I looked, and it is all done.")
    return call("glob", {"pattern": f"looks-{turn}-*"})


def _mends(request: Request, arguments: list[str]) -> Answer:
    turn, path = finished_turns(request) + 1, arguments[0] if arguments else "drafts/done.txt"
    told = "\n".join(user_texts(request))
    if last_results(request):
        heard = re.findall(r"\bmark-[a-z-]+", told)
        return say(f"Turn {turn}: done. I was told {heard[-1] if heard else 'nothing'}.")
    if not FAILS.search(told):
        return call("glob", {"pattern": "**/*"})
    return call("write", {"path": path, "content": "mended\n"}, "A check fails: I mend it.")


def _runs(request: Request, arguments: list[str]) -> Answer:
    if last_results(request):
        return say(f"Turn {finished_turns(request) + 1}: {last_results(request)[-1].result}")
    return call("bash", {"command": " ".join(arguments)})


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "It says that it is done.", evidence="its reply")


PROJECTS: dict[str, tuple[Part, Part]] = {
    "claims": (_claims, _says_complete),
    "runs": (_runs, _says_complete),
    "mends": (_mends, _says_complete),
}
