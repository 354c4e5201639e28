"""The demo's script: three log files, one true number, one decision. Pure, and stateless.

The words are written here beforehand; the numbers are not. They are read from what the real
tools printed in the conversation, so the report is right about whatever files it finds. The next
step is the first one whose trace is missing from the transcript, so a client that was killed goes
on at that step.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    role_of,
    say,
    tool_use,
    verdict,
    whole_text,
)

OBJECTIVE = (
    "Find out why our three log files disagree about the number of failed logins, write report.md "
    "with the true number, and ask me before you delete the noisy one."
)
OPTIONS = ("delete it", "keep it")
QUESTION = (
    "May I delete drafts/auth-3.log? It repeats what the other two hold and adds no event of its "
    "own."
)
REPORT = "artifacts/report.md"
ATTEMPTS = 3  # of one step, before the script says that it cannot do it

COUNT = r"""echo lines with a failure:
grep -c 'Failed password' drafts/auth-*.log
echo different events:
grep 'Failed password' drafts/auth-*.log | grep -oE '^[^:]+|id=[a-z0-9]+' | paste - - | sort -u | cut -f1 | uniq -c
echo known to auth-1 and auth-2:
grep -h 'Failed password' drafts/auth-[12].log | grep -oE 'id=[a-z0-9]+' | sort -u | wc -l
echo true-number:
grep -h 'Failed password' drafts/auth-*.log | grep -oE 'id=[a-z0-9]+' | sort -u | wc -l"""
DELETE = "rm -f drafts/auth-3.log && ls drafts"
CHECK = f"grep -n 'True number' {REPORT}"

_FIRST = "There are three logs, and each writes a login as one line with an `id`."
_COUNTED = "I counted every failed login once, by its id."
_ASKED = "I have asked whether the noisy log may go, and wait for the answer."
_TRUE = "The true number of failed logins is"
_STUCK = "I could not go on"
_TASKS = (
    "Look at the three logs",
    "Count every failed login once",
    "Ask before deleting the noisy log",
    "Write and check the report",
)
_LOOKED = "drafts/auth-1.log read"
_NOTED = "notes/counts.md"


@dataclass(frozen=True, slots=True)
class Counts:
    """What the counting command printed: (file, lines, different events), and the sums."""

    files: tuple[tuple[str, int, int], ...]
    only_noisy: int
    true: int


def script(request: Request, number: int, memory: Memory) -> Answer:
    """The demo's answer to one request."""
    match role_of(request):
        case "agent":
            return _agent(request)
        case "audit":
            return _audit(whole_text(request))
        case other:
            criteria = ["report.md holds the true number", "nothing is deleted unasked"]
            return Reply((tool_use(other, {"criteria": criteria, "text": "\n".join(criteria)}),))


def log_files() -> Mapping[str, str]:
    """The three logs by their path in the workspace.

    Thirty logins. The first forwarder sent some lines twice and stopped early; the second began
    late; the third repeats every failure and talks about its own health.
    """
    first: list[str] = []
    for place in range(1, 25):
        first += [_login(place)] * (3 if place % 4 == 2 else 1)
    second = [_login(place) for place in range(7, 31)]
    second += [
        _line(place, "sshd", "Connection closed by 203.0.113.7") for place in range(8, 30, 2)
    ]
    third: list[str] = []
    for place in range(1, 31):
        if _failed(place):
            third += [_login(place), _line(place, "relay", f"again: {_login(place)[21:]}")]
        if place % 6 == 0:
            third.append(_line(place, "relay", "queue ok, nothing to report"))
    files = {"auth-1": first, "auth-2": second, "auth-3": third}
    return {f"drafts/{name}.log": "\n".join(lines) + "\n" for name, lines in files.items()}


def counts_of(request: Request) -> Counts | None:
    """The numbers that the counting command printed in this conversation."""
    for made in reversed(calls_of(request)):
        if made.name == "bash" and "true-number:" in (made.result or ""):
            return _parsed(made.result or "")
    return None


def answer_of(request: Request) -> str | None:
    """The person's answer to the question, one of `OPTIONS`; None as long as there is none."""
    return answer_among(request, *OPTIONS, QUESTION)


