"""Invitations, against a real homeserver."""

import asyncio
from pathlib import Path
from typing import Any

from adapters.matrix.invites import CLAIM, invitation_of
from bot.errors import Wait
from bot.ports.chat import Speaker
from tests.adapters.matrix.listening_bed import Ledger, Person, ear, person
from tests.peers.synapse import Synapse


def membership(asker: Person, room: str, user: str) -> str:
    members = asker.do("GET", f"/rooms/{room}/members")["chunk"]
    found = [one["content"]["membership"] for one in members if one["state_key"] == user]
    return str(found[0]) if found else ""


async def test_an_invitation_is_taken_from_the_list_and_declined_from_others(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, eve = synapse.register("bot"), person(synapse), person(synapse, "eve")
    async with ear(synapse, bot, tmp_path / "store", Ledger(), invited=[ann.id]) as hears:
        await hears.settled()
        wanted, unwanted = ann.create(bot.user_id), eve.create(bot.user_id)

        await hears.until(lambda: wanted in hears.client.rooms)
        await hears.until(lambda: membership(eve, unwanted, bot.user_id) == "leave")

    assert membership(ann, wanted, bot.user_id) == "join"


async def test_an_invitation_that_came_meanwhile_is_seen_also_before_the_first_look(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    before = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: before in hears.client.rooms)
    meanwhile = ann.create(bot.user_id)

    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: {before, meanwhile} <= set(hears.client.rooms))


async def test_an_invitation_that_could_not_be_answered_is_answered_after_a_restart(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    asked: list[str] = []

    async def nobody_knows(speaker: Speaker) -> bool:
        asked.append(speaker.id)
        raise Wait("The list cannot be read.")

    async with ear(synapse, bot, tmp_path / "store", ledger, may_invite=nobody_knows) as hears:
        await hears.settled()
        room = ann.create(bot.user_id)
        await hears.until(lambda: asked)
        # The position is past the invitation: no later answer tells of it.
        await hears.settled()
        token = ledger.token

    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)

    assert token is not None


async def test_an_invitation_that_fails_for_the_moment_is_tried_again(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann = synapse.register("bot"), person(synapse)
    failures = [Wait("Not now.", retry_after_s=0.2) for _ in range(2)]

    async def later(speaker: Speaker) -> bool:
        if failures:
            raise failures.pop()
        return True

    async with ear(synapse, bot, tmp_path / "store", Ledger(), may_invite=later) as hears:
        await hears.settled()
        room = ann.create(bot.user_id)
        await hears.until(lambda: room in hears.client.rooms)

    assert not failures


async def test_an_invitation_taken_back_or_from_whoever_banned_us_is_no_fault(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    go = asyncio.Event()

    async def slowly(speaker: Speaker) -> bool:
        await go.wait()
        return True

    async with ear(synapse, bot, tmp_path / "store", ledger, may_invite=slowly) as hears:
        await hears.settled()
        taken_back, banned, twice = (ann.create(bot.user_id) for _ in range(3))
        ann.act(taken_back, "kick", user_id=bot.user_id)
        ann.act(banned, "ban", user_id=bot.user_id)
        await hears.settled()
        go.set()
        await hears.until(lambda: twice in hears.client.rooms)
        await hears.settled()

    assert not ledger.said


async def test_a_claim_lets_a_strangers_private_room_in_and_leaves_it_when_it_has_lapsed(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, eve, ledger = synapse.register("bot"), person(synapse), person(synapse), Ledger()
    is_open, people = [True], {ann.id}

    async def is_claim_open() -> bool:
        return is_open[0]

    async def nobody_yet(speaker: Speaker) -> bool:
        return not is_open[0] and speaker.id in people

    wishes: dict[str, Any] = {"is_claim_open": is_claim_open, "may_invite": nobody_yet}
    async with ear(synapse, bot, tmp_path / "store", ledger, **wishes) as hears:
        await hears.settled()
        group = eve.create(bot.user_id)
        mine, theirs = ann.create(bot.user_id, direct=True), eve.create(bot.user_id, direct=True)
        await hears.until(lambda: {mine, theirs} <= set(hears.client.rooms))
        await hears.until(lambda: membership(eve, group, bot.user_id) == "leave")
    is_open[0] = False

    async with ear(synapse, bot, tmp_path / "store", ledger, **wishes) as hears:
        await hears.until(lambda: membership(eve, theirs, bot.user_id) == "leave")
        mark, account = (
            f"/user/{bot.user_id}/rooms/{mine}/account_data/{CLAIM}",
            Person(synapse, bot),
        )
        await hears.until(lambda: not account.do("GET", mark))

    assert membership(ann, mine, bot.user_id) == "join"


async def test_a_space_is_joined_and_not_listened_to(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        space = ann.create(bot.user_id, creation_content={"type": "m.space"})
        room = ann.create(bot.user_id)
        await hears.until(lambda: {space, room} <= set(hears.client.rooms))
        ann.say(space, "into the void")
        ann.say(room, "hello")
        await hears.until(lambda: ledger.said)

    assert ledger.texts == ["hello"]


async def test_a_room_is_joined_again_after_it_was_lost(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.act(room, "kick", user_id=bot.user_id)
        await hears.until(lambda: room not in hears.client.rooms)
        ann.say(room, "without you")
        ann.act(room, "invite", user_id=bot.user_id)
        await hears.until(lambda: room in hears.client.rooms)
        ann.say(room, "with you")
        await hears.until(lambda: "with you" in ledger.texts)

    kinds = [type(one).__name__ for one in ledger.said.values()]
    assert kinds == ["RoomLost", "Incoming"]


def test_an_invitation_is_of_us_and_by_whoever_sent_it() -> None:
    events = [
        {"type": "m.room.create", "content": {"type": "m.space"}},
        {
            "type": "m.room.member", "state_key": "@ann:x", "sender": "@ann:x",
            "content": {"membership": "join", "displayname": "Ann"},
        },
        {
            "type": "m.room.member", "state_key": "@bot:x", "sender": "@ann:x",
            "content": {"membership": "invite", "is_direct": True},
        },
    ]  # fmt: skip

    found = invitation_of("!r", {"invite_state": {"events": events}}, "@bot:x")

    assert found is not None
    assert (found.by, found.is_direct) == (Speaker("@ann:x", "Ann"), True)
    assert invitation_of("!r", {"invite_state": {"events": [None, 3, {}]}}, "@bot:x") is None
    assert invitation_of("!r", {}, "@bot:x") is None
