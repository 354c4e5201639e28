"""
Scripts about checks and repositories; a part of `tests.peers.scripts`.

| Line | What the agent does, and what the audit says |
|---|---|
| `claims` | says in each turn that it is done; complete each time |
| `runs COMMAND` | runs the command in each turn and says what it printed; complete each time |
| `pushes [COMMANDS..]` | fetches, runs the commands (base64), mends app.py of the checkout once its check fails, and pushes it; complete each time |
| `reviews` | changes app.py of the checkout, asks for a review, says what came of it; complete each time |
| `mends PATH` | claims to be done, writes PATH once it is told that a check fails; complete each time |
"""

import base64
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


def _made(request: Request, name: str) -> list[Call]:
    return [made for made in calls_of(request) if made.name == name]


def _pushes(request: Request, arguments: list[str]) -> Answer:
    """Fetches and claims to be done; told that the check fails, it mends, commits and pushes.

    `arguments`: commands that it runs before it mends, each in base64.
    """
    turn, told = finished_turns(request) + 1, "\n".join(user_texts(request))
    if not _made(request, "git_fetch"):
        return call("git_fetch", {})
    if not FAILS.search(told):
        return say(f"Turn {turn}: I looked at it, and it is fine.")
    ran, pushed = _made(request, "bash"), _made(request, "git_push")
    commands = [*(base64.urlsafe_b64decode(one).decode() for one in arguments), MENDS]
    if len(ran) < len(commands):
        return call("bash", {"command": commands[len(ran)]})
    commits = re.findall(r"^commit ([0-9a-f]{40})$", str(ran[-1].result), re.MULTILINE)
    if not commits:
        return say(f"Turn {turn}: no commit: {ran[-1].result}")
    if not pushed:
        return call("git_push", {"commit": commits[-1]})
    return say(f"Turn {turn}: {pushed[-1].result}")


def _reviews(request: Request, arguments: list[str]) -> Answer:
    """Changes the checkout, has somebody look at it, and says what came of it."""
    turn, told = finished_turns(request) + 1, "\n".join(user_texts(request))
    steps: tuple[tuple[str, dict[str, str]], ...] = (
        ("git_fetch", {}),
        ("bash", {"command": "echo 'def two(): return 2' > checkouts/app/app.py"}),
        ("review", {"summary": "two() is 2 now"}),
    )
    for name, args in steps:
        if not _made(request, name):
            return call(name, args)
    came = re.findall(r"What came of it:\n(.*)", told)
    if not came:
        return say(f"Turn {turn}: I asked: {_made(request, 'review')[-1].result}")
    if len(_made(request, "bash")) == 1:
        return call(
            "bash", {"command": "git -C checkouts/app status -sb && cat checkouts/app/app.py"}
        )
    return say(f"Turn {turn}: {came[-1]}\n{_made(request, 'bash')[-1].result}")


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "It says that it is done.", evidence="its reply")


MENDS = (
    "(cd checkouts/app && sed -i 's/return 3/return 2/' app.py && git commit -qam 'two() is 2' && "
    "git rev-parse HEAD | sed 's/^/commit /'); cd checkouts/app; "
    # Whatever could hold a credential.
    "{ env; git config --list; cat .git/config; ls -la ~ /run; cat /proc/*/environ /proc/*/cmdline; "
    "grep -rh of-the-git . ~ /tmp /run; } > ../../notes/all-that-can-be-seen 2>/dev/null; cd ../.."
)


PROJECTS: dict[str, tuple[Part, Part]] = {
    "claims": (_claims, _says_complete),
    "runs": (_runs, _says_complete),
    "pushes": (_pushes, _says_complete),
    "reviews": (_reviews, _says_complete),
    "mends": (_mends, _says_complete),
}
