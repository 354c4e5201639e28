"""What every inbox does with what networks give: batches, answers, edits, reactions, removals, files."""

from dataclasses import replace
from typing import Any, cast

import pytest

from bot.errors import HeadwayError
from bot.goals.events import GoalOpened
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import (
    REACTION,
    REMOVAL,
    Arrival,
    Attachment,
    Changed,
    Incoming,
    Place,
    Reacted,
    Removed,
    RoomLost,
    RoomMoved,
    Speaker,
    Unreacted,
)
from bot.ports.journal import Content
from bot.ports.positions import Position
from tests.contracts.stores import ANN, Bed

BEN = Speaker("U2", "Ben")
HOUSE = Place("matrix", "@bot:here", "!house")
ELSEWHERE = Place("matrix", "@bot:here", "!elsewhere")
UPTO = Position("matrix", "@bot:here", "s1")


def said(bed: Bed, text: str = "hello", reply_to: str = "", **more: Any) -> Incoming:
    """A message in a room's main timeline."""
    return Incoming(f"$m{next(bed.ids)}", HOUSE, ANN, text, 5.0, reply_to, **more)


async def threads(bed: Bed) -> dict[str, str]:
    """The thread of each message that waits."""
    return {row.message.id: row.message.place.thread for row in await bed.inbox.waiting()}


async def ours(bed: Bed, thread: str) -> str:
    """A message of ours in a thread; returns its remote id."""
    session = (await bed.rooms.begin(replace(HOUSE, thread=thread))).session
    key, remote = f"k{next(bed.ids)}", f"$ours{next(bed.ids)}"
    await bed.outbox.say(session, key, "an answer")
    await bed.outbox.claim("matrix", limit=9)
    await bed.outbox.sent(key, remote)
    return remote


