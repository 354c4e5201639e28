"""Whom a card calls: its goal's owner, and, where they may not answer, who may."""

from dataclasses import replace

import pytest

from bot.goals.events import DecisionAsked, TurnEnded
from bot.goals.goal import DecisionKind
from bot.ports.journal import content_hash
from bot.ports.room_settings import DEFAULTS, RoomSettings
from tests.bot.chat.slack_net import ANN, BEN, SlackNet
from tests.bot.chat.turns import began


async def called(
    net: SlackNet, kind: DecisionKind, approvers: tuple[str, ...], room: RoomSettings
) -> tuple[str, ...]:
    await net.allow(ANN)
    net.delivery.concerned.approvers = lambda place: approvers
    net.delivery.concerned.settings = lambda place: room
    await net.command("/goal write a haiku about tides")
    goal = (await net.goals())[-1]
    ends = () if kind == "approval" else (TurnEnded("done"),)
    asked = DecisionAsked("d", kind, content_hash("May I?"), "t")
    await net.happens(goal, *began(goal), asked, *ends, contents=["May I?"])
    return net.chat.posts[net.post("decision")].shape.mentions


@pytest.mark.parametrize(
    ("approvers", "room", "others"),
    [
        ((), DEFAULTS, ()),
        ((BEN.id,), DEFAULTS, (BEN.id,)),
        ((ANN.id, BEN.id), DEFAULTS, ()),
        ((BEN.id,), replace(DEFAULTS, self_approve=True), ()),
        ((ANN.id, BEN.id), replace(DEFAULTS, four_eyes=True), (BEN.id,)),
    ],
)
async def test_an_approval_calls_its_owner_and_who_may_answer_in_their_place(
    slack: SlackNet, approvers: tuple[str, ...], room: RoomSettings, others: tuple[str, ...]
) -> None:
    assert await called(slack, "approval", approvers, room) == (ANN.id, *others)


@pytest.mark.parametrize("kind", ["question", "plan", "sign_off", "review"])
async def test_all_else_calls_its_owner_alone(slack: SlackNet, kind: DecisionKind) -> None:
    assert await called(slack, kind, (BEN.id,), DEFAULTS) == (ANN.id,)


async def test_a_card_says_who_may_answer(slack: SlackNet) -> None:
    four = replace(DEFAULTS, four_eyes=True)

    await called(slack, "approval", (BEN.id,), four)

    shape = slack.chat.posts[slack.post("decision")].shape
    assert "Answered by an approver or an admin who is not its owner." in shape.notes
