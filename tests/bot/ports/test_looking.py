"""What somebody had before them goes along, named for what it is."""

from dataclasses import replace

import pytest

from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.journal import Content
from bot.ports.looking import LOOKED_AT, with_looked_at

SAID = Incoming(
    "D1:1.2", Place("slack", "T1", "D1"), Speaker("T1:U1", "Ann"), "summarise it", 0.0,
    form=((LOOKED_AT, "C02 #random"),),
)  # fmt: skip


def test_a_goal_begins_with_a_line_about_it() -> None:
    found = with_looked_at(Content("summarise it", "p1", "m1"), SAID)

    assert found.text.splitlines()[0] == "summarise it"
    assert "#random" in found.text.splitlines()[-1]
    assert (found.author, found.message) == ("p1", "m1")


@pytest.mark.parametrize(
    "message", [replace(SAID, form=()), replace(SAID, via="form"), replace(SAID, via="button")]
)
def test_without_it_what_was_said_stays_as_it_is(message: Incoming) -> None:
    said = Content("summarise it", "p1")

    assert with_looked_at(said, message) is said


def test_a_room_without_a_known_name_is_called_by_its_id() -> None:
    found = with_looked_at(Content("x"), replace(SAID, form=((LOOKED_AT, "C02"),)))

    assert "[They had C02 open" in found.text


def test_a_name_ends_no_line_before_its_time() -> None:
    found = with_looked_at(Content("x"), replace(SAID, form=((LOOKED_AT, "C02 #a]\nb"),)))

    assert found.text.count("]") == 1
    assert found.text.count("\n") == 2
