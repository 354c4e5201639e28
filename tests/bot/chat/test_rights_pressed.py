"""The table of rights, cell by cell, where people press buttons and fill in forms."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from bot.chat.rights import Act
from bot.goals.events import DecisionAsked, TurnEnded, TurnStarted
from bot.goals.goal import Goal, State
from bot.ports.chat import Place, Speaker
from bot.ports.journal import content_hash
from bot.ports.people import Subject
from tests.bot.chat.slack_net import BEN, SlackNet, channel
from tests.bot.chat.test_rights import ROLES_OF, cells
from tests.bot.chat.turns import began

CARLA: Final = Speaker("T01TEST:U04CARLA", "carla")
CHIEF: Final = Speaker("T01TEST:U05CHIEF", "chief")
DORA: Final = "<@T01TEST:U06DORA|Dora Day>"


async def _goal(net: SlackNet, who: str) -> tuple[Place, Goal]:
    """A goal of Ben's where he is to be its owner, else of Carla's, at work; he has those roles."""
    owner = BEN if who.startswith("owner") else CARLA
    for one in (BEN, CARLA):
        await net.allow(one)
    await net.allow(CHIEF, "admin")
    await net.command("/goal write a haiku", owner)
    [goal] = await net.goals()
    await _let_in(net, who)
    return await net.allow_list.home(goal.session), goal


async def _let_in(net: SlackNet, who: str) -> None:
    await net.allow(CHIEF, "admin")
    if await net.allow_list.roles(channel(), BEN):
        await net.allow_list.remove(Subject("person", "slack", BEN.id))
    for role in ROLES_OF[who]:
        await net.allow(BEN, role)


async def _now(net: SlackNet) -> Goal:
    return (await net.goals())[0]


async def see(net: SlackNet, who: str) -> bool:
    thread, _ = await _goal(net, who)
    await net.press("trace", place=thread, who=BEN)
    return any("journal entries of G1" in text for text in net.whispered(BEN))


async def start(net: SlackNet, who: str) -> bool:
    await _let_in(net, who)
    await net.fill("start", "write a sonnet", who=BEN)
    return bool(await net.goals())


async def aim(net: SlackNet, who: str) -> bool:
    await _let_in(net, who)
    said = await net.say("the tests fail", CARLA)
    await net.fill("aim", "make the tests pass", said, BEN)
    return bool(await net.goals())


async def answer(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    asked = DecisionAsked("d1", "question", content_hash("Which?"), "t1")
    await net.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["Which?"])
    card = net.post("decision")
    await net.fill("answer", "the blue one", card, BEN, net.chat.posts[card].place)
    return (await _now(net)).state is State.READY


async def pause(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    await net.happens(goal, TurnStarted())
    await net.press("pause", net.post("status"), BEN)
    return (await _now(net)).state is State.PAUSED


async def resume(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    await net.happens(goal, TurnStarted())
    await net.press("pause", net.post("status"), CHIEF)
    await net.press("resume", net.post("status"), BEN)
    return (await _now(net)).state is State.READY


async def cancel(net: SlackNet, who: str) -> bool:
    thread, _ = await _goal(net, who)
    await net.press("cancel", place=thread, who=BEN)
    await net.press("cancel G1 yes", place=channel(), who=BEN)
    return (await _now(net)).state is State.CANCELLED


async def undo(net: SlackNet, who: str) -> bool:
    await _goal(net, who)
    await net.press("undo", net.root(), BEN)
    return (await _now(net)).state is State.CANCELLED


async def edit(net: SlackNet, who: str) -> bool:
    thread, _ = await _goal(net, who)
    await net.fill("edit", "write a sonnet instead", net.root(), BEN, thread, goal="G1")
    return (await _now(net)).revision == 2


async def budget(net: SlackNet, who: str) -> bool:
    thread, goal = await _goal(net, who)
    await net.fill("budget", "", net.root(), BEN, thread, budget="5 USD")
    return (await _now(net)).budget != goal.budget


async def hand_over(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    await net.allow(Speaker("T01TEST:U06DORA", "Dora Day"))
    await net.press(f"/goal owner G1 {DORA}", place=channel(), who=BEN)
    return await net.store.doors.offered(goal.id) is not None


async def approve(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    asked = DecisionAsked("d1", "approval", content_hash("rm x"), "t1")
    await net.happens(goal, TurnStarted(), asked, contents=["rm x"])
    await net.press("1", net.post("decision"), BEN)
    return (await _now(net)).state is State.WORKING


async def accept(net: SlackNet, who: str) -> bool:
    _, goal = await _goal(net, who)
    asked = DecisionAsked("d1", "plan", content_hash("1. dig"), "t1")
    await net.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["1. dig"])
    await net.press("1", net.post("decision"), BEN)
    return (await _now(net)).state is State.READY


async def settings(net: SlackNet, who: str) -> bool:
    await _let_in(net, who)
    await net.fill("room", who=BEN, budget_usd="5")
    return net.allow_list.settings(channel()).budget_usd == 5.0


async def allow(net: SlackNet, who: str) -> bool:
    await _let_in(net, who)
    await net.press(f"/goal allow {DORA}", place=channel(), who=BEN)
    return bool(await net.allow_list.roles(channel(), Speaker("T01TEST:U06DORA", "Dora Day")))


async def hold(net: SlackNet, who: str) -> bool:
    await _let_in(net, who)
    await net.press("/goal hold here: look first", place=channel(), who=BEN)
    return bool(await net.store.holds.standing())


PRESSED: Final[list[tuple[Act, Callable[[SlackNet, str], Awaitable[bool]]]]] = [
    (Act.SEE, see),
    (Act.START, start),
    (Act.START, aim),
    (Act.ANSWER, answer),
    (Act.PAUSE, pause),
    (Act.RESUME, resume),
    (Act.CANCEL, cancel),
    (Act.CANCEL, undo),
    (Act.EDIT, edit),
    (Act.BUDGET, budget),
    (Act.HAND_OVER, hand_over),
    (Act.APPROVE, approve),
    (Act.ACCEPT, accept),
    (Act.SETTINGS, settings),
    (Act.ALLOW, allow),
    (Act.HOLD, hold),
]
"""What somebody presses or fills in to do it, and whether it was done."""


@pytest.mark.parametrize(
    ("does", "who", "allowed"),
    [
        pytest.param(does, who, allowed, id=f"{does.__name__}-{who}")
        for act, does in PRESSED
        for of, who, allowed in cells()
        if of is act
    ],
)
async def test_what_is_pressed_does_what_the_cell_says(
    does: Callable[[SlackNet, str], Awaitable[bool]], who: str, allowed: bool
) -> None:
    net = SlackNet()

    done = await does(net, who)

    assert done == allowed
    assert await net.store.inbox.waiting() == ()
    told = net.whispered(BEN)
    why = ("on my list", "You may not", "an admin")
    assert allowed or all(any(one in text for one in why) for text in told)
    if who == "stranger":
        assert len(told) == 1
