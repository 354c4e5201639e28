"""What every keeper of positions does."""

from dataclasses import replace

from bot.ports.positions import Position, Sealed
from tests.contracts.stores import Bed

US, THEM = "@bot:here", "@bot:there"


def sealed(id: str, at: float = 1.0, room: str = "!house") -> Sealed:
    """An event that cannot be read."""
    return Sealed(id, room, "megolm-1", f'{{"event_id": "{id}"}} \x00', at)


def upto(token: str, *came: Sealed, opened: tuple[str, ...] = (), of: str = US) -> Position:
    """A position of an account."""
    return Position("matrix", of, token, came, opened)


class PositionsContract:
    """Subclasses give a fixture `bed`."""

    async def test_there_is_none_before_the_first_look(self, bed: Bed) -> None:
        assert await bed.positions.position("matrix", US) is None

    async def test_each_account_has_its_own_and_the_last_one_counts(self, bed: Bed) -> None:
        for one in (upto("s1"), upto("t1", of=THEM), upto("s2 \x00")):
            await bed.inbox.receive_all((), one)

        assert await bed.positions.position("matrix", US) == "s2 \x00"
        assert await bed.positions.position("matrix", THEM) == "t1"
        assert await bed.positions.position("slack", US) is None

    async def test_what_came_sealed_is_kept_once_until_it_is_opened(self, bed: Bed) -> None:
        late, early = sealed("$late", 2.0), sealed("$early", 1.0)
        await bed.inbox.receive_all((), upto("s1", late, early))
        await bed.inbox.receive_all((), upto("t1", sealed("$theirs"), of=THEM))
        await bed.inbox.receive_all((), upto("s2", replace(early, body="another")))

        before = await bed.positions.sealed("matrix", US)
        await bed.inbox.receive_all((), upto("s3", opened=("$early", "$unheard-of")))

        assert before == (early, late)
        assert await bed.positions.sealed("matrix", US) == (late,)
        assert [one.id for one in await bed.positions.sealed("matrix", THEM)] == ["$theirs"]

    async def test_whether_a_room_was_told_is_kept(self, bed: Bed) -> None:
        one = sealed("$one")
        await bed.inbox.receive_all((), upto("s1", one))

        await bed.positions.told(("$one", "$unheard-of"))
        await bed.inbox.receive_all((), upto("s2", one))

        assert await bed.positions.sealed("matrix", US) == (replace(one, is_told=True),)
