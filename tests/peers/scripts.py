"""Scripts for journeys: what a goal's model does is named in its objective.

An objective that holds a line `!script NAME [ARGUMENTS..]` is played by the script NAME below, so
one server serves many kinds of goals at once. All are stateless: where a conversation stands is
read from its transcript, so a killed client goes on where it was.

| Line | What the agent does, and what the audit says |
|---|---|
| `complete_after N [TOOL [PATH]]` | N turns, each one reading call (glob; `read PATH`) and a reply; then complete |
| `blocked` | reads, then says it is stuck; the audit says blocked each time |
| `stalls` | the same reply each turn, no tool; continue |
| `idles` | another reply each turn, no tool; continue |
| `asks [WORDS..]` | asks a person, acts on the answer; complete |
| `asks_slowly SECONDS` | as asks, each reply over SECONDS |
| `gathers question|sign_off` | as asks_by_audit; then it names every `steer-N` heard |
| `asks_by_audit question|sign_off` | a reply that the audit answers with needs_person, until a person spoke |
| `waits SECONDS [KIND REF]` | asks for a wait, then finishes; complete |
| `waits_by_audit SECONDS` | the audit parks it once; then complete |
| `spends TOKENS [N]` | every reply reports TOKENS of input; complete after N turns, or never |
| `slow SECONDS [N]` | as complete_after N (2), each reply spread over SECONDS |
| `fills TOKENS` | looks, with TOKENS of input reported, until there is a summary; complete |
| `slow_audit SECONDS [N]` | as complete_after N (1), each audit spread over SECONDS |
| `sleeps SECONDS` | runs a command that takes SECONDS, then a reply; complete |
| `reports SECONDS` | a look and a reply, each over SECONDS; it names every `steer-N` heard; complete |
| `bench N [PATH]` | as complete_after, reading PATH, with texts long enough for 200 deltas; complete |
| `echo` | says the last thing that a person said; complete |
| `quotes MARK` | plans, writes, runs, asks with MARK in all of it, then repeats all that was said; complete |
| `writes N` | N turns, each writing another file; complete |
| `returns` | copies the file that a person gave, and shares the copy; complete |
| `appends N PATH` | N turns, each appending a line to PATH with bash; complete |
| `many N` | N calls in one reply, then a reply; complete |
| `thinks` | signed thinking before a call and a reply; complete |
| `pauses` | pause_turn once, then a reply; complete |
| `cut` | a call cut by max_tokens, then a reply; complete |
| `refuses` | a refusal |
| `overflows` | model_context_window_exceeded |
| `compacts N` | the last content is a compaction, N times in a row; then complete |
| `audit_fails KIND` | one turn after another; the audit refuses, is unreadable, or faults with a status |
| `audit_fails_once KIND` | as complete_after 2; the audit of the first turn fails so |
| `invalid` | the endpoint refuses the request as invalid |
| `narrows` | claims the goal is done without doing it; continue, then blocked |

Without such a line the script is `complete_after 1`.
"""

import datetime
import re
from collections.abc import Callable
from typing import Any

from adapters.rehearsal.answers import answer_among
from adapters.rehearsal.script import (
    Answer,
    Fault,
    Memory,
    Reply,
    Request,
    assistant_messages,
    assistant_texts,
    call,
    calls_of,
    compaction,
    finished_turns,
    last_results,
    refusal,
    role_of,
    say,
    server_tool_use,
    text,
    thinking,
    tool_use,
    user_texts,
    verdict,
    whole_text,
)
from tests.peers.scripts_decisions import DECISIONS
from tests.peers.scripts_points import POINTS
from tests.peers.scripts_projects import PROJECTS
from tests.peers.scripts_reach import REACH
from tests.peers.scripts_sandbox import SANDBOX

_DIRECTIVE = re.compile(r"!script +([a-z_]+)((?: +[^\s<\"]+)*)")

