"""
Scripts of goals that are put back and copied.

| Line | What the agent does, and what the audit says |
|---|---|
| `keeps N [SECONDS]` | N turns, each writing odd files and asking whether to go on; then complete. The first reply after a rewind, and in a copy, takes SECONDS |
"""

from collections.abc import Callable

from adapters.rehearsal.script import (
    Answer,
    Reply,
    Request,
    call,
    calls_of,
    last_results,
    say,
    tool_use,
    user_texts,
    verdict,
)

Part = Callable[[Request, list[str]], Answer]

WRITES = (
    "mkdir -p 'drafts/a b/empty' drafts/.git artifacts && echo turn-{n} >> drafts/log.txt && "
    "head -c 5000 /dev/urandom > 'drafts/a b/random-{n}' && ln -sfn log.txt drafts/newest && "
    "echo 'report {n}' > artifacts/report.md && echo ref-{n} > drafts/.git/HEAD && "
    "printf x > $'drafts/\\xff-{n}' && chmod 600 'drafts/a b/random-{n}' && rm -f drafts/once-* && "
    "touch drafts/once-{n} && echo scratch > cache/scratch"
)


def _keeps(request: Request, arguments: list[str]) -> Answer:
    turns, wait_s = (*arguments, "2", "0")[:2] if not arguments else (*arguments, "0")[:2]
    most, seconds = int(turns), float(wait_s)
    made = [use.name for use in calls_of(request)]
    n = made.count("bash")
    if last_results(request):
        if made[-1] == "bash":
            return call("ask_person", {"question": f"Go on after {n}?", "options": ["yes", "no"]})
        return say(f"I asked whether to go on after {n}.")
    if n >= most:
        return say(f"Turn {n} of {most}: all of it is written.")
    is_later = any("this point" in said or "a copy of" in said for said in user_texts(request)[-3:])
    use = tool_use("bash", {"command": WRITES.format(n=n + 1)})
    return Reply((use,), duration_s=seconds, deltas=4) if is_later and seconds else Reply((use,))


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "All of it is written.", evidence="the last reply")


POINTS: dict[str, tuple[Part, Part]] = {"keeps": (_keeps, _says_complete)}
