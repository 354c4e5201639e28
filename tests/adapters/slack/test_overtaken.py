"""News that overtake each other count as if each had come in its time."""

from dataclasses import replace

from adapters.slack.overtaken import KEPT, Overtaken
from bot.ports.chat import Changed, Incoming, Place, Reacted, Removed, Speaker, Unreacted

ROOM = Place("slack", "T01TEST", "C01GEN")
ALICE, BOB = Speaker("T01TEST:U01ALICE", "alice"), Speaker("T01TEST:U02BOB", "bob")
SAID = Incoming("C01GEN:1.000001", ROOM, ALICE, "make tea", 1.0)
PUT = Reacted("C01GEN:1.000001:U01ALICE:🎯:2", ROOM, ALICE, "🎯", SAID.id, 2.0)
TAKEN = Unreacted(ROOM, ALICE, "🎯", SAID.id, 3.0)


def after(*noted: Removed | Unreacted | Changed) -> Overtaken:
    overtaken = Overtaken()
    for one in noted:
        overtaken.note(one)
    return overtaken


def test_a_reaction_that_was_taken_away_before_it_came_is_none() -> None:
    assert after(TAKEN).now(PUT) is None


def test_a_reaction_that_is_put_again_later_or_by_another_or_is_another_counts() -> None:
    overtaken = after(TAKEN)

    for other in (
        replace(PUT, at=4.0),
        replace(PUT, speaker=BOB),
        replace(PUT, emoji="👀"),
        replace(PUT, to="C01GEN:9.000001"),
    ):
        assert overtaken.now(other) == other


def test_a_message_that_was_deleted_before_it_came_is_none() -> None:
    assert after(Removed(SAID.id, ROOM, ALICE, 2.0)).now(SAID) is None


def test_a_message_that_was_edited_before_it_came_says_what_it_says_by_then() -> None:
    first, second = (Changed(SAID.id, ROOM, ALICE, text, at) for text, at in (("b", 2), ("c", 3)))

    assert after(second, first).now(SAID) == replace(SAID, text="c")


def test_what_is_deleted_stays_so_whatever_comes_after() -> None:
    removed, edit = Removed(SAID.id, ROOM, ALICE, 2.0), Changed(SAID.id, ROOM, ALICE, "b", 9.0)

    assert after(removed, edit).now(SAID) is None


def test_all_else_is_as_it_came() -> None:
    press = replace(SAID, via="button")
    overtaken = after(Removed(SAID.id, ROOM, ALICE, 2.0))

    assert overtaken.now(press) == press
    assert overtaken.now(TAKEN) == TAKEN


def test_only_the_last_ones_are_kept() -> None:
    overtaken = after(Removed(SAID.id, ROOM, ALICE, 2.0))
    for number in range(KEPT):
        overtaken.note(Removed(f"C01GEN:2.{number:06}", ROOM, ALICE, 2.0))

    assert overtaken.now(SAID) == SAID
