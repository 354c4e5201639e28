"""What every book of installs, charges and ways back does."""

import asyncio
from dataclasses import replace
from typing import Any

from bot.ports.chat import Incoming, Place, Removed
from bot.ports.installs import Install
from tests.contracts.stores import ANN, Bed

HERE = Install(
    network="slack",
    workspace="T01",
    app="A01",
    bot_user="U01BOT",
    name="Acme \x00\ud800 & Söhne",
    scopes=("chat:write", "commands"),
    token="xoxb-first-token",
    refresh_token="xoxe-1-first-refresh",
    expires_at=1_700_000_000.5,
    installed_by="T01:U01",
    at=5.0,
    organisation="E01",
    further='{"is_enterprise_install": false}',
)
URL = "https://hooks.example/commands/T01/1/abc"
ROOM = Place("slack", "T01", "C01")


def said(bed: Bed, place: Place = ROOM, **more: Any) -> Incoming:
    """A slash command with a way back."""
    more = {"via": "command", "way_back": URL, **more}
    return Incoming(f"command:{next(bed.ids)}", place, ANN, "/goal list", 5.0, **more)


class InstallsContract:
    """Subclasses give a fixture `bed`."""

    async def test_an_install_comes_back_as_it_was_kept(self, bed: Bed) -> None:
        plain = Install("slack", "T02", "A01", "U02BOT", "Other", (), "xoxb-other", at=6.0)
        for one in (HERE, plain, replace(HERE, network="matrix")):
            await bed.installs.keep(one)

        assert await bed.installs.install("slack", "T01") == HERE
        assert await bed.installs.install("slack", "T02") == plain
        assert await bed.installs.install("slack", "T03") is None
        assert await bed.installs.installed("slack") == (HERE, plain)
        assert await bed.installs.installed("console") == ()

    async def test_a_later_install_takes_the_place_of_the_former_one(self, bed: Bed) -> None:
        await bed.installs.keep(HERE)
        again = replace(HERE, token="xoxb-second", refresh_token="", expires_at=None, scopes=())

        await bed.installs.keep(again)

        assert await bed.installs.installed("slack") == (again,)

    async def test_what_is_renewed_takes_the_place_of_what_is_there(self, bed: Bed) -> None:
        await bed.installs.keep(HERE)
        renewed = replace(HERE, token="xoxb-second", refresh_token="xoxe-1-second")

        done = await bed.installs.renew(renewed)

        assert done
        assert await bed.installs.install("slack", "T01") == renewed

    async def test_what_was_erased_meanwhile_is_not_renewed(self, bed: Bed) -> None:
        await bed.installs.keep(HERE)
        await bed.installs.erase("slack", "T01")

        done = await bed.installs.renew(replace(HERE, token="xoxb-second"))

        assert not done
        assert await bed.installs.installed("slack") == ()

    async def test_an_install_is_erased_once_and_no_other_with_it(self, bed: Bed) -> None:
        other = replace(HERE, workspace="T02")
        for one in (HERE, other):
            await bed.installs.keep(one)

        erased = [await bed.installs.erase("slack", "T01") for _ in range(2)]

        assert erased == [True, False]
        assert await bed.installs.install("slack", "T01") is None
        assert await bed.installs.installed("slack") == (other,)

    async def test_a_state_is_used_once(self, bed: Bed) -> None:
        await bed.installs.begin_state("state-one", lasts_s=60)

        used = await asyncio.gather(*(bed.installs.end_state("state-one") for _ in range(5)))

        assert sorted(used) == [False] * 4 + [True]
        assert not await bed.installs.end_state("unheard-of")

    async def test_a_state_that_is_too_old_is_refused(self, bed: Bed) -> None:
        await bed.installs.begin_state("state-old", lasts_s=60)
        await bed.time.pass_by(61)
        await bed.installs.begin_state("state-new", lasts_s=60)

        used = [await bed.installs.end_state(one) for one in ("state-old", "state-new")]

        assert used == [False, True]

    async def test_of_many_at_once_one_takes_the_charge(self, bed: Bed) -> None:
        names = [f"host.{number}" for number in range(9)]

        taken = await asyncio.gather(
            *(bed.installs.take_charge("A01", name, lasts_s=30) for name in names)
        )

        holder = names[taken.index(True)]
        again = [await bed.installs.take_charge("A01", name, lasts_s=30) for name in names]
        assert taken.count(True) == 1
        assert [name for name, has in zip(names, again, strict=True) if has] == [holder]
        assert await bed.installs.take_charge("A02", "host.other", lasts_s=30)

    async def test_a_charge_lapses_unless_it_is_kept(self, bed: Bed) -> None:
        await bed.installs.take_charge("A01", "one", lasts_s=30)
        await bed.time.pass_by(20)
        kept = await bed.installs.take_charge("A01", "one", lasts_s=30)
        await bed.time.pass_by(20)
        early = await bed.installs.take_charge("A01", "two", lasts_s=30)
        await bed.time.pass_by(11)

        late = await bed.installs.take_charge("A01", "two", lasts_s=30)

        back = await bed.installs.take_charge("A01", "one", lasts_s=30)
        assert (kept, early, late, back) == (True, False, True, False)

    async def test_a_charge_that_is_left_is_free_at_once(self, bed: Bed) -> None:
        await bed.installs.take_charge("A01", "one", lasts_s=30)
        await bed.installs.leave_charge("A01", "two")
        held = await bed.installs.take_charge("A01", "two", lasts_s=30)
        await bed.installs.leave_charge("A01", "one")

        assert not held
        assert await bed.installs.take_charge("A01", "two", lasts_s=30)

    async def test_a_charge_of_a_clock_that_was_set_back_lapses_in_its_time(self, bed: Bed) -> None:
        await bed.installs.take_charge("A01", "one", lasts_s=30)
        await bed.time.pass_by(-86_400)

        waits = await bed.installs.take_charge("A01", "two", lasts_s=30)
        await bed.time.pass_by(31)

        assert not waits
        assert await bed.installs.take_charge("A01", "two", lasts_s=30)

    async def test_a_clock_that_was_set_on_frees_the_charge_for_one(self, bed: Bed) -> None:
        await bed.installs.take_charge("A01", "one", lasts_s=30)
        await bed.time.pass_by(86_400)

        two, one = [
            await bed.installs.take_charge("A01", who, lasts_s=30) for who in ("two", "one")
        ]

        assert (two, one) == (True, False)


class WaysBackContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_way_back_comes_with_its_message_and_lapses(self, bed: Bed) -> None:
        message = said(bed)
        await bed.inbox.receive_all((message,))
        early = await bed.ways_back.way_back(message.id)
        await bed.time.pass_by(30 * 60 + 1)

        assert early == URL
        assert await bed.ways_back.way_back(message.id) == ""
        assert await bed.ways_back.way_back("unheard-of") == ""

    async def test_what_came_before_keeps_its_own_way_back(self, bed: Bed) -> None:
        message = said(bed)
        await bed.inbox.receive_all((message,))

        await bed.inbox.receive_all((replace(message, way_back="https://evil.example/"),))

        assert await bed.ways_back.way_back(message.id) == URL

    async def test_a_message_that_was_taken_back_has_none(self, bed: Bed) -> None:
        message = said(bed)
        await bed.inbox.receive_all((message,))

        await bed.inbox.remove(Removed(message.id, ROOM, ANN, 9.0))

        assert await bed.ways_back.way_back(message.id) == ""

    async def test_a_room_of_several_workspaces_is_known_under_the_first(self, bed: Bed) -> None:
        for workspace in ("T02", "T01", "T03"):
            await bed.inbox.receive_all((said(bed, replace(ROOM, workspace=workspace)),))
            await bed.time.pass_by(1)

        assert await bed.ways_back.workspace_of("slack", "C01") == "T02"
        assert await bed.ways_back.workspace_of("slack", "C02") is None
        assert await bed.ways_back.workspace_of("matrix", "C01") is None

    async def test_a_workspace_that_left_a_shared_room_is_followed_by_one_that_stays(
        self, bed: Bed
    ) -> None:
        for workspace in ("T01", "T02"):
            await bed.installs.keep(replace(HERE, workspace=workspace))
            await bed.inbox.receive_all((said(bed, replace(ROOM, workspace=workspace)),))
            await bed.time.pass_by(1)
        before = await bed.ways_back.workspace_of("slack", "C01")

        await bed.installs.erase("slack", "T01")

        assert before == "T01"
        assert await bed.ways_back.workspace_of("slack", "C01") == "T02"
