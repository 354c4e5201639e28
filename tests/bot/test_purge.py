"""`headway purge`: what may be asked, and how what goes is counted."""

import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bot.cli import purge
from bot.errors import BadInput, StoreBusy
from bot.ports.forgetting import Known, Step, Trail, Wanted
from bot.settings import Settings
from bot.wiring.forgetting import Copies, PurgeDesk


@pytest.mark.parametrize(
    ("age", "days"), [("30d", 30), ("12h", 0.5), ("4w", 28), ("7", 7), ("1.5 d", 1.5)]
)
def test_an_age_is_a_number_with_a_unit(age: str, days: float) -> None:
    asked = purge._asked(None, age, "ops", False)

    assert asked == {"do": "purge", "days": days, "room": "ops"}


@pytest.mark.parametrize(
    ("person", "older", "room", "what"),
    [
        (None, None, "", "Say one of --person and --older"),
        ("ann", "30d", "", "Say one of --person and --older"),
        ("ann", None, "ops", "--room goes with --older"),
        (None, "soon", "", "'soon' is no age"),
        (None, "-3d", "", "is no age"),
    ],
)
def test_what_does_not_go_together_is_refused(
    person: str | None, older: str | None, room: str, what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        purge._asked(person, older, room, False)


def test_what_goes_is_listed_by_kind_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    purge._show("Forgetting ann will take:", {"text": 1200, "live": 1})

    assert capsys.readouterr().out == (
        "Forgetting ann will take:\n        1  live goal, cancelled\n    1,200  texts\n"
    )


class Works:
    """A forgetter of two steps, or one that fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[Any] = []
        self.may_end = asyncio.Event()

    async def forget(self, wanted: Wanted, told: Any) -> Counter[str]:
        self.asked.append(wanted)
        told(Step("text", 3))
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return Counter(text=3, name=1)

    async def preview(self, wanted: Wanted) -> Counter[str]:
        return Counter(text=3)


ANN = Known("p1", "console", "ann", "Ann")
OTHER = Known("p2", "slack", "U7", "Ann")


def desk_of(works: Works, *people: Known) -> PurgeDesk:
    async def known(name: str) -> tuple[Known, ...]:
        return tuple(one for one in people if name in (one.id, one.external, one.name))

    return PurgeDesk(works, known)  # type: ignore[arg-type]


async def test_a_purge_tells_how_far_it_is_until_it_is_over() -> None:
    works = Works()
    desk = desk_of(works, ANN)

    begun = await desk({"do": "purge", "person": "ann", "keeps_mentions": True})
    await asyncio.sleep(0)
    midway = await desk({"do": "purging", "id": 1})
    works.may_end.set()
    await desk.close()

    assert begun == {"id": 1, "person": "console:Ann"}
    assert midway == {"counts": {"text": 3}, "is_over": False, "failure": "", "exit_code": 0}
    assert works.asked == [Wanted("p1", True)]
    assert await desk({"do": "purging", "id": 1}) == {
        "counts": {"text": 3, "name": 1},
        "is_over": True,
        "failure": "",
        "exit_code": 0,
    }


async def test_what_ends_a_purge_is_said() -> None:
    works = Works(StoreBusy("The log is read."))
    desk = desk_of(works, ANN)
    works.may_end.set()

    await desk({"do": "purge", "person": "p1"})
    await desk.close()

    told = await desk({"do": "purging", "id": 1})
    assert told is not None
    assert (told["is_over"], told["failure"]) == (True, "The log is read.")
    assert told["exit_code"] == StoreBusy.exit_code


async def test_a_name_that_nobody_or_more_than_one_has_is_refused() -> None:
    desk = desk_of(Works(), ANN, OTHER)

    with pytest.raises(BadInput, match="nobody called 'eve'"):
        await desk({"do": "purge", "person": "eve"})
    with pytest.raises(BadInput, match="console:ann, slack:U7"):
        await desk({"do": "purge", "person": "Ann"})
    chosen = await desk({"do": "purge", "person": "slack:Ann", "is_dry": True})
    await desk.close()

    assert chosen == {"id": 1, "person": "slack:Ann"}
    assert await desk({"do": "settle"}) is None


async def test_an_id_may_have_colons_of_its_own() -> None:
    there = Known("p3", "slack", "T02:U7", "Ann"), Known("p4", "matrix", "@ann:example.org", "Ann")
    desk = desk_of(Works(), ANN, *there)

    with pytest.raises(BadInput, match=r"slack:T02:U7, matrix:@ann:example\.org"):
        await desk({"do": "purge", "person": "Ann"})
    chosen = [
        await desk({"do": "purge", "person": person, "is_dry": True})
        for person in ("slack:T02:U7", "T02:U7", "matrix:@ann:example.org", "@ann:example.org")
    ]
    await desk.close()

    assert [one and one["person"] for one in chosen] == ["slack:Ann"] * 2 + ["matrix:Ann"] * 2


async def test_former_states_that_were_kept_beside_go_with_a_person(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    (tmp_path / "headway.db").write_bytes(b"now")
    (tmp_path / "headway.db.before-0002").write_bytes(b"then")
    (tmp_path / "workspaces.before-restore-20260101-000000/s1").mkdir(parents=True)
    copies, trail = Copies(settings), Trail(ANN)

    counted = await copies.take(trail, is_dry=True)
    taken = await copies.take(trail)

    assert counted == taken == [Step("copy", 2)]
    assert os.listdir(tmp_path) == ["headway.db"]
    assert await copies.take(trail) == []
