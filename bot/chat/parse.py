"""
What a message says, from its text alone.

Rule 1: pure and total: any text gives a `Said`, or a `BadInput` that names the mend.
Rule 2: `//` in front means that it is not for the bot.
Rule 3: with the command's name in front (`/goal`, `!goal`) everything is for the bot: a verb in
        its own syntax, else an objective. Without it, in a goal's own thread, a verb in its own
        syntax is a command and all else is said to the goal; elsewhere it is talk, unless nobody
        else reads there.
Rule 4: an objective in quotes is an objective, whatever its first word.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bot.chat.amounts import Amount, read_amount
from bot.chat.gate_words import read_gate
from bot.chat.hold_words import read_hold
from bot.chat.mcp_words import is_about_mcp
from bot.chat.no_goals import refuse_no_goal
from bot.chat.people_words import read_entry, read_subject
from bot.chat.permission_words import read_permissions, read_profile
from bot.chat.point_words import read_copy, read_point
from bot.chat.repo_words import is_about_repositories
from bot.chat.room_words import is_like_a_key, read_setting
from bot.chat.secret_words import read_secret
from bot.chat.texts import Texts
from bot.chat.verbs import START, VERBS, Takes, Verb
from bot.errors import BadInput
from bot.goals.limits import OBJECTIVE_MOST_BYTES
from bot.ports.attached import without_lines
from bot.ports.chat import Place
from bot.ports.room_settings import Mention

COMMAND: Final = "goal"
"""The command's name; `/goal` and `!goal` mean the same."""

NAME: Final = "headway"
"""How the bot is mentioned where a network has no mentions of its own: `@headway`."""

