"""Bad input from Matrix, also while the bot was away: nothing crashes, nothing is answered twice."""

import json
from collections.abc import Iterator, Sequence

import pytest

from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running
from tests.peers.matrix_plain import PlainUser, is_edit, key_of, thread_of
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Json, Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

AWAY = 300
"""Messages while the bot was away, beside the odd ones."""
TEXT = "m.room.message"


@pytest.fixture(scope="module")
def person(synapse: Synapse) -> PlainUser:
    return PlainUser(synapse, synapse.register("ann"))


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, person: PlainUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("odd"), api, synapse)) as bot:
        bot.allow(person.user_id, "admin")
        yield bot


def odd_events(old: str, bot: str) -> Sequence[tuple[str, Json]]:
    """What no client should send, and some do; `old` is an event of the room."""
    bomb = "<blockquote>" * 2_000 + "<a href='javascript:alert(1)'>x</a>" + "<img src=x>" * 200
    html = {"format": "org.matrix.custom.html", "formatted_body": bomb}
    return [
        (TEXT, {"msgtype": "m.text", "body": f"!goal {'long ' * 12_000}"}),
        (TEXT, {"msgtype": "m.text"}),
        (TEXT, {"msgtype": "m.text", "body": ["a", "list"]}),
        (TEXT, {"msgtype": "m.text", "body": {"an": "object"}}),
        (TEXT, {"msgtype": 7, "body": "!goal a number for a kind"}),
        (TEXT, {}),
        (TEXT, {"msgtype": "m.text", "body": "", **html}),
        (TEXT, {"msgtype": "m.text", "body": "\u202e\u0000\ud7ff!goal \u200b"}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.mentions": "everybody"}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.mentions": {"user_ids": [1, None, bot]}}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.relates_to": None}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.thread"}}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": 5, "event_id": []}}),
        (TEXT, {"msgtype": "m.text", "body": "x", "m.relates_to": {"m.in_reply_to": "nobody"}}),
        (TEXT, {"msgtype": "m.text", "body": "* y", "m.new_content": "y",
                "m.relates_to": {"rel_type": "m.replace", "event_id": old}}),
        (TEXT, {"msgtype": "m.file", "body": "../../etc/passwd", "url": "mxc://"}),
        (TEXT, {"msgtype": "m.file", "body": "f", "file": {"url": 5, "key": {}, "iv": None}}),
        (TEXT, {"msgtype": "m.notice", "body": "!goal from another bot"}),
        (TEXT, {"msgtype": "m.text", "body": "!goal marked", "dev.headway": {"key": "x"}}),
        (TEXT, {"msgtype": "m.text", "body": "!goal badly marked", "dev.headway": "x"}),
        ("m.reaction", {}),
        ("m.reaction", {"m.relates_to": {"rel_type": "m.annotation", "event_id": "$none"}}),
        ("m.reaction", {"m.relates_to": {"rel_type": "m.annotation", "event_id": old, "key": "🎯" * 99}}),
        ("m.room.encrypted", {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AA"}),
        ("m.room.encrypted", {"algorithm": "rot13", "ciphertext": {"a": 1}}),
        ("m.sticker", {"body": "!goal a sticker"}),
        ("com.example.unknown", {"deep": json.loads("[" * 50 + "]" * 50)}),
        ("m.poll.start", {"m.poll": {}}),
    ]  # fmt: skip


@pytest.mark.parametrize("is_away", [False, True], ids=["at work", "away"])
def test_after_all_that_a_goal_is_done_once(
    headway: MatrixBot, person: PlainUser, synapse: Synapse, is_away: bool
) -> None:
    stranger = PlainUser(synapse, synapse.register("stranger"))
    room = person.create(headway.user_id, stranger.user_id)
    stranger.join(room)
    person.until_joined(room, headway.user_id)
    old = person.say(room, "Something said long ago.")
    if is_away:
        headway.stop()

    taken = [
        sender.offer(room, type, content)
        for type, content in odd_events(old, headway.user_id)
        for sender in (person, stranger)
    ]
    for number in range(AWAY if is_away else 0):
        person.say(room, f"Talk {number} among people.")
    roots = [person.say(room, f"!goal {number} !script echo") for number in range(2)]
    if is_away:
        headway.start()

    until(lambda: _settled(headway, roots), 40, headway.told)
    headway.ask(do="settle")
    posts = [event for event in person.messages(room, headway.user_id) if not is_edit(event)]
    keys = [key_of(event) for event in posts]
    assert sum(taken) > len(taken) / 2, "the homeserver itself refuses them"
    assert len(keys) == len(set(keys))
    assert [thread_of(event) for event in posts if ":settle" in key_of(event)].count(roots[0]) == 1
    goals = [goal for goal in headway.goals() if goal.kind == "goal"]
    assert len(goals) < 12, "what nobody asked for was worked at"
    assert "Traceback" not in headway.told()


def _settled(bot: MatrixBot, roots: Sequence[str]) -> bool:
    found = [bot.look(root) for root in roots]
    return all(looks and looks[0].goal.state == "complete" for looks in found)
