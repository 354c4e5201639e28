"""What happens to Matrix rooms, and around them: who is there, who asks, who goes, what breaks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.bot import until
from tests.journeys.matrix import (
    MatrixBot,
    MatrixGoal,
    kind_of,
    matrix_bot,
    running,
    shared_room,
)
from tests.peers.matrix_faults import faults
from tests.peers.matrix_user import MatrixUser, People, Seen
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

Api = BlockingMessagesApi
IS_FULL = os.environ.get("TEST_FULL") == "1"


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def ben(synapse: Synapse, matrix_people: People) -> MatrixUser:
    """On nobody's list."""
    return matrix_people.login(synapse, synapse.register("ben"))


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: Api, sandbox: str, synapse: Synapse,
    ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("rooms"), api, synapse), ann) as bot:
        yield bot


def test_two_headways_in_one_room_exchange_no_message(
    headway: MatrixBot, ann: MatrixUser, api: Api, synapse: Synapse, tmp_path: Path
) -> None:
    with running(matrix_bot(tmp_path, api, synapse, name="other"), ann) as other:
        room = shared_room(ann, headway, encrypted=True)
        ann.invite(room, other.user_id)
        ann.until_member(room, other.user_id)

        text = f"Say this: !goal Greet. {other.user_id}: !goal Greet. !script echo"
        root = ann.text(room, text, mentions=[headway.user_id])
        goal = MatrixGoal(headway, ann, room, root)
        goal.until_posted("settle")
        root = ann.text(room, "Now you. !script echo", mentions=[other.user_id])
        MatrixGoal(other, ann, room, root).until_posted("settle")
        headway.ask(do="settle")

        assert [seen.thread for seen in ann.messages(room, headway.user_id)] == [goal.root]
        assert [seen.thread for seen in ann.messages(room, other.user_id)] == [root]


def test_a_target_makes_a_goal_of_a_message_and_taking_it_away_takes_the_goal_back(
    headway: MatrixBot, ann: MatrixUser, ben: MatrixUser
) -> None:
    room = shared_room(ann, headway, ben)
    done = MatrixGoal(headway, ann, room, ben.text(room, "Count the boats. !script echo"))
    undone = MatrixGoal(headway, ann, room, ben.text(room, "Paint them. !script slow 9"))
    ann.until_said(room, "Paint them")

    ben.react(room, done.root, "🎯")
    ann.react(room, done.root, "🎯")
    aim = ann.react(room, undone.root, "🎯")
    undone.until_true(lambda look: bool(look.events("CallStarted")))
    ann.redact(room, aim)

    done.until("complete")
    done.until_kinds("settle")
    assert undone.until("cancelled").reason == "undone"
    ann.until(lambda: not undone.posts() and not undone.status(), 20, undone.story)
    assert len(headway.look(done.root)) == 1


def test_invitations_that_came_while_it_was_away_are_answered_by_the_list(
    headway: MatrixBot, ann: MatrixUser, ben: MatrixUser
) -> None:
    headway.stop()
    wanted = ann.create(invite=[headway.user_id], encrypted=True)
    unwanted = ben.create(invite=[headway.user_id])

    headway.start()

    ann.until_member(wanted, headway.user_id)
    ben.until_member(unwanted, headway.user_id, "leave")
    root = ann.text(wanted, "!goal !script echo")
    MatrixGoal(headway, ann, wanted, root).until_posted("settle")


def test_a_goal_of_a_room_that_the_bot_was_put_out_of_rests_with_the_reason(
    headway: MatrixBot, ann: MatrixUser
) -> None:
    room = shared_room(ann, headway)
    goal = headway.asked(ann, room, "!goal !script slow 1 30")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    ann.kick(room, headway.user_id, "too loud")
    rested = goal.until_true(lambda look: look.goal.state == "paused").goal

    assert rested.reason.startswith("room_lost:kicked")


def test_taking_the_objective_back_pauses_the_goal_and_asks_its_owner(
    headway: MatrixBot, ann: MatrixUser
) -> None:
    room = shared_room(ann, headway)
    goal = headway.asked(ann, room, "!goal !script slow 1 30")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    ann.redact(room, goal.root)

    goal.until("paused")
    asked = ann.until_said(room, "was deleted", by=headway.user_id)
    assert "`cancel` ends it" in asked.body
    assert asked.content["m.mentions"] == {"user_ids": [ann.user_id]}


