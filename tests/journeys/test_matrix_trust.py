"""People verify the bot from their clients, with the real process on the other side."""

from collections.abc import Iterator

import pytest

from tests.journeys.matrix import MatrixBot, matrix_bot, running, shared_room
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("trust"), api, synapse), ann) as bot:
        yield bot


@pytest.mark.parametrize("where", ["in a room", "to the device"])
def test_who_is_on_the_list_verifies_the_bot_and_its_operator_sees_the_same_emoji(
    headway: MatrixBot, ann: MatrixUser, where: str
) -> None:
    room = shared_room(ann, headway, encrypted=True)
    ann.until(lambda: bool(_devices(ann, headway)), 10, lambda: "the bot is not known")
    [device] = _devices(ann, headway)

    if where == "in a room":
        ended = ann.verify(headway.user_id, room=room)
    else:
        ended = ann.verify(headway.user_id, device=device)

    assert ended.phase == "Done"
    ann.until(lambda: ann.trust(headway.user_id)["verified"], 10, lambda: "not trusted")
    told = [line for line in headway.told().splitlines() if "should see" in line][-1]
    assert [sign for sign in ended.emoji if sign in told] == ended.emoji
    assert ann.trust(headway.user_id)["devices"][device] == {"signed": True, "verified": True}


def test_who_is_not_on_the_list_is_refused_with_a_reason(
    synapse: Synapse, matrix_people: People, headway: MatrixBot, ann: MatrixUser
) -> None:
    eve = matrix_people.login(synapse, synapse.register("eve"))
    room = shared_room(ann, headway, eve, encrypted=True)

    ended = eve.verify(headway.user_id, room=room)

    assert (ended.phase, ended.code) == ("Cancelled", "m.user")
    assert ended.by == headway.user_id
    cancelled = eve.until_seen(room, lambda seen: seen.type == "m.key.verification.cancel")
    assert cancelled.content["reason"] == "The bot verifies only people on its list"


def test_trust_outlives_a_restart(headway: MatrixBot, ann: MatrixUser) -> None:
    room = shared_room(ann, headway, encrypted=True)
    assert ann.verify(headway.user_id, room=room).phase == "Done"
    ann.until(lambda: ann.trust(headway.user_id)["verified"], 10, lambda: "not trusted")

    headway.stop()
    headway.start()
    headway.asked(ann, room, "!goal !script complete_after 1").until("complete")

    assert ann.trust(headway.user_id)["verified"]


def _devices(ann: MatrixUser, bot: MatrixBot) -> list[str]:
    return list(ann.trust(bot.user_id)["devices"])
