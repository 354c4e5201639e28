"""What every inbox and outbox does."""

from dataclasses import replace

import pytest

from bot.errors import IllegalMove
from bot.goals.events import (
    Audited,
    Cancelled,
    DecisionAnswered,
    DecisionAsked,
    Paused,
    Resumed,
    TurnStarted,
    Undone,
)
from bot.goals.goal import Goal
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Reply
from bot.ports.mail import Due
from bot.ports.people import Answer, Note
from tests.contracts.stores import ANN, Bed


class InboxContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_message_is_stored_once_and_as_it_was_said(self, bed: Bed) -> None:
        message = bed.message("nul \x00 and \ud800", Place("slack", "w", "r", ""))

        first = await bed.inbox.receive(message)
        again = await bed.inbox.receive(message)

        [received] = await bed.inbox.waiting()
        assert (first, again) == (True, False)
        assert received.message == message
        assert received.attempts == 0

    async def test_messages_wait_in_order_of_arrival(self, bed: Bed) -> None:
        messages = [bed.message("same text") for _ in range(4)]
        for message in messages:
            await bed.inbox.receive(message)

        await bed.inbox.handled(messages[1].id)
        waiting = await bed.inbox.waiting()

        assert [one.message for one in waiting] == [messages[0], *messages[2:]]
        assert [one.sequence for one in waiting] == sorted(one.sequence for one in waiting)

    async def test_the_third_failure_is_the_last(self, bed: Bed) -> None:
        message = bed.message()
        await bed.inbox.receive(message)

        counts = [await bed.inbox.failed(message.id, "why") for _ in range(2)]
        [received] = await bed.inbox.waiting()
        counts.append(await bed.inbox.failed(message.id, "why"))

        assert counts == [1, 2, 3]
        assert received.attempts == 2
        assert await bed.inbox.waiting() == ()
        assert not await bed.inbox.receive(message)

    async def test_what_does_not_wait_is_not_handled(self, bed: Bed) -> None:
        message = bed.message()
        await bed.inbox.receive(message)
        await bed.inbox.handled(message.id)

        for id in (message.id, "unheard of"):
            with pytest.raises(IllegalMove):
                await bed.inbox.handled(id)

    async def test_a_goal_s_opening_handles_the_message_that_it_came_from(self, bed: Bed) -> None:
        message = bed.message("do it")
        await bed.inbox.receive(message)

        await bed.open(handled=(message.id,))

        assert await bed.inbox.waiting() == ()
        assert not await bed.inbox.receive(message)

    async def test_the_speaker_is_one_person_everywhere(self, bed: Bed) -> None:
        message = bed.message()
        await bed.inbox.receive(message)

        person = await bed.rooms.person("console", message.speaker)

        assert person == await bed.rooms.person("console", Speaker(message.speaker.id, "Anna"))
        [received] = await bed.inbox.waiting()
        assert received.message.speaker.id == message.speaker.id


