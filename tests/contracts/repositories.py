"""What every keeper of rooms' repositories does."""

import pytest

from bot.errors import IllegalMove
from bot.ports.chat import Place
from bot.ports.people import Answer, Note
from bot.ports.repositories import Repository
from tests.contracts.stores import Bed

HERE, THERE = Place("console", "w", "room"), Place("console", "w", "other")
APP = Repository("app", "https://git.example.org/app.git", "main", "GIT_TOKEN", "p1")
LIB = Repository("lib", "https://git.example.org/lib.git")


class RepositoriesContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_room_has_its_own_by_name(self, bed: Bed) -> None:
        assert await bed.repositories.of(HERE) == ()
        for one in (LIB, APP):
            assert await bed.repositories.put(HERE, one)

        app, lib = await bed.repositories.of(HERE)

        assert (app.name, app.url, app.branch, app.secret, app.by) == (
            APP.name, APP.url, APP.branch, APP.secret, APP.by,
        )  # fmt: skip
        assert app.at == pytest.approx(await bed.time.now(), abs=60)
        assert (lib.branch, lib.secret) == ("", "")
        assert await bed.repositories.of(THERE) == ()

    async def test_one_of_the_same_name_takes_its_place(self, bed: Bed) -> None:
        await bed.repositories.put(HERE, APP)

        assert not await bed.repositories.put(HERE, Repository("app", LIB.url))

        [kept] = await bed.repositories.of(HERE)
        assert (kept.url, kept.branch) == (LIB.url, "")

    async def test_one_is_forgotten_in_its_room_alone(self, bed: Bed) -> None:
        await bed.repositories.put(HERE, APP)
        await bed.repositories.put(THERE, APP)

        assert await bed.repositories.remove(HERE, "app")
        assert not await bed.repositories.remove(HERE, "app")
        assert not await bed.repositories.remove(Place("console", "w", "unseen"), "app")
        assert len(await bed.repositories.of(THERE)) == 1

    async def test_a_change_and_its_answer_are_one(self, bed: Bed) -> None:
        message = bed.message("/goal room repo add ...")
        await bed.inbox.receive(message)
        session = (await bed.rooms.begin(message.place)).session
        answer = Answer((Note(session, "reply:x", "It is one of the room's now."),), (message.id,))

        await bed.repositories.put(HERE, APP, answer)

        with pytest.raises(IllegalMove):
            await bed.repositories.put(HERE, LIB, answer)
        assert [one.name for one in await bed.repositories.of(HERE)] == ["app"]
        assert await bed.inbox.waiting() == ()