_LONG = "The file says what it says, and this is what follows from it. " * 12

Part = Callable[[Request, list[str]], Answer]


def by_objective(request: Request, number: int, memory: Memory) -> Answer:
    """The answer of the script that the objective names."""
    name, arguments = directive(request)
    agent, audit = _SCRIPTS[name]
    match role_of(request):
        case "agent":
            return agent(request, arguments)
        case "audit":
            return audit(request, arguments)
        case other:
            return Reply((tool_use(other, {"criteria": ["It is done."], "text": "It is done."}),))


def directive(request: Request) -> tuple[str, list[str]]:
    """The script's name and arguments, from the first line that names one."""
    found = _DIRECTIVE.search(whole_text(request))
    if found is None or found[1] not in _SCRIPTS:
        return "complete_after", ["1"]
    return found[1], found[2].split()


def demo(request: Request, number: int, memory: Memory) -> Answer:
    """Two turns and done, whatever is asked."""
    return _complete_after(request, ["2"]) if role_of(request) == "agent" else _counted(request, [])


def _turn(request: Request) -> int:
    return finished_turns(request) + 1


def _answering_results(request: Request) -> bool:
    return bool(last_results(request))


def _complete_after(request: Request, arguments: list[str]) -> Answer:
    count, *tool = arguments or ["1"]
    turn = _turn(request)
    if _answering_results(request):
        return say(f"Turn {turn} of {count}: I looked, and this is what there is.")
    if tool[:1] == ["read"]:
        path = tool[1] if len(tool) > 1 else "drafts/input.txt"
        return call("read", {"path": path}, f"Reading for turn {turn}.")
    return call("glob", {"pattern": "**/*"}, f"Looking around for turn {turn}.")


def _counted(request: Request, arguments: list[str]) -> Answer:
    found = re.findall(r"Turn (\d+) of (\d+)", whole_text(request))
    turn, count = found[-1] if found else ("0", "1")
    if int(turn) >= int(count):
        return verdict("complete", f"Turn {turn} of {count} is done.", evidence=f"turn {turn}")
    return verdict("continue", f"Turn {turn} of {count}; go on.")


def _blocked(request: Request, arguments: list[str]) -> Answer:
    turn = _turn(request)
    if _answering_results(request):
        return say(f"I am stuck, attempt {turn}: the access that I need is missing.")
    return call("glob", {"pattern": f"missing-{turn}-*"})


def _stalls(request: Request, arguments: list[str]) -> Answer:
    return say("I am still thinking about it.")


def _idles(request: Request, arguments: list[str]) -> Answer:
    return say(f"I have thought about it {_turn(request)} times.")


def _asks(request: Request, arguments: list[str]) -> Answer:
    asked = [made for made in calls_of(request) if made.name == "ask_person"]
    question = " ".join(arguments) or "May I go on?"
    if not asked:
        return call("ask_person", {"question": question, "options": ["yes", "no"]})
    answer = answer_among(request, "yes", "no", question)
    if answer is None:
        return say("I asked, and wait for the answer.")
    return say(f"Turn 1 of 1: the answer was {answer}.")


def _asks_slowly(request: Request, arguments: list[str]) -> Answer:
    answer = _asks(request, [])
    assert isinstance(answer, Reply)
    return Reply(answer.content, duration_s=float(arguments[0] if arguments else "1"), deltas=10)


def _asks_by_audit(request: Request, arguments: list[str]) -> Answer:
    if _answering_results(request):
        return say(f"Turn {_turn(request)} of 9: here is what I would do.")
    return call("glob", {"pattern": "**/*"})


def _gathers(request: Request, arguments: list[str]) -> Answer:
    heard = re.findall(r"\bsteer-\d+\b", "\n".join(user_texts(request)))
    if _answering_results(request) or heard:
        return say(f"Turn {_turn(request)} of 9: heard {' '.join(heard) or 'nothing'}.")
    return call("glob", {"pattern": "**/*"})


