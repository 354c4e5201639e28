"""
Scripts about commands in the background; a part of `tests.peers.scripts`.

| Line | What the agent does, and what the audit says |
|---|---|
| `builds COMMAND` | starts COMMAND in the background, waits for it, polls it and says what it gave; complete |
"""

import re
from collections.abc import Callable

from adapters.rehearsal.script import (
    Answer,
    Request,
    call,
    calls_of,
    last_results,
    say,
    user_texts,
    verdict,
)

Part = Callable[[Request, list[str]], Answer]


def _builds(request: Request, arguments: list[str]) -> Answer:
    made = calls_of(request)
    names = [one.name for one in made]
    if "bash" not in names:
        command = " ".join(arguments).replace("_", " ")
        return call("bash", {"command": command, "background": True}, "I start it.")
    started = next(one for one in made if one.name == "bash")
    id = re.findall(r"bg-[0-9a-f]{8}", str(started.result))[0]
    if "wait_for" not in names:
        return call("wait_for", {"kind": "process", "ref": id, "reason": "it takes a while"})
    if not any("The wait is over" in text for text in user_texts(request)):
        return say("I wait for it.")
    if "poll" not in names:
        return call("poll", {"id": id})
    told = (
        "gone"
        if any("It is gone with the sandbox" in text for text in user_texts(request))
        else "it"
    )
    return say(f"I was told of {told}: {last_results(request)[-1].result}")


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "It has ended.", evidence="its output")


SANDBOX: dict[str, tuple[Part, Part]] = {"builds": (_builds, _says_complete)}