class ArrivalsContract:
    """Subclasses give a fixture `bed`."""

    async def test_what_came_is_stored_in_its_order_and_once(self, bed: Bed) -> None:
        one, two = said(bed), said(bed)
        reacted = Reacted("$r", HOUSE, BEN, "👍", one.id, 6.0)
        lost = RoomLost("$lost", HOUSE, BEN, "kicked", 7.0, "too loud")
        moved = RoomMoved("$moved", HOUSE, BEN, "!new", 8.0)

        first = await bed.inbox.receive_all((one, reacted, lost, moved), UPTO)
        again = await bed.inbox.receive_all((one, two, reacted), UPTO)

        waiting = [row.message for row in await bed.inbox.waiting()]
        assert (first, again) == (4, 1)
        assert waiting == [one, reacted.as_message, lost.as_message, moved.as_message, two]

    async def test_files_and_whether_it_is_an_aside_come_back(self, bed: Bed) -> None:
        files = (
            Attachment("b.png", "image/png", 7, "b" * 64),
            Attachment("a \x00\ud800.txt", "text/plain", 2**40, "a" * 64),
        )
        message, plain = said(bed, is_aside=True, files=files), said(bed)

        await bed.inbox.receive_all((message, plain, replace(message, files=files[:1])))

        assert [row.message for row in await bed.inbox.waiting()] == [message, plain]
        heeded = await bed.doors.heeded(message.id)
        assert heeded is not None
        assert heeded.message == message

    async def test_how_it_was_said_comes_back_with_its_form_and_its_way_back(
        self, bed: Bed
    ) -> None:
        form = (("act", "start"), ("budget", '4 \x00\ud800 "é"'), ("budget", "again"), ("", ""))
        filled = said(bed, "do it", via="form", form=form, way_back="https://hooks.example/1")
        pressed = said(bed, "pause", reply_to="$card", via="button")
        typed = said(bed, "/goal list", via="command")
        await bed.inbox.receive_all((filled, pressed, typed))

        waiting = [row.message for row in await bed.inbox.waiting()]
        heeded = [await bed.doors.heeded(one.id) for one in waiting]
        last = await bed.doors.last_heeded(HOUSE, await bed.rooms.person("matrix", ANN), typed.id)

        assert waiting == [filled, pressed, typed]
        assert [one.message for one in heeded if one] == waiting
        assert last is not None
        assert last.message == pressed
        assert waiting[0].act == "start"

    async def test_a_form_goes_with_what_it_said(self, bed: Bed) -> None:
        filled = said(bed, "our salaries", via="form", form=(("act", "start"), ("budget", "4")))
        await bed.inbox.receive_all((filled,))

        await bed.inbox.remove(Removed(filled.id, HOUSE, ANN, 7.0))

        gone = await bed.doors.heeded(filled.id)
        assert gone is not None
        assert (gone.message.text, gone.message.form) == ("", ())

    async def test_a_reaction_that_names_no_id_is_taken_away_as_the_last_one_of_its_kind(
        self, bed: Bed
    ) -> None:
        card = await ours(bed, "$root")
        signs = [
            Reacted("$one", HOUSE, ANN, "✅", card, 6.0),
            Reacted("$two", HOUSE, ANN, "✅", card, 7.0),
            Reacted("$aim", HOUSE, ANN, "🎯", card, 8.0, "the text"),
            Reacted("$theirs", HOUSE, BEN, "✅", card, 9.0),
            Reacted("$else", HOUSE, ANN, "✅", "$other", 9.0),
        ]
        await bed.inbox.receive_all(signs)
        undone = [
            Unreacted(HOUSE, ANN, "✅", card, 9.5),
            Unreacted(HOUSE, ANN, "🎯", card, 9.6),
            Unreacted(HOUSE, ANN, "👍", card, 9.7),
            Unreacted(HOUSE, BEN, "✅", "$unheard-of", 9.8),
        ]

        stored = await bed.inbox.receive_all(undone)

        waiting = [row.message for row in await bed.inbox.waiting()]
        assert stored == 2
        assert [one.id for one in waiting[5:]] == [f"{REMOVAL}$two", f"{REMOVAL}$aim"]
        assert waiting[5].place.thread == "$root"
        assert waiting[5].speaker == ANN

    async def test_a_reaction_is_taken_away_once_however_often_that_is_told(self, bed: Bed) -> None:
        card = await ours(bed, "$root")
        put = [Reacted(f"${n}", HOUSE, ANN, "🎯", card, at) for n, at in (("a", 1.0), ("b", 3.0))]
        first, second = (Unreacted(HOUSE, ANN, "🎯", card, at) for at in (2.0, 4.0))
        await bed.inbox.receive_all((put[0], first, put[1]))

        late = await bed.inbox.receive_all((first,))
        once, again = [await bed.inbox.receive_all((second,)) for _ in range(2)]

        gone = [one.message.id for one in await bed.inbox.waiting() if one.message.reply_to != card]
        assert (late, once, again) == (0, 1, 0)
        assert gone == [f"{REMOVAL}$a", f"{REMOVAL}$b"]

    async def test_the_loss_of_a_whole_workspace_waits_in_no_room(self, bed: Bed) -> None:
        lost = RoomLost("$gone", replace(HOUSE, room=""), BEN, "uninstalled", 7.0, "by an admin")

        stored = [await bed.inbox.receive_all((lost,)) for _ in range(2)]

        assert stored == [1, 0]
        assert [row.message for row in await bed.inbox.waiting()] == [lost.as_message]

    async def test_an_answer_to_what_opened_a_thread_is_said_in_it(self, bed: Bed) -> None:
        root = said(bed)
        await bed.inbox.receive_all((root,))
        await bed.inbox.handled(root.id)
        await bed.rooms.begin(replace(HOUSE, thread=root.id))
        answer = said(bed, reply_to=root.id)
        edit = Changed(root.id, HOUSE, ANN, "better", 6.0)
        reaction = Reacted("$r", HOUSE, BEN, "👍", root.id, 6.0)
        removal = Removed(root.id, HOUSE, ANN, 7.0)

        await bed.inbox.receive_all((answer, edit, reaction, removal))

        found = await threads(bed)
        assert len(found) == 4
        assert set(found.values()) == {root.id}

    async def test_an_answer_to_a_message_of_ours_is_said_in_its_thread(self, bed: Bed) -> None:
        remote, elsewhere = await ours(bed, "$root"), said(bed, reply_to="$unheard-of")

        answer = said(bed, reply_to=remote)
        foreign = replace(said(bed, reply_to=remote), place=ELSEWHERE)
        own = replace(said(bed, reply_to=remote), place=replace(HOUSE, thread="$own"))
        await bed.inbox.receive_all((answer, elsewhere, foreign, own))

        assert await threads(bed) == {
            answer.id: "$root", elsewhere.id: "", foreign.id: "", own.id: "$own",
        }  # fmt: skip

    async def test_an_answer_to_what_was_said_in_a_thread_is_said_there_too(self, bed: Bed) -> None:
        inside = replace(said(bed), place=replace(HOUSE, thread="$root"))
        first = said(bed, reply_to=inside.id)
        second = said(bed, reply_to=first.id)

        await bed.inbox.receive_all((inside, first, second))

        assert set((await threads(bed)).values()) == {"$root"}

    async def test_what_answers_a_message_that_waits_waits_behind_it(self, bed: Bed) -> None:
        root = said(bed)
        await bed.inbox.receive_all((root,))
        await bed.rooms.begin(replace(HOUSE, thread=root.id))

        edit = Changed(root.id, HOUSE, ANN, "better", 6.0)
        await bed.inbox.receive_all((edit,))

        assert set((await threads(bed)).values()) == {""}

    async def test_an_edit_by_anybody_but_the_author_counts_for_nothing(self, bed: Bed) -> None:
        message = said(bed)
        theirs = Changed(message.id, HOUSE, BEN, "pay Ben", 6.0)
        own = Changed(message.id, HOUSE, ANN, "pay nobody", 7.0)
        unknown = Changed("$before-we-came", HOUSE, BEN, "old", 7.0)

        stored = await bed.inbox.receive_all((message, theirs, own, unknown))

        waiting = [row.message for row in await bed.inbox.waiting()]
        assert stored == 3
        assert waiting == [message, own.as_message, unknown.as_message]

    async def test_a_reaction_is_taken_away_by_its_own_id(self, bed: Bed) -> None:
        card = await ours(bed, "$root")
        yes = Reacted("$yes", HOUSE, ANN, "✅", card, 6.0)
        also = Reacted("$also", HOUSE, BEN, "✅", card, 6.0)
        await bed.inbox.receive_all((yes, also))

        removed = Removed("$yes", HOUSE, ANN, 7.0)
        stored = await bed.inbox.receive_all((removed, removed))

        waiting = {row.message.id: row.message for row in await bed.inbox.waiting()}
        gone = waiting[removed.as_message.id]
        was = await bed.doors.heeded(f"{REACTION}$yes")
        assert stored == 1
        assert (gone.reply_to, gone.text, gone.place.thread) == ("$yes", "", "$root")
        assert waiting[also.as_message.id].text == "✅"
        assert was is not None
        assert (was.message.reply_to, was.message.speaker.id) == (card, ANN.id)

    async def test_files_edits_and_reactions_that_repeat_it_go_with_a_message(
        self, bed: Bed
    ) -> None:
        file = Attachment("salaries.xlsx", "text/plain", 7, "b" * 64)
        message = said(bed, "our salaries", files=(file,))
        edit = Changed(message.id, HOUSE, ANN, "our salaries, all of them", 6.0)
        same = Changed(message.id, HOUSE, ANN, "our salaries", 6.5)
        goals = [Reacted(f"$r{n}", HOUSE, BEN, "🎯", message.id, 7.0, "our salaries") for n in "12"]
        nod = Reacted("$nod", HOUSE, BEN, "👍", message.id, 7.0)
        arrivals: tuple[Arrival, ...] = (message, edit, same, *goals, nod)
        await bed.inbox.receive_all(arrivals)

        await bed.inbox.receive_all((Removed(message.id, HOUSE, BEN, 8.0),))

        waiting = [row.message for row in await bed.inbox.waiting()]
        assert {one.text for one in waiting} == {"", "👍"}
        assert [one.files for one in waiting] == [()] * 7
        assert waiting[-1].speaker.id == BEN.id

    async def test_what_was_made_of_it_by_who_aimed_at_it_goes_as_well(self, bed: Bed) -> None:
        message = said(bed, "our salaries")
        await bed.inbox.receive_all((message,))
        await bed.inbox.handled(message.id)
        await bed.time.pass_by(5)
        aim = Reacted("$aim", HOUSE, BEN, "🎯", message.id, 7.0)
        await bed.inbox.receive_all((aim,))
        ann, ben = [await bed.rooms.person("matrix", who) for who in (ANN, BEN)]
        thread = await bed.rooms.begin_new(HOUSE, "$aim")
        objective = Content("our salaries", ann)
        event = GoalOpened("g", thread.session, 0, ben, objective.hash, DEFAULT_BUDGET)
        await bed.journal.open(
            event, [objective], (aim.as_message.id,), root=lambda _: "on: our salaries"
        )
        [root] = await bed.outbox.claim("matrix", limit=9)
        hashes = [objective.hash, root.content]
        before = await bed.journal.contents(thread.session, hashes)

        await bed.inbox.receive_all((Removed(message.id, HOUSE, ANN, 8.0),))

        assert len(before) == 2
        assert await bed.journal.contents(thread.session, hashes) == {}

    async def test_what_a_copy_brought_along_of_it_goes_as_well(self, bed: Bed) -> None:
        message = said(bed, "our salaries")
        await bed.inbox.receive_all((message,))
        ann, ben = [await bed.rooms.person("matrix", who) for who in (ANN, BEN)]
        words = Content("our salaries", ann)
        first = await bed.rooms.begin_new(HOUSE, "$first")
        event = GoalOpened("g", first.session, 0, ann, words.hash, DEFAULT_BUDGET)
        await bed.journal.open(event, [words], (message.id,))
        await bed.time.pass_by(5)
        thread = await bed.rooms.begin_new(replace(HOUSE, room="!elsewhere:peers"), "$copy")
        copy = replace(event, goal="h", session=thread.session, owner=ben, forks="g", fork_seq=1)
        texts = [Content(words.text, ben), Content("of ben's own", ben)]
        await bed.journal.open(copy, texts, root=lambda _: "on: our salaries")
        roots = [one.content for one in await bed.outbox.claim("matrix", limit=9)]
        hashes = [words.hash, texts[1].hash, *roots]
        before = await bed.journal.contents(thread.session, hashes)

        await bed.inbox.receive_all((Removed(message.id, HOUSE, ANN, 8.0),))

        assert len(before) == 3
        assert await bed.journal.contents(thread.session, hashes) == {texts[1].hash: "of ben's own"}

    async def test_what_a_reaction_quoted_goes_where_the_message_never_came(self, bed: Bed) -> None:
        await bed.inbox.receive_all((Reacted("$r", HOUSE, BEN, "🎯", "$old", 7.0, "a slip"),))

        stored = await bed.inbox.receive_all((Removed("$old", HOUSE, ANN, 8.0),))

        assert stored == 1
        assert [row.message.text for row in await bed.inbox.waiting()] == ["", ""]

    async def test_what_of_ours_stands_under_an_id_is_told(self, bed: Bed) -> None:
        remote = await ours(bed, "$root")

        found = await bed.rooms.posted(HOUSE, remote)

        assert found is not None
        assert (found.kind, found.goal, found.place) == (
            "reply", "", replace(HOUSE, thread="$root"),
        )  # fmt: skip
        assert await bed.rooms.posted(ELSEWHERE, remote) is None
        assert await bed.rooms.posted(HOUSE, "") is None
        assert await bed.rooms.posted(HOUSE, "$unheard-of") is None


class BatchContract:
    """Subclasses give a fixture `bed`, of a store with transactions."""

    async def test_a_batch_that_fails_leaves_nothing_of_itself(self, bed: Bed) -> None:
        await bed.inbox.receive_all((said(bed),), UPTO)
        broken = replace(said(bed), speaker=Speaker("U3", cast(str, object())))
        file = Attachment("a", "text/plain", 1, "a" * 64)

        with pytest.raises(HeadwayError):
            await bed.inbox.receive_all(
                (said(bed, files=(file,)), broken), replace(UPTO, token="s2")
            )

        assert len(await bed.inbox.waiting()) == 1
        assert await bed.positions.position("matrix", "@bot:here") == "s1"