def _needs_person(request: Request, arguments: list[str]) -> Answer:
    kind = arguments[0] if arguments else "question"
    found = re.findall(r"Turn (\d+) of 9", whole_text(request))
    if found and int(found[-1]) > 1:
        return verdict("complete", "The person agreed.", evidence="the answer")
    person = {"kind": kind, "text": "Shall I go on like this?"}
    return verdict("needs_person", "A person must say.", person=person)


def _waits(request: Request, arguments: list[str]) -> Answer:
    seconds, *rest = arguments or ["1"]
    kind, ref = (rest + ["time", "timer"][len(rest) :])[:2]
    if any(made.name == "wait_for" for made in calls_of(request)):
        waited = any(words.startswith("I wait") for words in assistant_texts(request))
        if _answering_results(request) and not waited:
            return say("I wait for it.")
        return say("Turn 1 of 1: the wait is over.")
    wait = {"kind": kind, "ref": ref, "until": _in(float(seconds)), "reason": "it takes a while"}
    return call("wait_for", wait)


def _audits_wait(request: Request, arguments: list[str]) -> Answer:
    found = re.findall(r"Turn (\d+) of 9", whole_text(request))
    if found and int(found[-1]) > 1:
        return verdict("complete", "The wait is over.", evidence="the clock")
    until = _in(float(arguments[0] if arguments else "1"))
    return verdict("wait", "It takes a while.", wait={"kind": "time", "ref": "", "until": until})


def _in(seconds: float) -> str:
    due = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return due.isoformat(timespec="milliseconds")


def _spends(request: Request, arguments: list[str]) -> Answer:
    usage = {"input_tokens": int(arguments[0] if arguments else "50000")}
    if _answering_results(request):
        return say(f"Spent some more in turn {_turn(request)}.", usage=usage)
    return call("glob", {"pattern": "**/*"}, usage=usage)


def _spent(request: Request, arguments: list[str]) -> Answer:
    found = re.findall(r"in turn (\d+)\.", whole_text(request))
    if len(arguments) > 1 and found and int(found[-1]) >= int(arguments[1]):
        return verdict("complete", "It is all spent.", evidence=f"turn {found[-1]}")
    return verdict("continue", "It is not done yet.")


def _slow(request: Request, arguments: list[str]) -> Answer:
    seconds, count = (arguments + ["1", "2"][len(arguments) :])[:2]
    answer = _complete_after(request, [count])
    assert isinstance(answer, Reply)
    return Reply(answer.content, duration_s=float(seconds), deltas=20)


def _fills(request: Request, arguments: list[str]) -> Answer:
    if "Summary of the conversation so far" in "\n".join(user_texts(request)):
        return say("Turn 1 of 1: went on after the summary.")
    usage = {"input_tokens": int(arguments[0] if arguments else "25000")}
    return call("glob", {"pattern": f"{assistant_messages(request)}-*"}, usage=usage)


def _slow_audit(request: Request, arguments: list[str]) -> Answer:
    return _complete_after(request, arguments[1:] or ["1"])


def _counted_slowly(request: Request, arguments: list[str]) -> Answer:
    answer = _counted(request, [])
    assert isinstance(answer, Reply)
    return Reply(answer.content, duration_s=float(arguments[0] if arguments else "1"), deltas=10)


def _sleeps(request: Request, arguments: list[str]) -> Answer:
    if _answering_results(request):
        return say("Turn 1 of 1: slept, and woke up.")
    return call("bash", {"command": f"sleep {arguments[0] if arguments else '1'}"})


def _reports(request: Request, arguments: list[str]) -> Answer:
    pace: dict[str, Any] = {"duration_s": float(arguments[0] if arguments else "1")}
    heard = re.findall(r"\bsteer-\d+\b", "\n".join(user_texts(request)))
    if _answering_results(request) or heard:
        return say(f"Turn {_turn(request)} of 1: heard {' '.join(heard) or 'nothing'}.", **pace)
    return call("glob", {"pattern": "**/*"}, **pace)


