"""A picture of a room, for a person to look at, where the machine has a browser or may get one."""

import pytest

from tests.peers.hydrogen import SHOTS, browser, shot
from tests.peers.matrix_user import People
from tests.peers.synapse import Synapse


def test_a_room_is_shown_as_a_person_sees_it(synapse: Synapse, matrix_people: People) -> None:
    if browser() is None:
        pytest.skip("no Chromium here, and no right to install it: the picture is left out")
    account = synapse.register("gil")
    gil = matrix_people.login(synapse, account)
    room = gil.create(name="The harbour")
    gil.text(room, "a boat", html="<b>a boat</b>")

    text = shot(synapse, account, "The harbour", "a boat", "peer")

    assert "a boat" in text
    assert (SHOTS / "peer.png").stat().st_size > 5_000
