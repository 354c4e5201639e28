"""What every keeper of rooms' secrets and of their forms does."""

from dataclasses import replace

import pytest

from bot.errors import IllegalMove, Refused
from bot.ports.chat import Place, Speaker
from bot.ports.gateway import InUse
from bot.ports.people import Answer, Note
from bot.ports.secret_uses import FormLink, Value
from tests.contracts.stores import ANN, Bed

HERE, THERE = Place("console", "w", "room"), Place("console", "w", "other")
TOKEN = InUse("TOKEN", ("api.example.org",), "API_TOKEN")
GIVEN = InUse("OTHER", (), "OTHER", "given")
FIRST = Value("first-value")
BEN = Speaker("ben", "ben")


class SecretUsesContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_room_has_its_own_by_name(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        assert await bed.secret_uses.of(HERE) == ()
        for one in (TOKEN, GIVEN):
            assert await bed.secret_uses.keep(HERE, one, FIRST, by=by)

        other, token = await bed.secret_uses.of(HERE)

        assert (other.secret, token.secret, token.by) == (GIVEN, TOKEN, by)
        assert token.at == pytest.approx(await bed.time.now(), abs=60)
        assert await bed.secret_uses.of(THERE) == ()
        assert await bed.secrets.get("secret", "TOKEN") == "first-value"

    async def test_another_value_takes_the_place_of_the_former_one(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        other = await bed.rooms.person("console", BEN)
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)

        changed = InUse("TOKEN", ("b.example.org",), "B", "given")
        await bed.secret_uses.keep(HERE, changed, Value("second-value"), by=other)

        [kept] = await bed.secret_uses.of(HERE)
        assert (kept.secret, kept.by) == (changed, other)
        assert await bed.secrets.get("secret", "TOKEN") == "second-value"

    async def test_without_a_value_the_kept_one_stays(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)

        await bed.secret_uses.keep(HERE, InUse("TOKEN", ("b.example.org",), "T"), Value(), by=by)

        [kept] = await bed.secret_uses.of(HERE)
        assert kept.secret.hosts == ("b.example.org",)
        assert await bed.secrets.get("secret", "TOKEN") == "first-value"
        with pytest.raises(KeyError):
            await bed.secret_uses.keep(HERE, GIVEN, Value(), by=by)

    async def test_a_value_that_was_entered_moves(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secrets.put("secret", "entered-1", "typed-value")

        await bed.secret_uses.keep(HERE, TOKEN, Value(entered="entered-1"), by=by)

        assert await bed.secrets.get("secret", "TOKEN") == "typed-value"
        with pytest.raises(KeyError):
            await bed.secrets.get("secret", "entered-1")

    async def test_it_goes_with_the_last_room_that_has_it(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)
        await bed.secret_uses.keep(THERE, TOKEN, Value(), by=by, is_chief=True)

        assert await bed.secret_uses.stop(HERE, "TOKEN")
        assert not await bed.secret_uses.stop(HERE, "TOKEN")
        assert await bed.secrets.get("secret", "TOKEN") == "first-value"
        assert await bed.secret_uses.stop(THERE, "TOKEN")

        with pytest.raises(KeyError):
            await bed.secrets.get("secret", "TOKEN")

    async def test_a_name_that_others_have_is_known(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        assert await bed.secret_uses.elsewhere(HERE, "TOKEN") is None
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)
        assert await bed.secret_uses.elsewhere(HERE, "TOKEN") is None
        assert await bed.secret_uses.elsewhere(THERE, "TOKEN") == TOKEN.hosts

        await bed.secret_uses.keep(THERE, TOKEN, Value(), by=by, is_chief=True)
        await bed.secrets.put("secret", "OPERATORS", "a-value")

        assert await bed.secret_uses.elsewhere(HERE, "TOKEN") == TOKEN.hosts
        assert await bed.secret_uses.elsewhere(HERE, "OPERATORS") == ()

    async def test_the_operators_is_no_rooms_alone(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        for name in ("root", ""):
            await bed.secrets.put("secret", "TOKEN", "first-value", hosts=TOKEN.hosts, by=name)
            with pytest.raises(Refused):
                await bed.secret_uses.keep(HERE, TOKEN, Value(), by=by)
            await bed.secret_uses.keep(HERE, TOKEN, Value(), by=by, is_chief=True)

            assert await bed.secret_uses.elsewhere(HERE, "TOKEN") == TOKEN.hosts
            with pytest.raises(Refused):
                await bed.secret_uses.keep(HERE, TOKEN, Value("another-value"), by=by)
            assert await bed.secret_uses.stop(HERE, "TOKEN")

            assert await bed.secret_uses.of(HERE) == ()
            assert await bed.secrets.get("secret", "TOKEN") == "first-value"

    async def test_what_another_room_has_is_not_set_from_here(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.keep(THERE, TOKEN, FIRST, by=by)
        await bed.secret_uses.open_link("hash", await self._form(bed))

        with pytest.raises(Refused):
            await bed.secret_uses.keep(HERE, TOKEN, Value("typed-value", link="hash"), by=by)

        assert await bed.secrets.get("secret", "TOKEN") == "first-value"
        assert await bed.secret_uses.link("hash") is not None

    async def test_what_is_no_longer_kept_is_no_ones(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)

        await bed.secrets.remove("secret", "TOKEN")

        assert await bed.secret_uses.of(HERE) == ()

    async def test_a_change_and_its_answer_are_one(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        session = (await bed.rooms.begin(HERE)).session
        message = bed.message()
        await bed.inbox.receive(message)
        answer = Answer((Note(session, "k", "kept"),), (message.id,))

        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by, answer=answer)
        with pytest.raises(IllegalMove):
            await bed.secret_uses.keep(HERE, GIVEN, FIRST, by=by, answer=answer)

        assert [one.secret.name for one in await bed.secret_uses.of(HERE)] == ["TOKEN"]
        assert await bed.inbox.waiting() == ()

    async def test_a_form_works_once(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        form = await self._form(bed)
        await bed.secret_uses.open_link("hash", form)

        assert await bed.secret_uses.link("hash") == form
        assert await bed.secret_uses.link("other") is None
        assert await bed.secret_uses.keep(HERE, TOKEN, Value("typed-value", link="hash"), by=by)
        assert not await bed.secret_uses.keep(HERE, TOKEN, Value("again-value", link="hash"), by=by)

        assert await bed.secret_uses.link("hash") is None
        assert await bed.secrets.get("secret", "TOKEN") == "typed-value"

    async def test_a_form_ends_by_itself(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.open_link("hash", await self._form(bed, lasts_s=60.0))

        await bed.time.pass_by(61)

        assert await bed.secret_uses.link("hash") is None
        assert not await bed.secret_uses.keep(HERE, TOKEN, Value("v" * 8, link="hash"), by=by)
        assert await bed.secret_uses.of(HERE) == ()

    async def test_a_replaced_room_takes_its_values_and_open_forms_along(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.secret_uses.keep(HERE, TOKEN, FIRST, by=by)
        form = await self._form(bed)
        await bed.secret_uses.open_link("hash", form)

        await bed.rooms.move(HERE, THERE.room, lambda goal: "")

        assert await bed.secret_uses.link("hash") == replace(form, room=THERE)
        assert [one.secret.name for one in await bed.secret_uses.of(THERE)] == ["TOKEN"]
        assert await bed.secret_uses.of(HERE) == ()

    async def test_where_somebody_speaks_is_known(self, bed: Bed) -> None:
        person = await bed.rooms.person("console", ANN)
        assert await bed.secret_uses.rooms_of(person) == ()
        for room in ("a", "b", "a"):
            await bed.inbox.receive(bed.message(place=bed.place(room=room)))

        assert [one.room for one in await bed.secret_uses.rooms_of(person)] == ["a", "b"]

    async def _form(self, bed: Bed, lasts_s: float = 900.0) -> FormLink:
        person = await bed.rooms.person("console", ANN)
        return FormLink(HERE, person, TOKEN, await bed.time.now() + lasts_s)
