"""Homes: what waits for somebody, their goals and those of their rooms; what they may not see is counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.chat.home import PAGE
from bot.chat.windows import PersonalWindows
from bot.errors import Wait
from bot.goals.events import (
    Audited,
    CapReached,
    DecisionAsked,
    Event,
    Paused,
    TasksPlanned,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import DecisionKind, Goal
from bot.goals.money import NANO
from bot.ports.chat import Incoming, Place, Shape, Speaker
from bot.ports.journal import Content, Task, Unit, content_hash
from bot.ports.people import Subject
from bot.ports.plain import plain
from bot.ports.question import written
from bot.ports.spending import Share
from bot.ports.windows import NEW, Home, Item
from tests.bot.chat.slack_net import ANN, BEN, EVE, TEAM, SlackNet, channel
from tests.bot.chat.test_money import Bills, a_bill
from tests.bot.chat.turns import began

GOLDEN = Path(__file__).parent / "golden"


class Bench:
    """A chat as Slack has it, and the homes of its people."""

    def __init__(self, net: SlackNet) -> None:
        self.net = net
        self.windows = PersonalWindows(net.desk, net.store.records)

    async def home(self, who: Speaker = ANN, page: int = 1) -> Home:
        return await self.windows.home(TEAM, who, page)

    async def start(
        self, objective: str, who: Speaker = ANN, room: str = "C01GEN", *events: Event
    ) -> Goal:
        await self.net.command(f"/goal {objective}", who, channel(name=room))
        goal = (await self.net.goals())[-1]
        return await self.net.happens(goal, *events) if events else goal

    async def ask(
        self, kind: DecisionKind, who: Speaker = ANN, text: str = "", room: str = "C01GEN"
    ) -> Goal:
        goal = await self.start("water the plants", who, room)
        asked = text or written("Which one?", ("fern", "palm") if kind == "question" else ())
        ends = () if kind == "approval" else (TurnEnded("done"),)
        return await self.net.happens(
            goal, *began(goal), DecisionAsked("d", kind, content_hash(asked), "t"), *ends,
            contents=[asked],
        )  # fmt: skip

    async def complete(self, goal: Goal) -> Goal:
        return await self.net.happens(
            goal,
            *began(goal),
            TurnEnded("done", content_hash("It is written.")),
            Audited(goal.revision, goal.turn + 1, goal.messages, "complete"),
            contents=["It is written."],
        )

    async def press(self, item: Item, label: str, who: Speaker = ANN) -> None:
        """Somebody presses a button of an item, as the network gives it."""
        verbs = {button.label: button.verb for button in item.shape.buttons}
        verbs |= {option: str(n) for n, option in enumerate(item.shape.options, 1)}
        await self.net.press(verbs[label], item.of, who, item.place)


@pytest.fixture
async def bench(slack: SlackNet) -> Bench:
    await slack.allow(ANN)
    await slack.allow(BEN)
    return Bench(slack)


def items(home: Home, heading: str) -> tuple[Item, ...]:
    """What stands under a heading."""
    return next((part.items for part in home.parts if part.heading == heading), ())


def heads(home: Home) -> list[str]:
    return [part.heading for part in home.parts if part.heading]


def labels(shape: Shape) -> list[str]:
    return [button.label for button in shape.buttons]


async def test_an_empty_home_says_how_to_begin(bench: Bench) -> None:
    home = await bench.home()

    assert heads(home) == []
    assert home.parts[0].note.startswith("No goals yet.")
    assert [(one.verb, one.label) for one in home.top.buttons] == [(NEW, "New goal")]


async def test_a_stranger_sees_nothing_and_is_told_why(bench: Bench) -> None:
    await bench.start("water the plants")

    home = await bench.home(EVE)

    assert home.top.buttons == ()
    assert [part.note for part in home.parts] == [
        "I take goals from people on my list. Ask whoever looks after me."
    ]


async def test_goals_stand_under_whose_they_are_by_state_with_their_progress(
    bench: Bench,
) -> None:
    first = await bench.start("water the plants", ANN, "C01GEN", TurnStarted())
    plan = Content("plan")
    tasks = (Task("a", "done"), Task("b", "doing"), Task("c", "open"), Task("d", "dropped"))
    unit = Unit(first.id, (TasksPlanned(plan.hash, 2, 1, 1),), (plan,), tasks=tasks)
    await bench.net.store.journal.commit(unit)
    await bench.ask("question", ANN)
    paused = await bench.start("count the birds", ANN)
    await bench.net.happens(paused, Paused(paused.owner))
    await bench.start("sweep the yard", BEN, "C02OPS")
    await bench.complete(await bench.start("feed the cat", ANN))

    home = await bench.home()

    assert heads(home) == ["Waiting for you", "My goals", "In my rooms", "Ended lately"]
    mine = [item.shape for item in items(home, "My goals")]
    assert [(one.word, one.facts[0]) for one in mine] == [("Working", "G1"), ("Paused", "G3")]
    assert mine[0].notes == ("1 of 3 tasks done",)
    assert mine[0].body == "water the plants"
    [part] = [part for part in home.parts if part.heading == "My goals"]
    assert part.about == "1 Working · 1 Paused"
    [theirs] = items(home, "In my rooms")
    assert theirs.shape.facts[:2] == ("G4", "of ben")
    assert theirs.place.room == "C02OPS"
    assert [item.shape.word for item in items(home, "Ended lately")] == ["Complete"]


async def test_a_decision_is_answered_from_home(bench: Bench) -> None:
    goal = await bench.ask("question")

    [item] = items(await bench.home(), "Waiting for you")
    await bench.press(item, "palm")

    assert item.shape.options == ("fern", "palm")
    assert labels(item.shape) == ["In words", "Details"]
    now = await bench.net.store.journal.goal(goal.id)
    assert now.decision is None
    assert heads(await bench.home()) == ["My goals"]


async def test_an_old_home_answers_no_later_decision(bench: Bench) -> None:
    goal = await bench.ask("question")
    [item] = items(await bench.home(), "Waiting for you")
    await bench.press(item, "palm")
    goal = await bench.net.store.journal.goal(goal.id)
    text = written("Which pot?", ("red", "blue"))
    await bench.net.happens(
        goal, *began(goal), DecisionAsked("e", "question", content_hash(text), "t"),
        TurnEnded("done"), contents=[text],
    )  # fmt: skip

    await bench.press(item, "fern")

    now = await bench.net.store.journal.goal(goal.id)
    assert now.decision is not None
    assert not now.decision.answered


async def test_approvals_wait_for_who_may_approve(bench: Bench) -> None:
    await bench.ask("approval", ANN)
    await bench.net.allow(BEN, "approver")

    asked, owner = await bench.home(BEN), await bench.home(ANN)

    [item] = items(asked, "Waiting for you")
    assert item.shape.options == ("Approve once", "Deny")
    assert "Deny with a reason" in labels(item.shape)
    assert item.of
    assert items(owner, "Waiting for you") == ()
    assert [one.shape.word for one in items(owner, "My goals")] == ["Decision needed"]


async def test_a_call_that_is_too_long_for_a_home_is_not_approved_there(bench: Bench) -> None:
    await bench.net.allow(BEN, "approver")
    await bench.ask("approval", ANN, "rm " * 600)

    [item] = items(await bench.home(BEN), "Waiting for you")

    assert item.shape.options == ()
    assert item.shape.notes[-1].startswith("It is too long to be answered here")


async def test_a_decision_whose_card_is_not_there_is_answered_in_its_thread(
    bench: Bench,
) -> None:
    goal = await bench.start("water the plants")
    text = Content(written("Which one?", ("fern", "palm")))
    unit = Unit(
        goal.id, (*began(goal), DecisionAsked("d", "question", text.hash, "t"), TurnEnded("done")),
        (text,),
    )  # fmt: skip
    await bench.net.store.journal.commit(unit)

    [item] = items(await bench.home(), "Waiting for you")

    assert item.shape.options == ()
    assert item.shape.notes[-1] == "Answer it in its thread."


async def test_others_questions_wait_for_their_owners(bench: Bench) -> None:
    await bench.ask("question", BEN)

    home = await bench.home(ANN)

    assert heads(home) == ["In my rooms"]


async def test_goals_of_rooms_that_one_is_not_in_are_counted_and_not_named(bench: Bench) -> None:
    await bench.start("water the plants", ANN, "C02OPS")
    await bench.start("prepare the secret party", BEN, "C03SECRET")
    bench.net.members.outside |= {(ANN.id, "C02OPS"), (ANN.id, "C03SECRET")}

    home = await bench.home(ANN)

    assert heads(home) == []
    assert home.parts[-1].note == "1 more goal of yours lives in a room that you are not in."
    assert "plants" not in str(home)
    assert "party" not in str(home)


async def test_goals_of_another_workspace_are_not_named(bench: Bench) -> None:
    there = replace(channel(name="C09THEM"), workspace="T02ELSE")
    await bench.net.command("/goal water their plants", ANN, there)
    await bench.net.command("/goal sweep their yard", BEN, there)

    home = await bench.home(ANN)

    assert "plants" not in str(home)
    assert home.parts[-1].note.startswith("1 more goal of yours")


async def test_a_network_that_cannot_say_who_is_in_a_room_names_nothing_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.start("water the plants", BEN)

    async def unknown(room: Place, who: Speaker) -> bool:
        raise Wait("Slack is out of reach.")

    monkeypatch.setattr(bench.net.members, "is_member", unknown)

    assert "plants" not in str(await bench.home(ANN))


async def test_who_may_only_look_is_offered_no_more_than_details(bench: Bench) -> None:
    guest = Speaker("T01TEST:U09CAT", "cat")
    await bench.net.allow(guest, "approver")
    await bench.start("water the plants")

    [item] = items(await bench.home(guest), "In my rooms")

    assert labels(item.shape) == ["Details"]


async def test_buttons_name_their_goal_and_do_what_they_say(bench: Bench) -> None:
    goal = await bench.start("water the plants", ANN, "C01GEN", TurnStarted())

    [item] = items(await bench.home(), "My goals")
    await bench.press(item, "Pause")
    [paused] = items(await bench.home(), "My goals")
    await bench.press(paused, "Resume")

    assert [button.verb for button in item.shape.buttons] == ["pause G1", "stop G1", "trace G1"]
    assert labels(paused.shape) == ["Resume", "Details"]
    assert (await bench.net.store.journal.goal(goal.id)).state == "ready"


async def test_an_ended_goal_is_gone_on_with_by_its_number(bench: Bench) -> None:
    await bench.complete(await bench.start("water the plants"))

    [item] = items(await bench.home(), "Ended lately")

    assert [button.verb for button in item.shape.buttons] == ["reopen G1", "trace G1"]


async def test_hundreds_of_goals_stand_on_pages(bench: Bench) -> None:
    for n in range(2 * PAGE + 3):
        await bench.start(f"water plant number {n}", ANN if n % 2 else BEN)

    pages = [await bench.home(page=page) for page in (1, 2, 3)]
    beyond, before = await bench.home(page=99), await bench.home(page=-4)

    found = [item.shape.facts[0] for home in pages for part in home.parts for item in part.items]
    assert [home.pages for home in pages] == [3, 3, 3]
    assert [home.page for home in pages] == [1, 2, 3]
    assert len(found) == len(set(found)) == 2 * PAGE + 3
    assert beyond == pages[2]
    assert before == pages[0]


async def test_only_the_latest_of_ones_ended_goals_are_shown(bench: Bench) -> None:
    for n in range(12):
        await bench.complete(await bench.start(f"water plant number {n}"))

    home = await bench.home()

    assert [item.shape.facts[0] for item in items(home, "Ended lately")] == [
        f"G{n}" for n in range(12, 2, -1)
    ]


async def test_a_goal_that_a_cap_holds_offers_no_resume(bench: Bench) -> None:
    goal = await bench.start("water the plants")
    until = bench.net.clock.now() + 3_600
    cap = CapReached("person", 10_000_000_000, until, nano_usd=5_000)
    await bench.net.happens(goal, TurnStarted(), cap)

    [item] = items(await bench.home(), "My goals")

    assert labels(item.shape) == ["Pause", "Details"]


async def test_a_home_tells_what_was_spent_today_and_of_ones_caps(bench: Bench) -> None:
    goal = await bench.start("water the plants")
    now = bench.net.clock.now()
    spending = Bills(
        a_bill(owner=goal.owner, at=now),
        a_bill(owner=goal.owner, at=now - 25 * 3_600),
        a_bill(owner="p-of-ben", at=now),
        shares=(Share("person", NANO, 10 * NANO), Share("room", NANO, 3 * NANO)),
    )
    bench.net.desk = replace(bench.net.desk, spending=spending)
    bench.windows = PersonalWindows(bench.net.desk, bench.net.store.records)

    home = await bench.home()

    assert home.top.notes == ("Spent today: $1.00", "$1 of Ann Lee's $10 for today")


async def test_what_is_said_in_a_direct_message_stays_between_the_two(bench: Bench) -> None:
    await bench.start("prepare the party for ann", BEN, "D02BEN")
    bench.net.members.outside.add((ANN.id, "D02BEN"))

    assert "party" not in str(await bench.home(ANN))
    assert "party" in str(await bench.home(BEN))


async def test_a_window_is_opened_from_home_about_the_decision_that_it_shows(
    bench: Bench,
) -> None:
    await bench.ask("question")
    [item] = items(await bench.home(), "Waiting for you")
    free, details = item.shape.buttons
    pressed = Incoming("button:1", item.place, ANN, free.verb, 1.0, item.of, via="button")

    words = await bench.windows.window(pressed)
    shown = await bench.windows.window(replace(pressed, text=details.verb))

    assert (words.title, words.of) == ("G1, decision 1", item.of)
    assert shown.title == "Details of G1"


async def test_somebody_whose_rights_are_gone_sees_nothing_any_more(bench: Bench) -> None:
    await bench.start("water the plants")
    await bench.net.allow_list.remove(Subject("person", "slack", ANN.id))

    home = await bench.home(ANN)

    assert "plants" not in str(home)
    assert home.top.buttons == ()


async def test_homes_look_as_they_are_kept(bench: Bench) -> None:
    await bench.net.allow(BEN, "approver")
    await bench.start("water the plants in the hall and on every window sill", BEN, "C02OPS")
    await bench.ask("question", ANN)
    await bench.start("count the birds", ANN, "C01GEN", TurnStarted())
    await bench.complete(await bench.start("feed the cat", ANN))

    home = await bench.home(ANN)

    shown = "\n\n".join(
        [plain(home.top)]
        + [
            "\n".join(
                [f"== {part.heading}", *filter(None, [part.about])]
                + [f"{plain(item.shape)}  @{item.place.room}" for item in part.items]
                + ([part.note] if part.note else [])
            )
            for part in home.parts
        ]
    )
    golden = GOLDEN / "home.txt"
    assert shown + "\n" == golden.read_text(), shown