def _agent(request: Request) -> Answer:
    made = calls_of(request)
    said = "\n".join(assistant_texts(request))
    counts = counts_of(request)
    for step in (_look, _count, _ask):
        answer = step(request, made, said, counts)
        if answer is not None:
            return answer
    if counts is None:
        return say(f"{_STUCK}: nothing that I ran printed the true number.")
    return _finish(request, made, said, counts)


def _look(request: Request, made: list[Call], said: str, counts: Counts | None) -> Answer | None:
    if not _done(made, "plan", _TASKS[0]):
        return call(
            "plan", {"tasks": _tasks()}, "I will look at the files before I count anything."
        )
    if not _done(made, "glob", "drafts/*.log"):
        return call("glob", {"pattern": "drafts/*.log"})
    if not _done(made, "read", "drafts/auth-1.log"):
        return call(
            "read", {"path": "drafts/auth-1.log"}, "One of them, to see how a line is built."
        )
    if _FIRST not in said:
        return say(
            f"{_FIRST} The first one already holds some ids more than once, so counting lines "
            "cannot be right. Next I count each id once, over all three."
        )
    return None


def _count(request: Request, made: list[Call], said: str, counts: Counts | None) -> Answer | None:
    if not _done(made, "plan", _LOOKED):
        return call("plan", {"tasks": _tasks(_LOOKED)})
    if not _done(made, "grep", "Failed password"):
        looked = {"pattern": "Failed password", "path": "drafts"}
        return call("grep", looked, "Every line that speaks of a failed login:")
    if counts is None:
        if _attempts(made, "bash", "true-number") >= ATTEMPTS:
            return say(f"{_STUCK}: the counting command printed no numbers.")
        return call("bash", {"command": COUNT, "timeout_s": 30}, "And each event once, by its id:")
    if not _done(made, "write", "notes/counts.md"):
        return call("write", {"path": "notes/counts.md", "content": _table(counts)})
    if not _done(made, "plan", _NOTED):
        return call("plan", {"tasks": _tasks(_LOOKED, _NOTED)})
    if _COUNTED not in said:
        most = max(lines for _, lines, _ in counts.files)
        return say(
            f"{_COUNTED} The logs show up to {most} lines, but only {counts.true} different "
            "events: lines were sent again, and none of the numbers can be taken from one file. "
            "The counts are in notes/counts.md. Next: the noisy log, and the report."
        )
    return None


def _ask(request: Request, made: list[Call], said: str, counts: Counts | None) -> Answer | None:
    if not _done(made, "ask_person", "auth-3"):
        asked = {"question": QUESTION, "options": list(OPTIONS)}
        return call("ask_person", asked, "Before anything is deleted, I ask.")
    answer = answer_of(request)
    if answer is None:
        return say(_ASKED)
    if answer == OPTIONS[0] and not (_done(made, "bash", DELETE) or _is_denied(made)):
        return call("bash", {"command": DELETE}, "You said that it may go.")
    return None


def _finish(request: Request, made: list[Call], said: str, counts: Counts) -> Answer:
    fate = _fate(made, answer_of(request))
    if not _done(made, "write", REPORT):
        return call("write", {"path": REPORT, "content": _report(counts, fate)})
    if not _done(made, "bash", CHECK):
        return call("bash", {"command": CHECK}, "A look at what the report really says:")
    seen = next((c.result or "" for c in reversed(made) if c.input.get("command") == CHECK), "")
    if str(counts.true) not in seen:
        return say(f"{_STUCK}: the report does not hold the number {counts.true}.")
    wrote = f"{REPORT}: {counts.true}"
    if not _done(made, "plan", wrote):
        return call("plan", {"tasks": _tasks(_LOOKED, _NOTED, fate, wrote)})
    if not _done(made, "finish_note", "failed logins"):
        return call("finish_note", {"text": f"{counts.true} failed logins; {REPORT} says why."})
    return say(
        f"{_TRUE} **{counts.true}**.\n\n{_table(counts)}\nThe first forwarder sent lines twice and "
        "stopped early, the second began late, the third repeats every failure. Only the ids tell "
        f"events apart. {fate} The report is in `{REPORT}`; `grep` finds the number in it."
    )