def test_a_plain_reply_counts_as_said_in_the_thread(
    headway: MatrixBot, ann: MatrixUser, ben: MatrixUser
) -> None:
    room = shared_room(ann, headway, ben)
    goal = headway.asked(ann, room, "!goal !script asks")
    card = goal.until_posted("decision")

    ann.text(room, "yes", reply_to=card.id)

    goal.until("complete")
    goal.until_kinds("decision", "settle")


def test_without_threads_a_goal_lives_in_the_main_timeline(
    headway: MatrixBot, ann: MatrixUser, ben: MatrixUser
) -> None:
    room = shared_room(ann, headway, ben)
    headway.set_room(room, "threads", "off")

    ann.text(room, "!goal !script asks")
    card = ann.until_seen(room, lambda seen: kind_of(seen) == "decision")
    # Others talk there, too: what is for the bot begins with its name.
    ann.text(room, "yes", mentions=[headway.user_id])
    settled = ann.until_seen(room, lambda seen: kind_of(seen) == "settle")

    assert (card.thread, settled.thread) == ("", "")
    assert ann.threads(room) == {}


def test_in_a_room_of_two_all_is_for_the_bot(headway: MatrixBot, ann: MatrixUser) -> None:
    room = shared_room(ann, headway, encrypted=True)

    goal = headway.asked(ann, room, "Count the boats. !script echo")

    goal.until_posted("settle")


def test_a_room_that_was_upgraded_is_followed_with_its_goals(
    headway: MatrixBot, ann: MatrixUser
) -> None:
    room = ann.create(invite=[headway.user_id], room_version="10")
    ann.until_member(room, headway.user_id)
    goal = headway.asked(ann, room, "!goal !script asks")
    goal.until_posted("decision")

    moved = ann.upgrade(room, "11")
    ann.invite(moved, headway.user_id)
    ann.until_member(moved, headway.user_id)
    told = ann.until_seen(moved, lambda seen: seen.sender == headway.user_id and seen.is_message)
    ann.text(moved, "yes", thread=told.thread or told.id)

    ann.until_seen(moved, lambda seen: kind_of(seen) == "settle")


def test_what_cannot_be_decrypted_is_waited_for_and_told_of_once(
    headway: MatrixBot, ann: MatrixUser
) -> None:
    room = shared_room(ann, headway, encrypted=True)
    ann.do("isolate", only_signed=False)
    ann.do("withhold", on=True)
    for _ in range(2):
        ann.text(room, "!goal !script echo")
    ann.do("withhold", on=False)
    ann.do("isolate", only_signed=True)
    ann.do("forget_session", room=room)

    root = ann.text(room, "!goal !script echo")
    MatrixGoal(headway, ann, room, root).until_posted("settle")

    assert {seen.thread for seen in ann.messages(room, headway.user_id)} == {root}
    if IS_FULL:
        # The notice comes after a minute.
        notice = ann.until_seen(
            room, lambda seen: _is_notice(seen, headway, besides=root), timeout_s=90
        )
        assert ann.account.user_id.removeprefix("@").partition(":")[0] in notice.body
        told = [s for s in ann.messages(room, headway.user_id) if _is_notice(s, headway, root)]
        assert len(told) == 1


def test_a_homeserver_that_is_down_at_the_start_holds_up_nothing_else(
    api: Api, sandbox: str, synapse: Synapse, ann: MatrixUser, tmp_path: Path
) -> None:
    with faults(synapse.url) as proxy:
        bot = matrix_bot(tmp_path, api, synapse, url=proxy.url)
        proxy.is_down = True
        with running(bot, ann):
            room = ann.create(invite=[bot.user_id])
            console = bot.goal("!script complete_after 2")
            console.until("complete")
            health = bot.ask(do="status")

            proxy.is_down = False
            ann.until_member(room, bot.user_id, timeout_s=60)
            bot.asked(ann, room, "!goal !script echo").until_posted("settle")

            assert "matrix" in str(health)
            until(lambda: "cannot be heard" in bot.told(), 5, bot.told)


def _is_notice(seen: Seen, bot: MatrixBot, besides: str) -> bool:
    return seen.sender == bot.user_id and seen.is_message and seen.thread != besides
