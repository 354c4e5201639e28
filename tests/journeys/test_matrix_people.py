"""People on Matrix: the first admin, one with another client, one who meets the bot after a lost login."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.matrix import (
    MatrixBot,
    MatrixGoal,
    assert_once,
    matrix_bot,
    running,
    shared_room,
)
from tests.peers.matrix_user import HAS_OLM, MatrixUser, People
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

Api = BlockingMessagesApi


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: Api, sandbox: str, synapse: Synapse,
    ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    bot = matrix_bot(tmp_path_factory.mktemp("people"), api, synapse)
    bot.settings["matrix_password"] = bot.user.password
    with running(bot, ann) as running_bot:
        yield running_bot


def test_the_first_admin_claims_the_bot_in_a_direct_message(
    api: Api, sandbox: str, synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    with running(matrix_bot(tmp_path, api, synapse)) as bot:
        code = bot.ask(do="claim.new")["code"]
        owner = matrix_people.login(synapse, synapse.register("owen"))
        room = owner.create(invite=[bot.user_id], encrypted=True, is_direct=True)
        owner.until_member(room, bot.user_id)

        owner.text(room, f"claim {code}")
        owner.until_seen(room, lambda seen: seen.sender == bot.user_id and seen.is_message)
        goal = bot.asked(owner, room, "Count the boats. !script echo")

        goal.until_posted("settle")


@pytest.mark.skipif(not HAS_OLM, reason="libolm has no build for this Python")
def test_a_client_of_another_make_lives_through_a_goal(
    headway: MatrixBot, ann: MatrixUser, synapse: Synapse, matrix_olm_people: People
) -> None:
    fay = matrix_olm_people.login(synapse, synapse.register("fay"))
    headway.allow(fay.user_id)
    room = fay.create(encrypted=True, invite=[headway.user_id])
    fay.until_member(room, headway.user_id)

    goal = headway.asked(fay, room, "!goal !script asks")
    goal.until_posted("decision")
    goal.say("no")
    goal.until("complete")

    fay.until_said(room, "the answer was no", by=headway.user_id)
    assert_once(fay, room, headway)


def test_a_login_that_was_ended_is_begun_again_on_the_same_signed_device(
    headway: MatrixBot, ann: MatrixUser, synapse: Synapse
) -> None:
    room = shared_room(ann, headway, encrypted=True)
    [before] = ann.trust(headway.user_id)["devices"]
    goal = headway.asked(ann, room, "!goal !script asks")
    goal.until_posted("decision")

    synapse.delete_device(headway.user_id, before)
    goal.say("yes")

    goal.until_posted("settle", timeout_s=60)
    again = MatrixGoal(headway, ann, room, ann.text(room, "!goal !script echo"))
    again.until_posted("settle")
    devices = ann.trust(headway.user_id)["devices"]
    assert set(devices) == {before}
    assert devices[before]["signed"]
    assert_once(ann, room, headway)
