"""What the agent hears after a rewind, and what a copy of a goal knows."""

import json
from typing import Any

from bot.agent.inheritance import inherited, until
from bot.agent.request import build, messages
from bot.agent.transcript import Transcript
from bot.goals import events as e
from bot.goals import machine
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.money import Usage
from bot.ports.journal import Line, content_hash


class Life:
    """One goal's lines and texts."""

    def __init__(self, goal: str, objective: str, **of: Any) -> None:
        self.contents: dict[str, str] = {}
        opened = e.GoalOpened(
            goal, f"s-{goal}", 1, "ada", self.text(objective), DEFAULT_BUDGET, **of
        )
        moved = machine.open_goal(opened)
        self.goal = moved.goal
        self.lines = [Line(goal, 1, machine.entry(None, opened, moved))]
        self.calls = 0

    def text(self, text: str) -> str:
        self.contents[content_hash(text)] = text
        return content_hash(text)

    def apply(self, *events: Any) -> "Life":
        for event in events:
            moved = machine.decide(self.goal, event)
            entry = machine.entry(self.goal, event, moved)
            self.lines.append(Line(self.goal.id, len(self.lines) + 1, entry))
            self.goal = moved.goal
        return self

    def turn(self, said: str, *inside: Any) -> tuple[int, Goal]:
        """One turn with a reply; returns its checkpoint."""
        self.calls += 1
        call, blocks = f"c{self.calls}", json.dumps([{"type": "text", "text": said}])
        self.apply(
            e.TurnStarted(),
            e.CallStarted(call, "agent", "m", 10, 10, messages=9, revision=9),
            e.CallSettled(
                call, Usage(input=1), 1, content=self.text(blocks), stop_reason="end_turn"
            ),
            *inside,
            e.TurnEnded("stopped", reply=self.text(said)),
        )
        point = self.goal.seq, self.goal
        self.apply(e.Resumed("ada"))
        return point

    def rewind(self, point: tuple[int, Goal], by: str = "ada") -> None:
        self.apply(e.Rewound(by, point[0], point[1], "empty"), e.Resumed(by), e.TurnStarted())

    def told(self) -> str:
        return json.dumps(build(self.lines, self.contents, goal=self.goal.id), ensure_ascii=False)


def test_after_a_rewind_the_agent_hears_what_stood_at_the_point_and_nothing_of_what_came_after() -> (
    None
):
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    life.turn("I broke the valve.")

    life.rewind(first)

    told = life.told()
    assert "I looked at the pump." in told
    assert "I broke the valve." not in told
    assert "put the goal back to this point" in told


def test_what_people_said_since_is_told_as_said_later() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    life.apply(e.MessageReceived("m1", "bob", life.text("look at the valve")))
    life.turn("I broke the valve.")
    life.apply(e.ObjectiveEdited("ada", life.text("mend the valve")))

    life.rewind(first)

    told = life.told()
    assert told.index("written after this point") < told.index("look at the valve")
    assert "that is taken back" in told
    assert "mend the valve" in told
    assert life.contents[life.goal.objective] == "find the leak"


def test_what_was_done_outside_since_is_named() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    pushed = e.ToolStarted("t1", "git_push", "external", allowed="once:d1")
    life.turn("Pushed.", pushed, e.ToolEnded("t1", "ok", life.text("done")))

    life.rewind(first)

    assert "stays done: git_push" in life.told()


def test_a_second_rewind_to_before_the_first_leaves_nothing_of_either() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    second = life.turn("I looked at the valve.")
    life.turn("I broke the valve.")
    life.rewind(second)
    life.apply(e.TurnEnded("stopped", reply=life.text("half")), e.Resumed("ada"))
    life.turn("I mended the valve.")

    life.rewind(first)

    told = life.told()
    assert "I looked at the pump." in told
    for gone in ("I looked at the valve.", "I broke the valve.", "I mended the valve."):
        assert gone not in told


