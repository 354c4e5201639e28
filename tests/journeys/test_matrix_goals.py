"""A goal's life in a Matrix room, encrypted and not, as another client's user lives it."""

from collections.abc import Iterator

import pytest

from tests.journeys.matrix import (
    MatrixBot,
    MatrixGoal,
    assert_once,
    kind_of,
    matrix_bot,
    running,
    shared_room,
)
from tests.peers.hydrogen import browser, shot
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    """Reads and writes to signed devices alone."""
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("goals"), api, synapse), ann) as bot:
        yield bot


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "encrypted"])
def room(headway: MatrixBot, ann: MatrixUser, request: pytest.FixtureRequest) -> Iterator[str]:
    room = shared_room(ann, headway, encrypted=request.param, name=_name(request.param))
    yield room
    assert_once(ann, room, headway)
    said = ann.messages(room, headway.user_id)
    assert all(seen.encrypted is request.param for seen in said)


def test_a_goal_is_worked_at_shown_in_its_thread_and_completed(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    # A goal that is done within five seconds has no status message.
    goal = headway.asked(ann, room, "!goal !script slow 1 4")

    goal.until("complete")
    [settled] = goal.until_kinds("settle")
    ann.until(lambda: "Complete" in goal.status()[0].body, 10, goal.story)

    [status] = goal.status()
    assert (status.msgtype, status.mentions) == ("m.notice", [])
    assert status.edited
    assert "Turn 4 of 4" in settled.body
    assert settled.relation["is_falling_back"] is True
    assert (room, headway.user_id) in ann.was_typing
    assert ann.threads(room)[goal.root][-1] == settled.id


def test_a_blocked_goal_says_so_to_whom_it_concerns(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal !script blocked")

    blocked = goal.until_posted("blocked")

    assert (blocked.msgtype, blocked.mentions) == ("m.text", [ann.user_id])
    assert "⛔ Blocked" in blocked.body
    assert "The access that it needs is missing" in blocked.body


def test_a_decision_is_answered_by_a_reaction_that_the_bot_put_there(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal !script asks")
    card = goal.until_posted("decision")
    ann.until(lambda: len(ann.reactions(room, card.id)) >= 2, 20, goal.story)
    [first, *_] = [emoji for user, emoji in ann.reactions(room, card.id) if user == headway.user_id]

    ann.react(room, card.id, first)
    goal.until("complete")

    asked = goal.posts()[0]
    assert asked.original["m.mentions"] == {"user_ids": [ann.user_id]}
    goal.until_kinds("decision", "settle")
    assert "the answer was yes" in goal.posts()[1].body
    ann.until(lambda: goal.posts()[0].edited, 20, goal.story)


def test_a_decision_is_answered_by_its_exact_word_and_by_nothing_else(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal !script asks")
    goal.until_posted("decision")

    goal.say("yes")
    goal.until("complete")

    goal.until_kinds("decision", "settle")
    assert "the answer was yes" in goal.posts()[1].body


def test_a_goal_is_paused_resumed_and_stopped(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal !script slow 0.5 20")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("pause")
    goal.until("paused")
    goal.until_true(lambda look: not look.goal.turn_open)
    goal.say("resume")
    goal.until_true(lambda look: look.goal.state in ("working", "auditing"))
    goal.say("stop")
    stopped = goal.until("paused")

    assert stopped.reason == "stopped"
    goal.until_kinds("reply", "reply", "reply")
    ann.until(lambda: bool(goal.status()) and "Paused" in goal.status()[0].body, 10, goal.story)


def test_an_edit_of_the_message_edits_the_goal(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal !script reports 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    ann.edit(room, goal.root, "!goal !script reports 1 and mention steer-1")
    done = goal.until("complete")

    assert done.revision == 2
    assert "heard steer-1" in goal.posts()[-1].body


def test_a_file_comes_in_and_goes_out(headway: MatrixBot, ann: MatrixUser, room: str) -> None:
    encrypted = ann.do("is_encrypted", room=room)
    boats = b"boat,length\nann,7\n"

    root = ann.file(
        room, "harbour.csv", boats, "text/csv", encrypted=encrypted, body="!goal !script returns"
    )
    goal = MatrixGoal(headway, ann, room, root)
    shared = ann.until_seen(room, lambda seen: seen.msgtype == "m.file" and seen.id != root)
    goal.until("complete")

    assert (shared.sender, shared.thread) == (headway.user_id, root)
    assert ("file" in shared.content) is encrypted
    assert ann.download(shared) == boats
    assert goal.kinds() == ["file", "settle"]


@pytest.mark.parametrize("how", ["a mention", "the name first"])
def test_a_goal_begins_with(headway: MatrixBot, ann: MatrixUser, room: str, how: str) -> None:
    text = "Say it twice. !script echo"
    if how == "a mention":
        root = ann.text(room, f"{headway.user_id} {text}", mentions=[headway.user_id])
    else:
        root = ann.text(room, f"{headway.user_id.removeprefix('@').partition(':')[0]}: {text}")

    said = ann.until_seen(
        room,
        lambda seen: seen.thread == root and kind_of(seen) == "settle" and seen.is_message,
    )

    assert "you said: " in said.body
    assert headway.user_id not in said.body


def test_a_picture_is_left_for_a_person_to_look_at(
    headway: MatrixBot, ann: MatrixUser, room: str, synapse: Synapse
) -> None:
    if browser() is None:
        pytest.skip("no Chromium here, and no right to install it: the picture is left out")
    kind = "encrypted" if ann.do("is_encrypted", room=room) else "plain"

    def work() -> None:
        objective = "Say how long each boat is, in a table. !script asks Is `ann` **seven** metres?"
        goal = headway.asked(ann, room, f"!goal {objective}")
        goal.until_posted("decision")
        goal.say("yes")

    # Her new device reads what is said while it is there.
    shown = shot(synapse, ann.account, f"The {kind} pier", "the answer was yes", kind, work)

    assert "Complete" in shown


def _name(encrypted: bool) -> str:
    return f"The {'encrypted' if encrypted else 'plain'} pier"
