"""
Whether a call may run: the one place where that is decided. Pure.

Rule 1: of the goal, the room and the process, the first that has a profile says what runs unasked.
Rule 2: what is beyond it is covered by what people allowed, for the goal or for the room, or else becomes
        an approval or a refusal, as the room says.
Rule 3: what an operator's rule denies never runs unasked, whatever the profile; `full` asks for nothing,
        and what cannot be told from what is denied is refused there.
Rule 4: rules save questions. The boundary is the sandbox.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bot.goals.goal import Goal
from bot.goals.hands import PROFILES, Grant, GrantKind, Profile
from bot.ports.journal import content_hash
from bot.ports.permissions import Permission
from bot.ports.room_settings import DEFAULTS, RoomSettings
from bot.tools.policy.reading import reads_only
from bot.tools.policy.rules import Rule, found_in, matches, prefixes, text_of, words_of
from bot.tools.policy.shell import Command, Shell, name_of, read_line
from bot.tools.tool import Tool

Beyond = Literal["ask", "deny", "park", "plan"]
"""What becomes of a call beyond the profile. `plan`: it is refused until a plan is approved."""


@dataclass(frozen=True, slots=True)
class ByDefault:
    """What the operator set for all rooms."""

    profile: Profile = "workspace"
    approvals: Literal["ask", "deny"] = "ask"
    unattended: Literal["deny", "park"] = "deny"
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Law:
    """What holds for a goal's calls now."""

    profile: Profile
    beyond: Beyond
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """It runs. `why`: as `ToolStarted.allowed`; `writes`: it needs a workspace that can be written."""

    why: str
    writes: bool = True


@dataclass(frozen=True, slots=True)
class Asks:
    """It takes a yes. `offer`: what may be allowed further with it, in plain text."""

    why: str
    offer: tuple[GrantKind, str] | None = None


@dataclass(frozen=True, slots=True)
class Denied:
    """It does not run; `beyond`: by which policy, or by a rule of the operator's."""

    why: str
    beyond: Literal["deny", "park", "plan", "rule"] = "deny"


Verdict = Allowed | Asks | Denied
Given = Callable[[GrantKind, str], str]
"""Whether people allowed something: why, as `ToolStarted.allowed`, or the empty text."""

OPEN: Final = Law("workspace", "ask")
"""Of a goal of which nothing is set."""


def tighter(goal: Goal, room: RoomSettings, default: Profile) -> str:
    """The goal's own profile where it allows less than its room's; else empty: a copy has the room's."""
    of_room = profile_of(replace(goal, profile=""), room, default)
    own = profile_of(goal, room, default)
    return own if PROFILES.index(own) < PROFILES.index(of_room) else ""


def profile_of(goal: Goal, room: RoomSettings, default: Profile) -> Profile:
    """The goal's profile, or its room's, or the process's; what is no profile counts as the least."""
    named = goal.profile or room.profile or default
    return named if named in PROFILES else "read_only"


def law_of(goal: Goal, room: RoomSettings = DEFAULTS, default: ByDefault | None = None) -> Law:
    """What holds for a goal, in a room with these settings."""
    default = default or ByDefault()
    if goal.planning or goal.kind == "ask" or goal.wrapping_up:
        beyond: Beyond = "plan" if goal.planning else "deny"
        return Law("read_only", beyond, default.ask, default.deny)
    policy = room.approvals or default.approvals
    beyond = "ask" if policy == "ask" else "deny"
    if goal.unattended and beyond == "ask":
        beyond = "park" if (room.unattended or default.unattended) == "park" else "deny"
    return Law(profile_of(goal, room, default.profile), beyond, default.ask, default.deny)


_OF_THE_GOAL = frozenset({"poll", "kill"})
"""They see and end what a command has begun that was allowed."""


def given(goal: Goal, standing: Sequence[Permission], by: Mapping[Grant, str]) -> Given:
    """What people allowed: for the goal (`by`: the decision that did), else for the room."""
    always = {(one.kind, one.what): one.id for one in reversed(standing)}

    def why(kind: GrantKind, what: str) -> str:
        grant = Grant(kind, content_hash(what))
        if grant in goal.grants:
            return f"goal:{by.get(grant, '')}"
        id = always.get((kind, what))
        return f"always:{id}" if id else ""

    return why