def test_what_people_said_is_told_once_after_however_many_rewinds() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    life.apply(e.MessageReceived("m1", "bob", life.text("look at the valve")))
    second = life.turn("I looked at the valve.")
    life.apply(e.MessageReceived("m2", "bob", life.text("do not touch the tap")))
    life.turn("I broke the tap.")
    life.rewind(second)
    once = life.told()
    life.apply(e.TurnEnded("stopped", reply=life.text("half")), e.Resumed("ada"))
    life.apply(e.MessageReceived("m3", "bob", life.text("call the plumber")))
    life.turn("I called.")

    life.rewind(first)

    twice = life.told()
    assert "do not touch the tap" in once
    for said in ("look at the valve", "do not touch the tap", "call the plumber"):
        assert twice.count(said) == 1


def test_what_an_earlier_rewind_told_is_not_told_again_where_that_one_still_counts() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    life.apply(e.MessageReceived("m1", "bob", life.text("look at the valve")))
    life.turn("I looked at the valve.")
    life.rewind(first)
    life.apply(e.TurnEnded("stopped", reply=life.text("half")), e.Resumed("ada"))
    third = life.turn("I mended the pump.")
    life.apply(e.MessageReceived("m2", "bob", life.text("do not touch the tap")))

    life.rewind(third)

    assert life.told().count("look at the valve") == 1
    assert life.told().count("do not touch the tap") == 1


def test_a_later_rewind_may_go_to_a_point_that_an_earlier_one_took_back() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    second = life.turn("I looked at the valve.")
    life.rewind(first)
    life.apply(e.MessageReceived("m1", "ada", life.text("no, the valve")))
    life.apply(e.TurnEnded("stopped", reply=life.text("half")), e.Resumed("ada"))

    life.rewind(second)

    told = life.told()
    assert "I looked at the pump." in told
    assert "I looked at the valve." in told
    assert told.count("put the goal back to this point") == 1
    assert told.index("I looked at the valve.") < told.index("no, the valve")


def test_the_row_of_the_transcript_is_the_goals_row() -> None:
    life = Life("g1", "find the leak")
    first = life.turn("I looked at the pump.")
    life.turn("I broke the valve.")
    life.rewind(first)

    transcript = Transcript("g1")
    for line in life.lines:
        transcript.feed(line)

    assert Goal(**transcript.own.row) == life.goal == machine.replay([x.entry for x in life.lines])


class Sessions:
    """Journals of several sessions."""

    def __init__(self, *lives: Life) -> None:
        self._lives = {life.goal.session: life for life in lives}

    async def goal(self, goal: str) -> Goal:
        [found] = [life.goal for life in self._lives.values() if life.goal.id == goal]
        return found

    async def history(self, session: str, after: int = 0) -> tuple[Line, ...]:
        return tuple(self._lives[session].lines)


async def test_a_copy_knows_what_was_said_up_to_its_point_and_a_copy_of_it_all_above() -> None:
    parent = Life("g1", "find the leak")
    first = parent.turn("I looked at the pump.")
    parent.turn("I broke the valve.")
    child = Life("g2", "find it another way", forks="g1", fork_seq=first[0])
    point = child.turn("I looked from above.")
    grandchild = Life("g3", "and again", forks="g2", fork_seq=point[0])
    sessions: Any = Sessions(parent, child, grandchild)

    found = await inherited(grandchild.goal, sessions)
    transcript = Transcript("g3", found.pieces)
    for line in grandchild.lines:
        transcript.feed(line)
    contents = {**parent.contents, **child.contents, **grandchild.contents}
    told = json.dumps(messages(transcript.own.pieces, contents))

    assert found.sessions == ("s-g2", "s-g1")
    order = [
        told.index(said)
        for said in (
            "find the leak", "I looked at the pump.", "find it another way", "I looked from above.",
            "and again",
        )
    ]  # fmt: skip
    assert order == sorted(order)
    assert "I broke the valve." not in told


async def test_what_was_erased_above_is_removed_for_the_copy_too() -> None:
    parent = Life("g1", "find the leak")
    first = parent.turn("I looked at the pump.")
    child = Life("g2", "find it another way", forks="g1", fork_seq=first[0])
    sessions: Any = Sessions(parent, child)

    found = await inherited(child.goal, sessions)
    transcript = Transcript("g2", found.pieces)
    for line in child.lines:
        transcript.feed(line)
    told = json.dumps(messages(transcript.own.pieces, child.contents))

    assert "[removed]" in told
    assert "pump" not in told


def test_a_point_that_is_not_there_gives_nothing() -> None:
    life = Life("g1", "find the leak")

    assert until(life.lines, "g1", 99) == ()