def _bench(request: Request, arguments: list[str]) -> Answer:
    count, path = (arguments + ["1", "drafts/input.txt"][len(arguments) :])[:2]
    if _answering_results(request):
        return say(f"Turn {_turn(request)} of {count}: {_LONG}")
    return call("read", {"path": path}, _LONG)


def _echo(request: Request, arguments: list[str]) -> Answer:
    said = [words for words in user_texts(request) if words.strip()]
    return say(f"Turn 1 of 1: you said: {said[-1] if said else 'nothing'}")


def _quotes(request: Request, arguments: list[str]) -> Answer:
    mark = arguments[0] if arguments else "mark"
    made = [use.name for use in calls_of(request)]
    if "plan" not in made:
        return call("plan", {"tasks": [{"title": f"find {mark}", "state": "doing"}]}, f"On {mark}.")
    if "write" not in made:
        return call("write", {"path": f"drafts/{mark}.txt", "content": f"about {mark}\n"})
    if "bash" not in made:
        path = f"drafts/in-{mark}"
        command = f"mkdir -p {path}; base64 drafts/*.txt > {path}/coded; ln -s {mark} notes/l; echo {mark}"
        return call("bash", {"command": command})
    if "ask_person" not in made:
        return call("ask_person", {"question": f"Is {mark} right?"})
    said = " ".join(words for words in user_texts(request) if mark in words)
    return say(f"Turn 1 of 1: {said}") if _answered(request) else say(f"I asked about {mark}.")


def _answered(request: Request) -> bool:
    return "to question" in "\n".join(user_texts(request))


def _writes(request: Request, arguments: list[str]) -> Answer:
    count, turn = arguments[0] if arguments else "3", _turn(request)
    if _answering_results(request):
        return say(f"Turn {turn} of {count}: wrote part {turn}.")
    return call("write", {"path": f"drafts/part-{turn}.txt", "content": f"part {turn}\n"})


def _returns(request: Request, arguments: list[str]) -> Answer:
    given = re.findall(r"\[file: (inbox/[^,\n]+),", "\n".join(user_texts(request)))
    made = [use.name for use in calls_of(request)]
    if not given:
        return say("Turn 1 of 1: no file was given.")
    if "bash" not in made:
        return call("bash", {"command": f"cp '{given[-1]}' artifacts/"})
    if "share_file" not in made:
        copy = given[-1].rpartition("/")[2]
        return call("share_file", {"path": f"artifacts/{copy}", "caption": "Here it is."})
    return say("Turn 1 of 1: copied it, and gave it back.")


def _appends(request: Request, arguments: list[str]) -> Answer:
    count, path = (arguments + ["3", "drafts/effects.log"][len(arguments) :])[:2]
    turn = _turn(request)
    if _answering_results(request):
        return say(f"Turn {turn} of {count}: appended line {turn}.")
    return call("bash", {"command": f"echo line-{turn} >> {path}"})


def _many(request: Request, arguments: list[str]) -> Answer:
    count = int(arguments[0] if arguments else "3")
    if _answering_results(request):
        return say(f"Turn 1 of 1: {count} looks.")
    return Reply(tuple(tool_use("glob", {"pattern": f"{place}-*"}) for place in range(count)))


def _thinks(request: Request, arguments: list[str]) -> Answer:
    if _answering_results(request):
        return Reply((thinking("That is all there is."), text("Turn 1 of 1: thought, and looked.")))
    return Reply((thinking("I should look first."), tool_use("glob", {"pattern": "**/*"})))


def _pauses(request: Request, arguments: list[str]) -> Answer:
    if assistant_messages(request):
        return say("Turn 1 of 1: searched, and found it.")
    searching = server_tool_use("web_search", {"query": "headway"})
    return Reply((text("Searching."), searching), stop_reason="pause_turn")


