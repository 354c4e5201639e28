"""Whose the words are that a copy brings along: they go as the words that they are copied from."""

from dataclasses import replace

from bot.goals import events as e
from bot.ports.journal import Unit, content_hash
from bot.ports.people import Entry, Subject
from tests.bot.chat.slack_net import ANN, BEN, SlackNet
from tests.bot.chat.test_secrets import slack as slack  # noqa: PLC0414
from tests.doubles.sandbox import MemorySandbox
from tests.doubles.snapshots import MemorySnapshots


async def test_who_deletes_what_they_said_deletes_it_in_a_copy_that_somebody_made(
    slack: SlackNet,
) -> None:
    kept = MemorySnapshots()
    slack.desk = replace(slack.desk, checkpoints=slack.store.checkpoints, snapshots=kept)
    slack.begin_anew()
    await slack.allow_list.allow(Entry(Subject("person", "slack", BEN.id), "user"))
    said = await slack.say("@headway find out why Carla left", ANN)
    [goal] = await slack.store.rooms.goals()
    session = await MemorySandbox().open("w", "workspace")
    tree = await kept.take(session)
    journal = slack.store.journal
    await journal.commit(Unit(goal.id, (e.TurnStarted(),)))
    ended = e.TurnEnded("stopped", reply=content_hash("x"))
    await journal.commit(Unit(goal.id, (ended,), tree=tree))
    await slack.command("/goal fork G1 1", BEN)
    copy = next(one for one in await slack.store.rooms.goals() if one.forks)
    assert await journal.contents(copy.session, [copy.objective])

    await slack.remove(said, ANN)

    assert await journal.contents(copy.session, [copy.objective]) == {}