class OutboxContract:
    """Subclasses give a fixture `bed`."""

    async def test_what_a_command_is_answered_is_queued_with_what_it_did(self, bed: Bed) -> None:
        goal, message = await bed.open(), bed.message()
        await bed.inbox.receive(message)
        reply = Reply(goal.session, "reply:1", lambda applied: f"{applied.rules[-1]} \x00")
        wrong = Reply(goal.session, "reply:2", lambda applied: applied.rules[7])

        await bed.commit(goal, Paused("p"), handled=(message.id,), reply=reply)
        with pytest.raises(IndexError):
            await bed.commit(goal, Resumed("p"), reply=wrong)

        due = [one for one in await bed.outbox.claim("console", limit=9) if one.kind == "reply"]
        texts = await bed.journal.contents(goal.session, [one.content for one in due])
        assert [one.key for one in due] == ["reply:1"]
        assert list(texts.values()) == ["paused \x00"]
        assert (await bed.journal.goal(goal.id)).state == "paused"
        assert await bed.inbox.waiting() == ()

    async def test_what_concerns_one_alone_says_whom(self, bed: Bed) -> None:
        thread = await bed.rooms.begin(bed.place("slack"))
        ann = await bed.rooms.person("slack", ANN)
        await bed.outbox.say(thread.session, "reply:1", "for you", only_for=ann, reason="again")
        await bed.outbox.say(thread.session, "reply:1", "for all")
        other = await bed.rooms.begin(bed.place("slack"))
        note = Note(other.session, "reply:2", "yours", only_for=ann)
        setting = ("mentions", "ask")

        await bed.people.set_for_room(other.place, *setting, by="", answer=Answer((note,)))

        due = await bed.outbox.claim("slack", limit=9)
        assert [(one.key, one.only_for, one.reason) for one in due] == [
            ("reply:1", ann, "again"), ("reply:2", ann, ""),
        ]  # fmt: skip

    async def test_what_waits_in_a_workspace_is_withdrawn_in_all_its_rooms(self, bed: Bed) -> None:
        places = [
            Place("slack", "T01", "C01", "1.1"), Place("slack", "T01", "C02", "1.2"),
            Place("slack", "T02", "C01", "1.3"), Place("matrix", "T01", "C01", "1.4"),
        ]  # fmt: skip
        for number, place in enumerate(places):
            thread = await bed.rooms.begin(place)
            await bed.outbox.say(thread.session, f"k{number}", "hello")

        gone = await bed.outbox.give_up(Place("slack", "T01", ""), "uninstalled")

        left = [*await bed.keys("slack"), *await bed.keys("matrix")]
        assert (gone, left) == (2, ["k2", "k3"])

    async def test_what_failed_in_a_workspace_is_tried_again_in_all_its_rooms(
        self, bed: Bed
    ) -> None:
        goals = [await bed.open(place=Place("slack", workspace, f"C{number}", "1.1"))
                 for number, workspace in enumerate(("T01", "T01", "T02"))]  # fmt: skip
        for goal in goals:
            await bed.commit(goal, TurnStarted())
            await bed.commit(goal, DecisionAsked("d1", "approval", "text", "tool"))
        for due in await bed.outbox.claim("slack", limit=9):
            await bed.outbox.failed(due.key, "uninstalled")

        keys = await bed.outbox.again(Place("slack", "T01", ""), within_s=60)

        assert sorted(keys) == sorted(f"{goal.id}:decision:1" for goal in goals[:2])

    async def test_what_is_of_one_workspace_may_be_claimed_alone(self, bed: Bed) -> None:
        here, there = Place("console", "here", "room", "t"), Place("console", "there", "room", "t")
        for place in (here, there, here):
            thread = await bed.rooms.begin(place)
            await bed.outbox.say(thread.session, f"k{next(bed.ids)}", "hello")

        theirs = await bed.outbox.claim("console", limit=9, workspace="there")
        nobody_s = await bed.outbox.claim("console", limit=9, workspace="nowhere")
        rest = await bed.outbox.claim("console", limit=9)

        assert [due.place for due in theirs] == [there]
        assert nobody_s == ()
        assert [due.place for due in rest] == [here]

    async def test_the_status_is_shown_after_five_seconds_and_once(self, bed: Bed) -> None:
        goal = await bed.work()

        early = await bed.keys()
        await bed.time.pass_by(6)
        [due] = await bed.outbox.claim("console", limit=9)

        assert early == []
        assert (due.kind, due.goal, due.session, due.remote) == (
            "status",
            goal.id,
            goal.session,
            "",
        )
        assert await bed.keys() == []

    async def test_the_status_message_is_edited_with_a_key_of_its_own(self, bed: Bed) -> None:
        goal, first = await _shown(bed)

        await bed.commit(goal, Paused(goal.owner))
        await bed.commit(goal, Resumed(goal.owner))
        [edit] = await bed.outbox.claim("console", limit=9)

        assert edit.remote == "r1"
        assert edit.key != first.key

    async def test_what_changes_while_a_status_is_sent_is_shown_after_it(self, bed: Bed) -> None:
        goal = await bed.work()
        await bed.time.pass_by(6)
        [first] = await bed.outbox.claim("console", limit=9)
        await bed.commit(goal, Paused(goal.owner))

        meanwhile = await bed.keys()
        await bed.outbox.sent(first.key, "r1")
        [second] = await bed.outbox.claim("console", limit=9)

        assert meanwhile == []
        assert (second.kind, second.remote) == ("status", "r1")

    async def test_moves_of_the_work_are_told_together_and_its_rest_at_once(self, bed: Bed) -> None:
        goal = await bed.open()
        await bed.time.pass_by(6)
        [first] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(first.key, "r1")
        turn = (await bed.turn(goal)).goal

        at_work = await bed.keys()
        await bed.time.pass_by(3)
        [told] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(told.key, "r1")
        await bed.commit(goal, Audited(turn.revision, turn.turn, turn.messages, "continue"))
        still = await bed.keys()
        await bed.commit(goal, Paused(goal.owner))
        [rests] = await bed.outbox.claim("console", limit=9)

        assert at_work == still == []
        assert told.kind == rests.kind == "status"

    async def test_a_status_that_its_network_put_off_is_not_brought_forward(self, bed: Bed) -> None:
        goal, _ = await _shown(bed)
        await bed.commit(goal, Paused(goal.owner))
        [put_off] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.later(put_off.key, 30)

        await bed.commit(goal, Resumed(goal.owner))

        assert await bed.keys() == []
        await bed.time.pass_by(30)
        assert await bed.keys() == [put_off.key]

    async def test_a_goal_that_ends_at_once_shows_its_result_and_no_status(self, bed: Bed) -> None:
        goal = await bed.open()
        turn = (await bed.turn(goal)).goal
        await bed.commit(goal, Audited(turn.revision, turn.turn, turn.messages, "complete"))

        [due] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(due.key, "r")
        await bed.time.pass_by(60)

        assert (due.kind, due.content, due.reason) == ("complete", turn.reply, "complete")
        assert await bed.keys() == []

    async def test_a_goal_whose_status_is_shown_shows_its_end_there_too(self, bed: Bed) -> None:
        goal, _ = await _shown(bed)

        await bed.commit(goal, Cancelled(goal.owner))

        [due] = await bed.outbox.claim("console", limit=9)
        assert (due.kind, due.remote) == ("status", "r1")

    async def test_threads_go_side_by_side_and_each_in_its_order(self, bed: Bed) -> None:
        here = await bed.rooms.begin(bed.place())
        there = await bed.rooms.begin(bed.place())
        for session, key in ((here, "a1"), (here, "a2"), (there, "b1"), (here, "a3")):
            await bed.outbox.say(session.session, key, f"text {key}")

        first = await bed.keys()
        nothing = await bed.keys()
        await bed.outbox.sent("a1", "r")
        second = await bed.keys()

        assert first == ["a1", "b1"]
        assert nothing == []
        assert second == ["a2"]

    async def test_a_limit_is_kept(self, bed: Bed) -> None:
        for n in range(4):
            session = await bed.rooms.begin(bed.place())
            await bed.outbox.say(session.session, f"k{n}", "x")

        assert await bed.keys(limit=3) == ["k0", "k1", "k2"]
        assert await bed.keys(limit=3) == ["k3"]

    async def test_a_network_gets_its_own(self, bed: Bed) -> None:
        slack = await bed.rooms.begin(bed.place("slack"))
        await bed.outbox.say(slack.session, "s", "x")

        assert await bed.keys("console") == []
        [due] = await bed.outbox.claim("slack", limit=1)
        assert due.place == slack.place

    async def test_a_reply_is_said_once_and_handles_its_message(self, bed: Bed) -> None:
        session = await bed.rooms.begin(bed.place())
        message = bed.message()
        await bed.inbox.receive(message)

        await bed.outbox.say(session.session, "k", "the text", (message.id,))
        await bed.outbox.say(session.session, "k", "another text")

        [due] = await bed.outbox.claim("console", limit=9)
        texts = await bed.journal.contents(session.session, [due.content])
        assert (due.kind, due.goal, list(texts.values())) == ("reply", "", ["the text"])
        assert await bed.inbox.waiting() == ()
        with pytest.raises(KeyError):
            await bed.outbox.say("no session", "k2", "x")

    async def test_an_old_claim_is_unknown_and_never_simply_sent_again(self, bed: Bed) -> None:
        session = await bed.rooms.begin(bed.place())
        await bed.outbox.say(session.session, "k", "x")
        [first] = await bed.outbox.claim("console", limit=9)
        await bed.time.pass_by(59)
        early = await bed.keys()
        await bed.time.pass_by(3)

        [again] = await bed.outbox.claim("console", limit=9)

        assert (first.state, early, again.state) == ("claimed", [], "unknown")

    async def test_an_unknown_one_stays_so_until_it_is_known(self, bed: Bed) -> None:
        session = await bed.rooms.begin(bed.place())
        await bed.outbox.say(session.session, "k", "x")
        await bed.outbox.say(session.session, "k2", "y")
        await bed.keys()
        await bed.outbox.unknown("k")
        [looked] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.later("k", 10)

        waits = await bed.keys()
        await bed.time.pass_by(11)
        [again] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent("k", "r")

        assert (looked.state, waits, again.state) == ("unknown", [], "unknown")
        assert await bed.keys() == ["k2"]

    async def test_one_put_off_holds_its_thread_and_one_that_failed_does_not(
        self, bed: Bed
    ) -> None:
        session = await bed.rooms.begin(bed.place())
        for key in ("k1", "k2"):
            await bed.outbox.say(session.session, key, key)
        await bed.keys()
        await bed.outbox.later("k1", 30)

        held = await bed.keys()
        await bed.time.pass_by(31)
        [first] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.failed("k1", "gone")

        assert held == []
        assert (first.key, first.state) == ("k1", "claimed")
        assert await bed.keys() == ["k2"]
        assert await bed.records.outbox_depth() == {"failed": 1, "claimed": 1}

    async def test_a_status_put_off_gives_way_to_a_newer_one(self, bed: Bed) -> None:
        goal = await bed.work()
        await bed.time.pass_by(6)
        [old] = await bed.outbox.claim("console", limit=9)
        await bed.commit(goal, Paused(goal.owner))

        await bed.outbox.later(old.key, 1)
        [new] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(new.key, "r")
        await bed.time.pass_by(10)

        assert new.key != old.key
        assert await bed.keys() == []

    async def test_a_status_that_is_not_due_holds_no_post_up(self, bed: Bed) -> None:
        goal = await bed.work()
        await bed.commit(goal, DecisionAsked("d", "approval", "text", "t"))

        [due] = await bed.outbox.claim("console", limit=9)

        assert (due.kind, due.key) == ("decision", f"{goal.id}:decision:1")

    async def test_an_answered_decision_s_card_is_edited(self, bed: Bed) -> None:
        goal = await bed.work()
        await bed.commit(goal, DecisionAsked("d", "approval", "text", "t"))
        [card] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(card.key, "card-1")

        await bed.commit(goal, DecisionAnswered("d", goal.owner, "yes"))

        [edit] = await bed.outbox.claim("console", limit=9)
        assert (edit.kind, edit.remote, edit.reason, edit.content) == (
            "card", "card-1", "answered", "yes",
        )  # fmt: skip

    async def test_what_showed_a_goal_that_is_taken_back_is_removed(self, bed: Bed) -> None:
        goal, _ = await _shown(bed)
        await bed.commit(goal, DecisionAsked("d", "approval", "text", "t"))
        shown = {}
        while rows := await bed.outbox.claim("console", limit=9):
            for row in rows:
                shown[row.kind] = row.remote or f"remote-{row.kind}"
                await bed.outbox.sent(row.key, shown[row.kind])

        await bed.commit(goal, Undone(goal.owner))

        removed = {}
        while rows := await bed.outbox.claim("console", limit=9):
            for row in rows:
                if row.kind == "removal":
                    removed[row.key.removeprefix(f"{goal.id}:removal:")] = row.remote
                await bed.outbox.sent(row.key, row.remote)
        assert removed == {
            "status": shown["status"], "decision:1": shown["decision"], "root": "",
        }  # fmt: skip

    async def test_what_waits_in_a_lost_room_is_withdrawn_and_nothing_else(self, bed: Bed) -> None:
        lost, other = bed.place(room="lost"), bed.place(room="other")
        for place, key in ((lost, "a"), (lost, "b"), (other, "c")):
            await bed.outbox.say((await bed.rooms.begin(place)).session, key, "x")
        first = await bed.keys(limit=1)

        count = await bed.outbox.give_up(replace(lost, thread=""), "kicked")
        await bed.outbox.sent("a", "r")

        assert first == ["a"]
        assert count == 1
        assert await bed.keys() == ["c"]
        assert await bed.outbox.give_up(bed.place(room="never seen"), "kicked") == 0

    async def test_a_result_that_its_room_refused_is_tried_again_when_asked_for(
        self, bed: Bed
    ) -> None:
        goal = await bed.open()
        turn = (await bed.turn(goal)).goal
        await bed.commit(goal, Audited(turn.revision, turn.turn, turn.messages, "complete"))
        await bed.time.pass_by(6)
        rows = await bed.outbox.claim("console", limit=9)
        for row in rows:
            await bed.outbox.failed(row.key, "forbidden")
        [result] = [row for row in rows if row.kind == "complete"]
        elsewhere = await bed.outbox.again(bed.place(room="other"), within_s=60)
        refused = await bed.outbox.again(result.place, within_s=60, but=(result.key,))

        keys = await bed.outbox.again(result.place, within_s=60)

        assert (elsewhere, refused, keys) == ((), (), (result.key,))
        [again] = await bed.outbox.claim("console", limit=9)
        assert (again.key, again.state) == (result.key, "unknown")
        assert await bed.outbox.again(result.place, within_s=60) == ()

    async def test_a_row_that_is_not_there_is_said_so(self, bed: Bed) -> None:
        for act in (bed.outbox.unknown("x"), bed.outbox.sent("x", "r"), bed.outbox.later("x", 1)):
            with pytest.raises(KeyError):
                await act


async def _shown(bed: Bed) -> tuple[Goal, Due]:
    goal = await bed.open()
    await bed.commit(goal, TurnStarted())
    await bed.time.pass_by(6)
    [due] = await bed.outbox.claim("console", limit=9)
    await bed.outbox.sent(due.key, "r1")
    return goal, due