def _cut(request: Request, arguments: list[str]) -> Answer:
    if assistant_messages(request):
        return say("Turn 1 of 1: shorter this time.")
    long = tool_use("write", {"path": "drafts/long.txt", "content": "a long text " * 40})
    return Reply((text("Writing a long text."), long), stop_reason="max_tokens")


def _refuses(request: Request, arguments: list[str]) -> Answer:
    return refusal("cyber", "This request was declined.")


def _overflows(request: Request, arguments: list[str]) -> Answer:
    return say("I ran out of con", stop_reason="model_context_window_exceeded")


def _compacts(request: Request, arguments: list[str]) -> Answer:
    times = int(arguments[0] if arguments else "1")
    if assistant_messages(request) >= times:
        return say("Turn 1 of 1: went on after the compaction.")
    return Reply((compaction("What happened so far, in short."),), stop_reason="compaction")


def _audit_fails(request: Request, arguments: list[str]) -> Answer:
    kind = arguments[0] if arguments else "refusal"
    match kind:
        case "refusal":
            return refusal()
        case "unreadable":
            return Reply((tool_use("verdict", {"verdict": "perhaps"}),))
        case "silent":
            return say("I would rather not say.")
        case "hangs":
            return Fault("hang")
        case _:
            return Fault(status=int(kind))


def _fails_first_audit(request: Request, arguments: list[str]) -> Answer:
    if re.search(r"Turn 1 of 2", whole_text(request)):
        return _audit_fails(request, arguments)
    return _counted(request, [])


def _two_turns(request: Request, arguments: list[str]) -> Answer:
    return _complete_after(request, ["2"])


def _invalid(request: Request, arguments: list[str]) -> Answer:
    return Fault(status=400)


def _narrows(request: Request, arguments: list[str]) -> Answer:
    return say(f"Everything that was asked for is done (claim {_turn(request)}).")


def _continues(request: Request, arguments: list[str]) -> Answer:
    return verdict("continue", "It is not done yet.")


def _says_blocked(request: Request, arguments: list[str]) -> Answer:
    return verdict("blocked", "The access that it needs is missing.")


_SCRIPTS: dict[str, tuple[Part, Part]] = {
    "complete_after": (_complete_after, _counted),
    "blocked": (_blocked, _says_blocked),
    "stalls": (_stalls, _continues),
    "idles": (_idles, _continues),
    "asks": (_asks, _counted),
    "asks_slowly": (_asks_slowly, _counted),
    "gathers": (_gathers, _needs_person),
    "asks_by_audit": (_asks_by_audit, _needs_person),
    "waits": (_waits, _counted),
    "waits_by_audit": (_asks_by_audit, _audits_wait),
    "spends": (_spends, _spent),
    "fills": (_fills, _counted),
    "slow": (_slow, _counted),
    "slow_audit": (_slow_audit, _counted_slowly),
    "sleeps": (_sleeps, _counted),
    "reports": (_reports, _counted),
    "bench": (_bench, _counted),
    "echo": (_echo, _counted),
    "quotes": (_quotes, _counted),
    "writes": (_writes, _counted),
    "returns": (_returns, _counted),
    "appends": (_appends, _counted),
    "many": (_many, _counted),
    "thinks": (_thinks, _counted),
    "pauses": (_pauses, _counted),
    "cut": (_cut, _counted),
    "refuses": (_refuses, _counted),
    "overflows": (_overflows, _counted),
    "compacts": (_compacts, _counted),
    "audit_fails": (_idles, _audit_fails),
    "audit_fails_once": (_two_turns, _fails_first_audit),
    "invalid": (_invalid, _counted),
    "narrows": (_narrows, _continues),
    **POINTS,
    **DECISIONS,
    **PROJECTS,
    **REACH,
    **SANDBOX,
}
