"""Every verb, typed as `/goal` in a Slack channel and as `!goal` in a thread, is answered there once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.chat.commands import REPEATED_S
from bot.chat.texts import Texts
from bot.chat.verbs import example, served
from tests.journeys.bot import until
from tests.journeys.slack import ALICE, GENERAL, SlackBot, a_slack, key_of, running, slack_bot
from tests.journeys.test_matrix_verbs import BEGINNING, LAST
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

ANSWERED_S = 40.0

TOLD_THE_SAME = ("decline", "allow")
"""Verbs that are told here what one before them was: a command is not told the same again at once."""


@pytest.fixture
def headway(tmp_path: Path, api: BlockingMessagesApi, sandbox: str) -> Iterator[SlackBot]:
    with a_slack("socket") as front, running(slack_bot(tmp_path, api, front), ALICE) as bot:
        yield bot


@pytest.mark.parametrize("how", ["a command", "words in the thread"])
def test_every_verb_is_answered_once(headway: SlackBot, how: str) -> None:
    front = headway.front
    goal = headway.started(ALICE, "!script slow 1 60")
    until(lambda: bool(headway.look(goal.thread)), ANSWERED_S, headway.told)
    silent, twice = [], []

    for words in _typed():
        if words.partition(" ")[0] in TOLD_THE_SAME:
            time.sleep(REPEATED_S)
        before = _said(front)
        if how == "a command":
            assert front.command(ALICE, GENERAL, words).wait().is_acked
        else:
            goal.say(f"!goal {words}")
        until_said = _until_more(front, headway, before)
        if not until_said:
            silent.append(words)
        if len(until_said) != len(set(until_said)):
            twice.append(words)

    assert silent == []
    assert twice == []


def _typed() -> list[str]:
    """Every verb that is served, as help shows it, without one that begins a goal."""
    names = [verb.name for verb in served() if verb.name not in BEGINNING]
    ordered = [*(name for name in names if name not in LAST), *LAST]
    verbs = {verb.name: verb for verb in served()}
    shown = {name: example(verbs[name], Texts()).replace("G12", "G1") for name in ordered}
    # Once is a question; what is held is let go by the next one.
    more = {"cancel": "cancel yes", "hold": "hold room", "release": "release room"}
    # There is no such checkpoint, and who complains too often hears no more.
    more |= {"rewind": "rewind", "fork": "fork"}
    return [{**shown, **more}[name] for name in ordered]


def _said(front: SlackFront) -> list[tuple[str, str]]:
    """When and under which key the bot has said something, to all and, without one, to Alice alone."""
    every = [*front.posts(GENERAL), *front.unseen(ALICE)]
    return [
        (post["ts"], key_of(front, GENERAL, post) or plain_text(post)) for post in every
        if ":status:" not in key_of(front, GENERAL, post)
    ]  # fmt: skip


def _until_more(front: SlackFront, headway: SlackBot, before: list[tuple[str, str]]) -> list[str]:
    """The keys of what came in answer; none where nothing did in time."""
    old = {ts for ts, _ in before}

    def new() -> list[str]:
        return [key for ts, key in _said(front) if ts not in old]

    try:
        until(lambda: bool(new()), ANSWERED_S, headway.told)
    except AssertionError:
        return []
    headway.ask(do="settle")
    return new()
