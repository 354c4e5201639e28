"""Which secrets a room's repositories and servers of tools are given."""

import pytest

from bot.errors import BadInput
from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.mirrors import Credential
from bot.ports.repositories import Repository
from bot.ports.secret_uses import Value
from bot.wiring.projects import Credentials
from bot.wiring.room_secrets import RoomSecrets
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore

HERE, THERE = Place("slack", "T1", "C1", "thread"), Place("slack", "T1", "C2")
TOKEN = InUse("TOKEN", ("git.example.org",), "TOKEN")
APP = Repository("app", "https://git.example.org/app", "", "TOKEN", by="ben")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(HandClock())


@pytest.fixture
def lent(store: MemoryStore) -> RoomSecrets:
    async def is_chief(room: Place, person: str) -> bool:
        return person == "ann"

    lent = RoomSecrets(store.secrets, store.secret_uses)
    lent.is_chief = is_chief
    return lent


async def test_a_room_has_its_own(store: MemoryStore, lent: RoomSecrets) -> None:
    await store.secret_uses.keep(HERE, TOKEN, Value("a-value-of-ours"), by="ben")

    assert await lent(HERE, "TOKEN", "ben") == ("a-value-of-ours", TOKEN.hosts)
    assert await Credentials(lent)(HERE, APP) == Credential("", "a-value-of-ours")


async def test_one_of_others_is_given_where_an_admin_of_everywhere_has_named_it(
    store: MemoryStore, lent: RoomSecrets
) -> None:
    await store.secret_uses.keep(THERE, TOKEN, Value("a-value-of-others"), by="ben")

    assert await lent(HERE, "TOKEN", "ann") == ("a-value-of-others", TOKEN.hosts)
    assert await lent(HERE, "OTHER", "ann") is None
    for by in ("ben", ""):
        assert await lent(HERE, "TOKEN", by) is None
    with pytest.raises(BadInput, match="The room has no secret TOKEN"):
        await Credentials(lent)(HERE, APP)


async def test_before_anybody_is_known_there_are_none_of_others(store: MemoryStore) -> None:
    await store.secrets.put("secret", "TOKEN", "an-operators-value")

    assert await RoomSecrets(store.secrets, store.secret_uses)(HERE, "TOKEN", "ann") is None
