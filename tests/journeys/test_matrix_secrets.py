"""A secret in encrypted Matrix rooms: the link goes to the direct chat of who asked, and works once."""

import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest

from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running, shared_room
from tests.peers.matrix_user import MatrixUser, People, Seen
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

VALUE = "Tr0ub4dor-and-3-more"
LINK = re.compile(r"http://bot\.example(/secret\?k=[\w-]+)")


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    folder = tmp_path_factory.mktemp("secrets")
    bot = matrix_bot(folder, api, synapse)
    bot.settings |= {"public_listen": "127.0.0.1:0", "public_url": "http://bot.example"}
    with running(bot, ann) as running_bot:
        yield running_bot


def test_a_link_goes_to_the_direct_chat_and_the_value_nowhere(
    headway: MatrixBot, ann: MatrixUser, synapse: Synapse, matrix_people: People
) -> None:
    ben = matrix_people.login(synapse, synapse.register("ben"))
    room = shared_room(ann, headway, ben, encrypted=True)
    ann.text(room, "!goal secret API_TOKEN api.example.org")
    _from_bot(headway, ann, room, "I know no direct chat with you")

    direct = ann.create(invite=[headway.user_id], encrypted=True, is_direct=True)
    ann.until_member(direct, headway.user_id)
    ann.text(direct, "hello")
    ann.until_seen(direct, lambda seen: seen.sender == headway.user_id and seen.is_message)
    ann.text(room, "!goal secret API_TOKEN api.example.org")
    _from_bot(headway, ann, room, "I have sent you a link")
    linked = _from_bot(headway, ann, direct, "works once")
    link = LINK.search(_body(linked))
    assert link is not None
    assert not any(LINK.search(_body(seen)) for seen in ben.seen[room].values())

    first, second = _typed(headway, link[1]), _typed(headway, link[1])
    _from_bot(headway, ann, room, "is kept")

    assert "It is kept" in first
    assert "does not work any more" in second
    held = [path for path in headway.folder.rglob("*") if path.is_file()]
    assert not [path for path in held if VALUE.encode() in path.read_bytes()]
    assert VALUE not in headway.told()


def _from_bot(bot: MatrixBot, who: MatrixUser, room: str, words: str) -> Seen:
    """The bot's message that says so."""
    return who.until_seen(room, lambda seen: seen.sender == bot.user_id and words in _body(seen))


def _body(seen: Seen) -> str:
    return str(seen.content.get("body", ""))


def _typed(bot: MatrixBot, path: str) -> str:
    """What the form says to a value."""
    until((bot.folder / "public.addr").exists, 20, bot.told)
    address = (bot.folder / "public.addr").read_text().strip()
    token = path.partition("k=")[2]
    body = urllib.parse.urlencode({"k": token, "value": VALUE}).encode()
    request = urllib.request.Request(f"http://{address}/secret", body)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())
