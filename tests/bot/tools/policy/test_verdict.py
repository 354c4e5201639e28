"""Whether a call may run, by profile, rules, and what people allowed."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from bot.goals.goal import Goal
from bot.goals.hands import PROFILES, Grant, GrantKind, Profile
from bot.ports.chat import Place
from bot.ports.journal import content_hash
from bot.ports.permissions import Permission
from bot.ports.room_settings import RoomSettings
from bot.tools import review
from bot.tools.policy.rules import found_in, read_rule
from bot.tools.policy.shell import read_line
from bot.tools.policy.verdict import (
    Allowed,
    Asks,
    ByDefault,
    Denied,
    Law,
    Verdict,
    given,
    law_of,
    weigh,
)
from bot.tools.table import TOOL_BY_NAME, TOOLS
from bot.tools.tool import Tool, one_object

GOAL = Goal("g", "s", 1, "ann", "objective")
ROOM = Place("console", "w", "r")
SEND = Tool("send", "", one_object(()), "external", "kit", reads_outside=True)
LOOK = Tool("look", "", one_object(()), "none", "kit", reads_outside=True)
REACH = replace(SEND, name="reach", grants=lambda args: ("host", args["host"]))


def nothing(kind: GrantKind, what: str) -> str:
    return ""


def on(profile: Profile, tool: Tool, **args: Any) -> Verdict:
    return weigh(Law(profile, "ask"), nothing, tool, args)


def bash(command: str, law: Law, has: Any = nothing) -> Verdict:
    return weigh(law, has, TOOL_BY_NAME["bash"], {"command": command})


def words(*of: str) -> str:
    return json.dumps(list(of))


RUNS: dict[str, tuple[bool, bool, bool, bool]] = {
    "read": (True, True, True, True),
    "glob": (True, True, True, True),
    "grep": (True, True, True, True),
    "poll": (True, True, True, True),
    "kill": (True, True, True, True),
    "write": (False, True, True, True),
    "edit": (False, True, True, True),
    "bash": (False, True, True, True),
    "ask_person": (True, True, True, True),
    "wait_for": (True, True, True, True),
    "plan": (True, True, True, True),
    "propose_plan": (True, True, True, True),
    "finish_note": (True, True, True, True),
    "share_file": (True, True, True, True),
    "send": (False, False, False, True),
    "look": (True, True, True, True),
    "review": (False, True, True, True),
    "reach": (False, False, False, True),
}
"""What runs unasked: in `read_only`, `workspace`, `networked` and `full`."""


def test_the_table_names_every_tool() -> None:
    assert {tool.name for tool in TOOLS} <= set(RUNS)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_lets_run_what_it_says(name: str, profile: Profile) -> None:
    tool = {"send": SEND, "look": LOOK, "reach": REACH, "review": review.TOOL}.get(
        name
    ) or TOOL_BY_NAME[name]

    verdict = on(profile, tool, command="make", host="example.org")

    assert isinstance(verdict, Allowed) == RUNS[name][PROFILES.index(profile)]


def test_in_read_only_what_runs_unasked_cannot_write() -> None:
    for tool in ("read", "glob", "grep"):
        assert on("read_only", TOOL_BY_NAME[tool]) == Allowed("profile", writes=False)
    assert bash("cat a | wc -l", Law("read_only", "ask")) == Allowed("rule", writes=False)


@pytest.mark.parametrize(
    "command",
    ["ls; rm x", "ls && $(x)", "cat <(ls)", "ls > f", "ls\nrm x", "ls\\\n; rm x", "find . -delete",
     "git log --output=x", "a=1 ls", "xargs ls", "ls\n\\rm x", "", "ls 'a", "alias ls=rm"],
)  # fmt: skip
def test_no_trick_makes_a_command_one_that_reads(command: str) -> None:
    assert isinstance(bash(command, Law("read_only", "ask")), Asks)


def test_what_is_offered_is_the_one_command_that_is_left_over() -> None:
    verdict = bash("cd src && make 'a b'; ls", Law("read_only", "ask"))

    assert verdict == Asks("not known to read only", ("command", words("make", "a b")))


@pytest.mark.parametrize(
    "command", ["make; touch x", "make > log", "make $X", "make *", "sh -c make"]
)
def test_of_anything_else_nothing_further_is_offered(command: str) -> None:
    verdict = bash(command, Law("read_only", "ask"))

    assert isinstance(verdict, Asks)
    assert verdict.offer is None


def test_a_tool_and_a_host_are_offered_by_name() -> None:
    law = Law("networked", "ask")

    assert weigh(law, nothing, SEND, {}) == Asks("beyond networked", ("tool", "send"))
    asked = weigh(law, nothing, REACH, {"host": "example.org"})
    assert asked == Asks("beyond networked", ("host", "example.org"))


def has(*what: tuple[GrantKind, str]) -> Any:
    grants = tuple(Grant(kind, content_hash(text)) for kind, text in what)
    goal = replace(GOAL, grants=grants)
    return given(goal, (), dict.fromkeys(grants, "d1"))


def test_an_allowed_prefix_covers_what_begins_with_it_and_nothing_else() -> None:
    law, allowed = Law("read_only", "ask"), has(("command", words("git", "push", "origin")))

    for line in ("git push origin", "git push origin main", "ls && git push origin x | cat"):
        assert bash(line, law, allowed) == Allowed("goal:d1")
    for line in (
        "git push", "git push upstream", "git -C x push origin", "git push 'origin x'", "Git push origin",
        "/usr/bin/git push origin", "git push origin; make", "git push origin > x", "git push $origin",
        "git push origin $(x)", "x=1 git push origin", "env git push origin", "git push or*",
        "git push origin &", "(git push origin)", "git push origin # x",
    ):  # fmt: skip
        assert isinstance(bash(line, law, allowed), Asks), line


def test_several_permissions_cover_a_line_together() -> None:
    law = Law("read_only", "ask")
    goal = replace(GOAL, grants=(Grant("command", content_hash(words("make"))),))
    standing = [Permission("p1", ROOM, "command", words("touch"), "ann", 0.0, 1.0)]
    allowed = given(goal, standing, {goal.grants[0]: "d1"})

    assert bash("make && touch x", law, allowed) == Allowed("goal:d1,always:p1")


def test_what_heeds_settings_of_the_workspace_does_not_write_by_the_permission_of_another() -> None:
    law = Law("read_only", "ask")
    make: tuple[GrantKind, str] = ("command", words("make"))
    diff: tuple[GrantKind, str] = ("command", words("git", "diff"))

    assert bash("git diff; make", law, has(make)) == Asks("not known to read only", diff)
    assert isinstance(bash("cat a; make | tail -5", law, has(make)), Allowed)
    assert isinstance(bash("git diff; make", law, has(make, diff)), Allowed)
    assert bash("git diff", law) == Allowed("rule", writes=False)


def test_a_permission_for_a_host_covers_no_tool_and_no_command() -> None:
    allowed = has(("host", "send"), ("tool", words("make")), ("host", "example.org"))

    assert isinstance(weigh(Law("workspace", "ask"), allowed, SEND, {}), Asks)
    assert isinstance(bash("make", Law("read_only", "ask"), allowed), Asks)
    reached = weigh(Law("workspace", "ask"), allowed, REACH, {"host": "example.org"})
    assert reached == Allowed("goal:d1")


def test_of_two_permissions_the_newest_is_named() -> None:
    standing = [
        Permission(id, ROOM, "tool", "send", "ann", at, 9.0)
        for id, at in (("p2", 2.0), ("p1", 1.0))
    ]

    assert given(GOAL, standing, {})("tool", "send") == "always:p2"


ASKING = Law("workspace", "ask", ask=(("git", "push"), ("rm",)))
DENYING = Law("workspace", "ask", deny=(("curl",),))


@pytest.mark.parametrize(
    ("command", "offer"),
    [
        ("git push x", words("git", "push", "x")),
        ("make; git push", words("git", "push")),
        ("/usr/bin/rm x", words("/usr/bin/rm", "x")),
        ("rm $X", None),
        ("for f in *; do rm $f; done", None),
        ("echo $(rm x)", None),
        ("git $X", None),
        ("$X", None),
        ("sh -c 'rm x'", None),
        ("python -c 1", None),
        ("echo x | xargs rm", None),
        ("rm x > log", None),
        ("rm a; rm b", None),
    ],
)
def test_what_a_rule_asks_for_is_asked_for_wherever_it_stands(
    command: str, offer: str | None
) -> None:
    verdict = bash(command, ASKING)

    assert isinstance(verdict, Asks)
    assert verdict.offer == (None if offer is None else ("command", offer))


@pytest.mark.parametrize(
    "command", ["git pull", "make > log", "rmdir x", "echo rm", "a=1 make", "x=1"]
)
def test_what_it_does_not_mean_runs(command: str) -> None:
    assert bash(command, ASKING) == Allowed("profile")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("command", ["curl x", "ls; /usr/bin/curl x", "(curl x)", "a=$(curl x)"])
def test_what_is_denied_never_runs(command: str, profile: Profile) -> None:
    law = replace(DENYING, profile=profile)

    verdict = bash(command, law, has(("command", words("curl"))))

    assert verdict == Denied("denied: curl", "rule")


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("git -C . push", True),
        ("git --no-pager push -f", True),
        ("git -C a log push", False),
        ("git --no-pager log", False),
    ],
)
def test_options_of_git_hide_no_subcommand(command: str, denied: bool) -> None:
    verdict = bash(command, Law("full", "ask", deny=(("git", "push"),)))

    assert isinstance(verdict, Denied) == denied


@pytest.mark.parametrize("command", ["kubectl -n x delete y", "kubectl --now $X y"])
def test_a_word_behind_options_may_be_the_one_that_is_meant(command: str) -> None:
    law = Law("full", "ask", deny=(("kubectl", "delete"),))

    assert bash(command, law) == Denied("may be kubectl delete", "rule")
    assert bash("kubectl -n x get delete", law) == Denied("may be kubectl delete", "rule")
    assert isinstance(bash("kubectl -n x get y", law), Allowed)


@pytest.mark.parametrize("command", ["$X", "eval x", "sh -c x", "ls | xargs x"])
def test_what_may_be_denied_is_asked_for_and_refused_in_full(command: str) -> None:
    assert bash(command, DENYING) == Asks("may be curl")
    assert bash(command, replace(DENYING, profile="full")) == Denied("may be curl", "rule")


def test_full_asks_for_nothing_that_a_rule_asks_for() -> None:
    assert bash("git push", replace(ASKING, profile="full")) == Allowed("profile")


def test_a_rule_asks_in_read_only_for_what_only_reads_too() -> None:
    law = Law("read_only", "ask", ask=(("git", "log"),))

    assert bash("git log", law) == Asks("asks for git log", ("command", words("git", "log")))
    assert bash("git log", law, has(("command", words("git", "log")))) == Allowed(
        "goal:d1", writes=False
    )


@pytest.mark.parametrize("beyond", ["deny", "park", "plan"])
def test_what_is_beyond_follows_the_policy(beyond: Any) -> None:
    assert weigh(Law("workspace", beyond), nothing, SEND, {}) == Denied("beyond workspace", beyond)


def test_of_goal_room_and_process_the_first_that_says_a_profile_counts() -> None:
    room, process = RoomSettings(profile="networked"), ByDefault(profile="full")

    assert law_of(replace(GOAL, profile="read_only"), room, process).profile == "read_only"
    assert law_of(GOAL, room, process).profile == "networked"
    assert law_of(GOAL, RoomSettings(), process).profile == "full"
    assert law_of(GOAL).profile == "workspace"


def test_a_profile_that_nobody_knows_is_the_least() -> None:
    assert law_of(replace(GOAL, profile="god")).profile == "read_only"


@pytest.mark.parametrize(
    ("goal", "beyond"),
    [
        (replace(GOAL, planning=True, profile="full"), "plan"),
        (replace(GOAL, kind="ask", profile="full"), "deny"),
        (replace(GOAL, wrapping_up=True, profile="full"), "deny"),
    ],
)
def test_a_turn_that_only_looks_does_no_more_whatever_the_profile(goal: Goal, beyond: str) -> None:
    law = law_of(goal)

    assert (law.profile, law.beyond) == ("read_only", beyond)


@pytest.mark.parametrize(
    ("approvals", "unattended", "attended", "beyond"),
    [
        ("", "", True, "ask"),
        ("deny", "park", True, "deny"),
        ("", "", False, "deny"),
        ("", "park", False, "park"),
        ("ask", "park", False, "park"),
        ("deny", "park", False, "deny"),
    ],
)
def test_the_room_says_what_becomes_of_it(
    approvals: str, unattended: str, attended: bool, beyond: str
) -> None:
    room = RoomSettings(approvals=approvals, unattended=unattended)

    assert law_of(replace(GOAL, unattended=not attended), room).beyond == beyond


def test_where_a_room_is_silent_the_process_says_it() -> None:
    process = ByDefault(approvals="deny", unattended="park")

    assert law_of(GOAL, RoomSettings(), process).beyond == "deny"
    assert law_of(GOAL, RoomSettings(approvals="ask"), process).beyond == "ask"
    asks = RoomSettings(approvals="ask")
    assert law_of(replace(GOAL, unattended=True), asks, process).beyond == "park"


@pytest.mark.parametrize("text", ["", " ", "'a", "''"])
def test_a_rule_names_a_command(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_rule(text)


@examples(st.lists(st.sampled_from(["git", "push", "-f", "main", "a b", "*", ";"]), min_size=1),
          st.integers(1, 4))  # fmt: skip
def test_a_command_is_found_by_every_beginning_of_it(command: list[str], length: int) -> None:
    import shlex

    line = shlex.join(["run", *command])

    assert found_in(("run", *command[: length - 1]), read_line(line)) == "yes"
    assert found_in(("run", *command, "more"), read_line(line)) == "no"