def weigh(law: Law, has: Given, tool: Tool, args: Mapping[str, Any]) -> Verdict:
    """The verdict on a call whose arguments fit."""
    if tool.effects == "conversation":
        return Allowed("")
    if tool.name == "bash":
        return _command(law, has, str(args["command"]))
    looks = law.profile == "read_only"
    if tool.effects == "none" or tool.name in _OF_THE_GOAL:
        return Allowed("profile", writes=not looks)
    if law.profile == "full" or (tool.effects == "workspace" and not looks):
        return Allowed("profile")
    offer = tool.grants(dict(args)) if tool.grants is not None else ("tool", tool.name)
    why = has(*offer)
    return Allowed(why) if why else _beyond(law, f"beyond {law.profile}", offer)


def _command(law: Law, has: Given, line: str) -> Verdict:
    looks, is_full = law.profile == "read_only", law.profile == "full"
    asked = () if is_full else law.ask
    if not (looks or law.deny or asked):
        return Allowed("profile")
    shell = read_line(line)
    denied = {rule: found_in(rule, shell) for rule in law.deny}
    for rule, match in denied.items():
        if match == "yes":
            return Denied(f"denied: {' '.join(rule)}", "rule")
    unclear = next((rule for rule, match in denied.items() if match == "maybe"), None)
    if unclear is not None:
        why = f"may be {' '.join(unclear)}"
        return Denied(why, "rule") if is_full else _beyond(law, why, None)
    if looks:
        return _looking(law, has, shell)
    return _ruled(law, has, shell, asked)


def _looking(law: Law, has: Given, shell: Shell) -> Verdict:
    """Of `read_only`: every command is known to read, or was allowed."""
    if not shell.is_plain:
        return _beyond(law, "not known to read only", None)
    others = [command for command in shell.commands if not reads_only(command)]
    ruled = [command for command in shell.commands if _asks_for(law.ask, command)]
    # Where a line may write, what is set in a repository may, too: of that, git runs programs.
    heed = [command for command in shell.commands if others and name_of(command) == "git"]
    left = list(dict.fromkeys([*others, *ruled, *heed]))
    if not left:
        return Allowed("rule", writes=False)
    why = "not known to read only" if others else _named(law.ask, ruled[0])
    return _covered(law, has, left, why, writes=bool(others))


def _ruled(law: Law, has: Given, shell: Shell, asked: tuple[Rule, ...]) -> Verdict:
    """Of what may write: no command is one that a rule asks for, or it was allowed."""
    ruled = [command for command in shell.commands if _asks_for(asked, command)]
    if not ruled and (shell.is_sure or not asked):
        return Allowed("profile")
    if not shell.is_plain:
        why = _named(asked, ruled[0]) if ruled else f"may be {' '.join(asked[0])}"
        return _beyond(law, why, None)
    return _covered(law, has, list(dict.fromkeys(ruled)), _named(asked, ruled[0]), writes=True)


def _covered(
    law: Law, has: Given, commands: Sequence[Command], why: str, *, writes: bool
) -> Verdict:
    """Whether people allowed each of these commands; one that is left alone may be allowed further."""
    reasons = {command: _allowed(has, command) for command in commands}
    left = [command for command, reason in reasons.items() if not reason]
    if not left:
        return Allowed(",".join(dict.fromkeys(reasons.values())), writes=writes)
    words = words_of(left[0]) if len(left) == 1 else None
    return _beyond(law, why, ("command", text_of(words)) if words else None)


def _allowed(has: Given, command: Command) -> str:
    return next(filter(None, (has("command", text_of(rule)) for rule in prefixes(command))), "")


def _asks_for(rules: Sequence[Rule], command: Command) -> bool:
    return any(matches(rule, command) != "no" for rule in rules)


def _named(rules: Sequence[Rule], command: Command) -> str:
    rule = next(rule for rule in rules if matches(rule, command) != "no")
    return f"asks for {' '.join(rule)}"


def _beyond(law: Law, why: str, offer: tuple[GrantKind, str] | None) -> Verdict:
    if law.beyond == "ask":
        return Asks(why, offer)
    return Denied(why, law.beyond)