def _audit(words: str) -> Answer:
    told = re.search(rf"{_TRUE} \*\*(\d+)\*\*", words)
    if told:
        evidence = f"{REPORT} holds {told[1]}; grep found it there"
        return verdict(
            "complete", "Report written and checked; the person was asked.", evidence=evidence
        )
    if _STUCK in words:
        return verdict("blocked", "The counting could not be done with the tools at hand.")
    if _ASKED in words:
        person = {"kind": "question", "text": QUESTION}
        return verdict("needs_person", "Deleting needs the person's word.", person=person)
    if _COUNTED in words:
        return verdict("continue", "Counted; the question and the report are missing.")
    return verdict("continue", "Looked at the files; nothing is counted yet.")


def _done(made: list[Call], name: str, part: str) -> bool:
    """Whether a call of this tool with these words in its input has its result.

    A result that tells nothing but failure is tried again, `ATTEMPTS` times at most.
    """
    same = [c for c in made if c.name == name and part in json.dumps(c.input, ensure_ascii=False)]
    return is_done(same, ATTEMPTS)


def _attempts(made: list[Call], name: str, part: str) -> int:
    return sum(1 for c in made if c.name == name and part in json.dumps(c.input))


def _parsed(printed: str) -> Counts:
    lines = re.findall(r"^drafts/(auth-\d+)\.log:(\d+)$", printed, re.MULTILINE)
    events = {
        name: int(count)
        for count, name in re.findall(r"(\d+) drafts/(auth-\d+)\.log$", printed, re.MULTILINE)
    }
    known = re.search(r"auth-2:\n\s*(\d+)", printed)
    true = re.search(r"true-number:\n\s*(\d+)", printed)
    number = int(true[1]) if true else 0
    return Counts(
        tuple((name, int(count), events.get(name, 0)) for name, count in lines),
        number - int(known[1]) if known else 0,
        number,
    )


def _table(counts: Counts) -> str:
    rows = [f"| {name}.log | {lines} | {events} |" for name, lines, events in counts.files]
    head = ["| log | lines with a failure | different events |", "|---|---:|---:|"]
    return "\n".join([*head, *rows, f"| all together | | {counts.true} |"]) + "\n"


def _report(counts: Counts, fate: str) -> str:
    return (
        f"# Failed logins\n\nTrue number: {counts.true}\n\n{_table(counts)}\n"
        "Every login carries an `id`. Lines are not events: forwarders send lines again, and two "
        "of the logs do not cover the whole night. Counted once by id, over all logs, the number "
        f"above is left. Events that only auth-3.log knew: {counts.only_noisy}.\n\n{fate}\n"
    )


def _is_denied(made: list[Call]) -> bool:
    """Whether a person said no to the very call."""
    return any(c.input.get("command") == DELETE and "Not run" in (c.result or "") for c in made)


def _fate(made: list[Call], answer: str | None) -> str:
    if answer != OPTIONS[0] or _is_denied(made):
        return "drafts/auth-3.log was kept, as you said."
    removed = [c for c in made if c.input.get("command") == DELETE]
    if removed and removed[-1].result is not None and not removed[-1].is_error:
        return "drafts/auth-3.log was deleted, as you said."
    return "drafts/auth-3.log could not be deleted and is still there."


def _tasks(*evidence: str) -> list[Block]:
    """The list with as many tasks done as there is evidence, and the next one under way."""
    done = [
        {"title": title, "state": "done", "evidence": proof}
        for title, proof in zip(_TASKS, evidence, strict=False)
    ]
    left = [{"title": title, "state": "open"} for title in _TASKS[len(done) :]]
    if left:
        left[0]["state"] = "doing"
    return [*done, *left]


def _failed(place: int) -> bool:
    return place % 10 not in (3, 5, 8)


def _login(place: int) -> str:
    port, id = 40_000 + 37 * place, f"a{place:03d}"
    if not _failed(place):
        return _line(
            place, "sshd", f"Accepted publickey for deploy from 10.0.0.4 port {port} id={id}"
        )
    user = ("root", "admin", "postgres")[place % 3]
    words = f"Failed password for {user} from 203.0.113.{place % 9} port {port} id={id}"
    return _line(place, "sshd", words)


def _line(place: int, program: str, words: str) -> str:
    minute, second = divmod(place * 53, 60)
    return f"2026-11-03T02:{minute:02d}:{second:02d}Z gate {program}: {words}"
