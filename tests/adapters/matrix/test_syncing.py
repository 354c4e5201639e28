"""The loop that reads, against a real homeserver."""

from pathlib import Path

from bot.ports.chat import Changed, Incoming, Reacted, Removed, RoomLost, RoomMoved
from tests.adapters.matrix.listening_bed import Ledger, ear, person
from tests.peers.synapse import Synapse


async def test_what_is_said_after_the_first_look_comes_in_order(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)

        said = [ann.say(room, f"word {number}") for number in range(5)]
        await hears.until(lambda: len(ledger.said) == 5)

    assert list(ledger.said) == said
    first = ledger.said[said[0]]
    assert isinstance(first, Incoming)
    assert (first.text, first.speaker.id, first.place.room) == ("word 0", ann.id, room)
    assert first.place.workspace == bot.user_id


async def test_on_the_first_look_ever_history_is_history(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, ledger = person(synapse, "bot"), person(synapse), Ledger()
    room = ann.create(bot.id)
    bot.do("POST", f"/join/{room}")
    for number in range(3):
        ann.say(room, f"old {number}")

    async with ear(synapse, bot.account, tmp_path / "store", ledger) as hears:
        await hears.settled()
        ann.say(room, "new")
        await hears.until(lambda: ledger.said)

    assert ledger.texts == ["new"]


async def test_what_was_said_in_between_two_processes_comes_once_and_in_order(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
    for number in range(330):
        ann.say(room, f"word {number}")

    async with ear(synapse, bot, tmp_path / "store", ledger) as hears:
        await hears.until(lambda: "word 329" in ledger.texts)

    assert ledger.texts == [f"word {number}" for number in range(330)]
    assert len(ledger.given) == 330


async def test_a_history_that_is_older_than_the_bot_in_the_room_is_not_acted_on(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create()
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.settled()
    for number in range(120):
        ann.say(room, f"before {number}")
    ann.act(room, "invite", user_id=bot.user_id)

    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.say(room, "after")
        await hears.until(lambda: ledger.said)

    assert ledger.texts == ["after"]


async def test_a_join_by_another_client_of_the_account_ends_the_history_within_a_gap(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = person(synapse, "bot"), person(synapse), Ledger()
    async with ear(synapse, bot.account, tmp_path / "store", ledger) as hears:
        await hears.settled()
    room = ann.create(bot.id)
    for number in range(70):
        ann.say(room, f"before {number}")
    bot.do("POST", f"/join/{room}")
    for number in range(120):
        ann.say(room, f"after {number}")

    async with ear(synapse, bot.account, tmp_path / "store", ledger) as hears:
        await hears.until(lambda: "after 119" in ledger.texts)

    assert ledger.texts == [f"after {number}" for number in range(120)]


async def test_edits_removals_and_reactions_come_as_what_they_are(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, bob, ledger = synapse.register("bot"), person(synapse), person(synapse), Ledger()
    room = ann.create(bot.user_id, bob.id)
    bob.do("POST", f"/join/{room}")
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        said = ann.say(room, "Fix the login")
        new = {"msgtype": "m.text", "body": "Fix the logout"}
        relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": said}}
        ann.send(room, {**new, "body": "* x", "m.new_content": new, **relation})
        bob.send(room, {**new, "body": "* x", "m.new_content": new, **relation})
        goal = {"rel_type": "m.annotation", "event_id": said, "key": "\N{DIRECT HIT}"}
        ann.send(room, {"m.relates_to": goal}, "m.reaction")
        ann.send(room, {"m.relates_to": goal | {"key": "+1"}}, "m.reaction")
        await hears.until(lambda: len(ledger.said) == 4)
        ann.redact(room, said)
        await hears.until(lambda: any(isinstance(one, Removed) for one in ledger.said.values()))

    kinds = [type(one).__name__ for one in ledger.said.values()]
    assert kinds == ["Incoming", "Changed", "Reacted", "Reacted", "Removed"]
    _, changed, target, thumb, removed = ledger.said.values()
    assert isinstance(changed, Changed)
    assert (changed.id, changed.text, changed.speaker.id) == (said, "Fix the logout", ann.id)
    assert isinstance(target, Reacted)
    assert isinstance(thumb, Reacted)
    assert (target.to, target.text, thumb.text) == (said, "Fix the logout", "")
    assert isinstance(removed, Removed)
    assert removed.id == said


async def test_a_room_that_is_lost_says_how_and_by_whom(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    kicked, banned = ann.create(bot.user_id), ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: {kicked, banned} <= set(hears.client.rooms))
        ann.say(kicked, "the last word")
        ann.act(kicked, "kick", user_id=bot.user_id, reason="too loud")
        await hears.until(lambda: len(ledger.said) == 2)
    ann.act(banned, "ban", user_id=bot.user_id, reason="for good")
    async with ear(synapse, bot, tmp_path / "store", ledger) as hears:
        await hears.until(lambda: len(ledger.said) == 3)

        assert kicked not in hears.client.rooms

    said, kick, ban = ledger.said.values()
    assert isinstance(said, Incoming)
    assert isinstance(kick, RoomLost)
    assert isinstance(ban, RoomLost)
    assert (kick.how, kick.reason, kick.speaker.id) == ("kicked", "too loud", ann.id)
    assert (ban.how, ban.reason, ban.place.room) == ("banned", "for good", banned)


async def test_a_room_is_followed_when_it_is_replaced(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    public = ann.create(preset="public_chat", room_version="11")
    private = ann.create(bot.user_id, room_version="11")
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        ann.act(public, "invite", user_id=bot.user_id)
        await hears.until(lambda: {public, private} <= set(hears.client.rooms))
        next_public = ann.act(public, "upgrade", new_version="12")["replacement_room"]
        await hears.until(lambda: len(ledger.said) == 1)
        next_private = ann.act(private, "upgrade", new_version="12")["replacement_room"]
        await hears.settled()
        ann.act(next_private, "invite", user_id=bot.user_id)
        await hears.until(lambda: len(ledger.said) == 2)
        ann.say(next_private, "on we go")
        await hears.until(lambda: len(ledger.said) == 3)

    moves = [one for one in ledger.said.values() if isinstance(one, RoomMoved)]
    assert [(one.place.room, one.to) for one in moves] == [
        (public, next_public),
        (private, next_private),
    ]


async def test_a_room_that_only_says_it_is_the_next_one_moves_nothing(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, eve, ledger = synapse.register("bot"), person(synapse), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id, eve.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        claim = {"predecessor": {"room_id": room, "event_id": "$x"}}
        fake = eve.create(bot.user_id, creation_content=claim)
        await hears.until(lambda: fake in hears.client.rooms)
        eve.say(fake, "hello")
        await hears.until(lambda: ledger.said)

    assert ledger.texts == ["hello"]
    assert len(ledger.said) == 1