ALWAYS: Final = frozenset({"stop", "pause"})
"""Words that are commands wherever they stand alone."""
_MENTION: Final = re.compile(rf"@{NAME}\b[:,]?", re.IGNORECASE)
_NAMING: Final = frozenset({Takes.PERSON, Takes.ENTRY})
_NOWHERE: Final = Place("console", "", "")
NEAR: Final = 0.75
_GOAL: Final = re.compile(r"[gG]([0-9]{1,9})")
_QUOTES: Final = (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»"), ("„", "“"))
_SCOPES: Final = frozenset({"", "today", "week", "room", "mine", "model"})
_READERS: Final[Mapping[Takes, Callable[[str], object]]] = {
    Takes.HOLD: lambda text: read_hold(text, _NOWHERE),
    Takes.SECRET: read_secret,
    Takes.PERMISSION: read_permissions,
    Takes.POINT: read_point,
    Takes.COPY: read_copy,
    Takes.GATE: read_gate,
    Takes.PROFILE: read_profile,
}
"""What gives None for words that are no such command."""
_AND_RESUME: Final = re.compile(r"(.*\S)\s+and\s+resume", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Talk:
    """Not for the bot, or nothing that it should act on."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """Nothing but a greeting, a thanks or the command's bare name: one helpful line."""

    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A verb with what followed it. An objective is the verb `""`."""

    verb: Verb
    goal: int | None = None
    """The number of the goal that it names."""
    text: str = ""
    amount: Amount | None = None
    is_confirmed: bool = False
    is_bare: bool = False
    """Typed without the command's name, in a goal's own thread."""


@dataclass(frozen=True, slots=True)
class Speech:
    """Said to the goal of the thread."""

    text: str


Said = Talk | Greeting | Command | Speech


def parse(
    text: str,
    texts: Texts,
    *,
    in_thread: bool,
    mention: Mention = "goal",
    is_direct: bool = False,
    is_shared: bool = False,
) -> Said:
    """What `text` says.

    Args:
        in_thread: it stands in a thread that a goal opened.
        mention: the room's rule.
        is_direct: nobody else reads there, so all of it is for the bot.
        is_shared: people talk among themselves there, and greet and thank each other.

    Raises:
        BadInput: it is for the bot and cannot be taken as it is.
    """
    stripped = text.strip()
    if stripped.startswith("//"):
        return Talk()
    called = _after_mention(stripped)
    if called is not None:
        _check(text, texts)
        return _mentioned(called, texts, in_thread=in_thread, mention=mention)
    rest = _after_name(stripped)
    if rest is None and in_thread and mention == "always" and stripped.lower() not in ALWAYS:
        return Talk()
    if rest is None and not in_thread and is_direct and stripped and mention != "always":
        _check(text, texts)
        return _mentioned(stripped, texts, in_thread=False, mention=mention)
    if rest is None and not in_thread:
        is_for_us = not is_shared and _is_greeting(stripped, texts)
        return Greeting() if is_for_us else Talk()
    _check(text, texts)
    if rest is not None:
        return _commanded(rest, texts)
    command = _command(stripped, texts)
    if command is None or _is_rather_speech(command):
        return Speech(stripped) if stripped else Talk()
    return replace(command, is_bare=True)


def wanted(text: str, texts: Texts) -> str:
    """What a message wants that somebody makes a goal of, however it was said.

    Raises:
        BadInput: nobody could tell when that is done, or it is no objective.
    """
    rest = text.strip()
    for after in (_after_mention(rest), _after_name(rest)):
        rest = rest if after is None else after
    _check(rest, texts)
    found = objective(rest, texts)
    refuse_no_goal(found, texts)
    return found


def is_command(text: str) -> bool:
    """Whether it begins with the command's name."""
    return _after_name(text.strip()) is not None


def is_about_somebody(text: str, texts: Texts) -> bool:
    """Whether it is a whole command that names a person, such as `owner @ben`."""
    command = _command(text.strip(), texts)
    return command is not None and command.text != "" and command.verb.takes in _NAMING


def is_called(text: str) -> bool:
    """Whether it begins with the command's name or the bot's."""
    return is_command(text) or _after_mention(text.strip()) is not None


def after_calls(text: str) -> str:
    """The end of a text that stands behind the command's and the bot's names, however often they are said."""
    return _called_once(text.strip())


def opens_thread(text: str, texts: Texts) -> bool:
    """True where `text`, said in a room, opens a thread of its own."""
    try:
        said = parse(text, texts, in_thread=False)
    except BadInput:
        return False
    return isinstance(said, Command) and said.verb.name in ("", "plan", "ask")


def _after_name(text: str) -> str | None:
    """What follows `/goal` or `!goal`, or None where the text does not begin so."""
    head, _, rest = text.partition(" ") if " " in text.split("\n", 1)[0] else text.partition("\n")
    if head.lower() in {f"/{COMMAND}", f"!{COMMAND}"}:
        return rest.strip()
    return None


def _after_mention(text: str) -> str | None:
    """What follows `@headway` at the beginning, or None where the text does not begin so."""
    match = _MENTION.match(text)
    return text[match.end() :].strip() if match else None


def _called_once(rest: str) -> str:
    """What is said where the bot is called again before anything is: by habit, or by a pasted line."""
    while (inner := _after_name(rest)) is not None or (inner := _after_mention(rest)) is not None:
        rest = inner
    return rest


def _mentioned(rest: str, texts: Texts, *, in_thread: bool, mention: Mention) -> Said:
    rest = _called_once(rest)
    if in_thread:
        said = _command(rest, texts)
        if said is None or _is_rather_speech(said):
            return Speech(rest) if rest else Greeting()
        return said
    if mention != "ask" or not rest or _is_greeting(rest, texts):
        return _commanded(rest, texts) if rest else Greeting()
    return _command(rest, texts) or Command(VERBS["ask"], text=objective(rest, texts))


def _commanded(rest: str, texts: Texts) -> Said:
    rest = _called_once(rest)
    if not rest:
        return Greeting(is_bare=True)
    command = _command(rest, texts)
    if command is not None:
        return command
    if _is_greeting(rest, texts):
        return Greeting()
    wanted = objective(rest, texts)
    if lone := VERBS.get(rest.lower()):
        raise BadInput(texts("bad.lone", verb=lone.name, syntax=lone.syntax))
    if meant := _misspelt(wanted):
        raise BadInput(texts("bad.misspelt", text=wanted, meant=meant))
    refuse_no_goal(wanted, texts)
    return Command(START, text=wanted)


def _misspelt(wanted: str) -> str:
    """The command that is likely meant by a word that is none, alone or with a goal behind it."""
    word, *goals = wanted.split()
    if word.lower() in VERBS or len(goals) > 1 or not all(_GOAL.fullmatch(goal) for goal in goals):
        return ""
    near = difflib.get_close_matches(word.lower(), filter(None, VERBS), 1, NEAR)
    return " ".join([*near, *goals]) if near else ""


def _command(text: str, texts: Texts) -> Command | None:
    word, _, after = _split_word(text)
    verb = VERBS.get(word.lower().removesuffix(":"))
    return None if verb is None else _fitting(verb, after.strip(), texts)


def _split_word(text: str) -> tuple[str, str, str]:
    match = re.match(r"(\S+)(\s*)(.*)", text, re.DOTALL)
    return (match[1], match[2], match[3]) if match else ("", "", "")


def _fitting(verb: Verb, after: str, texts: Texts) -> Command | None:
    """The command, when what follows the verb fits its syntax; else None."""
    match verb.takes:
        case Takes.NOTHING:
            return None if after else Command(verb)
        case Takes.GOAL:
            goal, rest = _goal(after)
            return None if rest else Command(verb, goal)
        case Takes.CONFIRMATION | Takes.RESUMPTION:
            goal, rest = _goal(after)
            sure = "yes" if verb.takes is Takes.CONFIRMATION else "anyway"
            is_fit = rest.lower() in {"", sure}
            return Command(verb, goal, is_confirmed=bool(rest)) if is_fit else None
        case Takes.SCOPE:
            scope = after.lower()
            return Command(verb, text=scope) if scope in {"", "mine", "room"} else None
        case Takes.SPENT:
            return _spent(verb, after)
        case Takes.HOLD | Takes.SECRET | Takes.PERMISSION:
            return None if _READERS[verb.takes](after) is None else Command(verb, text=after)
        case Takes.VERB | Takes.WORD:
            return None if len(after.split()) > 1 else Command(verb, text=after.lower())
        case Takes.TEXT:
            return _with_text(verb, None, after, texts)
        case Takes.GOAL_AND_TEXT:
            goal, rest = _goal(after)
            return _with_text(verb, goal, rest, texts)
        case Takes.AMOUNT:
            return _with_amount(verb, after, texts)
        case Takes.ENTRY:
            is_entry = not after or read_entry(after, _NOWHERE, texts) is not None
            return Command(verb, text=after) if is_entry else None
        case Takes.SETTING:
            if is_about_repositories(after) or is_about_mcp(after):
                return Command(verb, text=after)
            is_setting = not after or read_setting(after, texts) is not None
            is_key = len(after.split()) == 1 and is_like_a_key(after)
            return Command(verb, text=after) if is_setting or is_key else None
        case Takes.PERSON:
            goal, rest = _goal(after)
            is_person = rest.lower() == "me" or read_subject(rest, _NOWHERE) is not None
            return Command(verb, goal, rest) if is_person else None
        case Takes.POINT | Takes.COPY | Takes.GATE | Takes.PROFILE:
            goal, rest = _goal(after)
            return None if _READERS[verb.takes](rest) is None else Command(verb, goal, rest)
        case Takes.ONESELF:
            words = after.lower().split()
            is_sure = words == ["me", "yes"]
            return Command(verb, is_confirmed=is_sure) if is_sure or words == ["me"] else None
        case Takes.CODE:
            return Command(verb, text=after) if len(after.split()) == 1 else None


def _spent(verb: Verb, after: str) -> Command | None:
    goal, rest = _goal(after)
    scope, _, name = rest.partition(" ")
    if goal is not None:
        return None if rest else Command(verb, goal)
    named = read_subject(name.strip(), _NOWHERE)
    if scope.lower() == "person" and named is not None and named.name:
        return Command(verb, text=f"person {named.name}")
    if scope.lower() == "person" and len(name.split()) == 1:
        return Command(verb, text=f"person {name.strip()}")
    return Command(verb, text=rest.lower()) if rest.lower() in _SCOPES else None


def _with_text(verb: Verb, goal: int | None, text: str, texts: Texts) -> Command:
    if not verb.is_served:
        return Command(verb, text=text)
    if not text:
        raise BadInput(texts(f"bad.empty.{verb.name}"))
    found = objective(text, texts)
    if verb.name == "plan":
        refuse_no_goal(found, texts)
    return Command(verb, goal, found)


def _with_amount(verb: Verb, after: str, texts: Texts) -> Command | None:
    goal, rest = _goal(after)
    resumes = _AND_RESUME.fullmatch(rest)
    amount = read_amount(resumes[1] if resumes else rest, texts)
    if amount is None:
        words = (resumes[1] if resumes else rest).split()
        has_number = any(letter.isdigit() for letter in rest)
        if rest and (len(words) <= 1 or (has_number and len(words) <= 2)):
            raise BadInput(texts("bad.amount"))
        return None if rest else Command(verb, goal)
    return Command(verb, goal, amount=replace(amount, resumes=resumes is not None))


def objective(text: str, texts: Texts) -> str:
    """The objective in `text`, without quotes around the whole.

    Raises:
        BadInput: it is empty or too long, or holds what no text holds.
    """
    _check(text, texts)
    stripped = text.strip()
    for begin, end in _QUOTES:
        inner = stripped[len(begin) : -len(end)]
        quoted = len(stripped) >= 2 and stripped.startswith(begin) and stripped.endswith(end)
        if quoted and begin not in inner and end not in inner:
            stripped = inner.strip()
            break
    if not any(letter.isalnum() for letter in without_lines(stripped)):
        raise BadInput(texts("bad.empty"))
    size = len(stripped.encode("utf-8", "surrogatepass"))
    if size > OBJECTIVE_MOST_BYTES:
        raise BadInput(texts("bad.long", size=size // 1024 + 1, most=OBJECTIVE_MOST_BYTES // 1024))
    return stripped


def _goal(text: str) -> tuple[int | None, str]:
    word, _, rest = _split_word(text)
    match = _GOAL.fullmatch(word.removesuffix(":"))
    return (int(match[1]), rest.strip()) if match else (None, text)


def _check(text: str, texts: Texts) -> None:
    if "\0" in text:
        raise BadInput(texts("bad.nul"))
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadInput(texts("bad.surrogate"))
    if len(text.encode()) > OBJECTIVE_MOST_BYTES:
        size = len(text.encode()) // 1024 + 1
        raise BadInput(texts("bad.long", size=size, most=OBJECTIVE_MOST_BYTES // 1024))


def _is_greeting(text: str, texts: Texts) -> bool:
    return text.lower().rstrip("!. ") in texts("words.greeting").split("|")


def _is_rather_speech(command: Command) -> bool:
    """A free text after a verb that this version lacks is said to the goal: nothing is lost."""
    return not command.verb.is_served and bool(command.text)
