"""Every verb, typed in a Matrix room, is answered there once."""

from collections.abc import Iterator

import pytest

from bot.chat.texts import Texts
from bot.chat.verbs import START, example, served
from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running
from tests.peers.matrix_plain import PlainUser, key_of, thread_of
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

ANSWERED_S = 15.0
BEGINNING = (START.name, "plan")
LAST = ("pause", "resume", "edit", "stop", "cancel", "reopen", "ask")
"""What changes the goal comes after what only looks, and in this order."""


@pytest.fixture
def person(synapse: Synapse) -> PlainUser:
    return PlainUser(synapse, synapse.register("ann"))


@pytest.fixture
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, person: PlainUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("verbs"), api, synapse)) as bot:
        bot.allow(person.user_id, "admin")
        yield bot


def typed() -> list[str]:
    """Every verb that is served, as help shows it, without one that begins a goal."""
    names = [verb.name for verb in served() if verb.name not in BEGINNING]
    ordered = [*(name for name in names if name not in LAST), *LAST]
    assert sorted(ordered) == sorted(names)
    verbs = {verb.name: verb for verb in served()}
    shown = {name: example(verbs[name], Texts()).replace("G12", "G1") for name in ordered}
    # Once is a question; what is held is let go by the next one.
    more = {"cancel": "cancel yes", "hold": "hold room", "release": "release room"}
    # There is no such checkpoint, and who complains too often hears no more.
    more |= {"rewind": "rewind", "fork": "fork"}
    return [{**shown, **more}[name] for name in ordered]


def test_every_verb_is_answered_once_where_it_was_typed(
    headway: MatrixBot, person: PlainUser
) -> None:
    room = person.create(headway.user_id)
    person.until_joined(room, headway.user_id)
    root = person.say(room, "!goal !script slow 1 60")
    until(lambda: bool(headway.look(root)), ANSWERED_S, lambda: "no goal was opened")
    asked = {}
    for words in typed():
        asked[words] = person.say(room, f"!goal {words}")
        until(lambda: headway.ask(do="settle") == {}, ANSWERED_S, lambda: "it does not settle")

    def keys() -> list[str]:
        return [key_of(event) for event in person.messages(room, headway.user_id)]

    question = next(words for words in asked if words.startswith("ask "))
    answers = {words: f"reply:{id}" for words, id in asked.items() if words != question}
    until(
        lambda: set(answers.values()) <= set(keys()),
        ANSWERED_S,
        lambda: f"Silence: {[words for words, key in answers.items() if key not in keys()]}",
    )

    def in_thread() -> list[str]:
        messages = person.messages(room, headway.user_id)
        return [key_of(one) for one in messages if thread_of(one) == asked[question]]

    until(lambda: bool(in_thread()), ANSWERED_S, lambda: f"{question}: silence")
    assert [words for words, key in answers.items() if keys().count(key) > 1] == []
    assert len(in_thread()) == 1
