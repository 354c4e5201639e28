"""Approvals and plans in an encrypted Matrix room: words, reactions, and kills between card and answer."""

import hashlib
import json
import signal
from collections.abc import Iterator

import pytest

from tests.journeys.matrix import (
    MatrixBot,
    MatrixGoal,
    assert_once,
    matrix_bot,
    running,
    shared_room,
)
from tests.peers.hydrogen import browser, shot
from tests.peers.matrix_user import MatrixUser, People, Seen
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.sandbox, pytest.mark.timeout(240)]

ASKS = json.dumps(["mktemp", "printf"])


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    bot = matrix_bot(tmp_path_factory.mktemp("decisions"), api, synapse, ask_commands=ASKS)
    with running(bot, ann) as started:
        yield started


@pytest.fixture(scope="module")
def room(headway: MatrixBot, ann: MatrixUser) -> Iterator[str]:
    room = shared_room(ann, headway, encrypted=True, name="The sealed pier")
    yield room
    assert_once(ann, room, headway)
    assert all(seen.encrypted for seen in ann.messages(room, headway.user_id))


def killed(bot: MatrixBot) -> None:
    bot.stop(signal.SIGKILL)
    bot.start()


def ran(goal: MatrixGoal) -> int:
    """How often the command has run."""
    folder = goal.bot.folder / "workspaces" / goal.look().goal.session / "drafts"
    return len(list(folder.glob("ran.*")))


def until_reads(goal: MatrixGoal, card: Seen, words: str) -> None:
    """Wait until a card says so."""

    def now() -> str:
        return goal.person.seen[goal.room][card.id].body

    goal.person.until(lambda: words in now(), 30, lambda: f"{words!r} not in {now()!r}")


@pytest.mark.parametrize(
    ("words", "times", "came"),
    [
        ("approve 1", 1, "→ Approved, this once."),
        ("deny 1: the pier is closed", 0, "→ Denied: the pier is closed"),
    ],
)
def test_a_call_is_answered_by_its_words_after_a_kill(
    headway: MatrixBot, ann: MatrixUser, room: str, words: str, times: int, came: str
) -> None:
    goal = headway.asked(ann, room, "!goal Note the tide. !script runs_approved 1")
    card = goal.until_posted("decision")
    killed(headway)
    before = ran(goal)

    goal.say(words)
    goal.until("complete", 60)

    assert "mktemp -p drafts ran.XXXXXX" in card.body
    assert "<pre><code" in card.html
    assert "Say the words; reactions do not count here." in card.body
    assert "approve for goal" in card.body
    assert (before, ran(goal)) == (0, times)
    until_reads(goal, card, came)
    if times == 0:
        assert "the pier is closed" in goal.posts()[-1].body


def test_a_reaction_approves_no_call_in_an_encrypted_room_unless_it_says_so(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal Note the ebb. !script runs_approved 1")
    card = goal.until_posted("decision")

    ann.react(room, card.id, "✅")
    ann.until_said(room, "In an encrypted room an approval takes words")
    assert ran(goal) == 0
    assert goal.look().goal.state == "deciding"

    headway.set_room(room, "reactions", "on")
    killed(headway)
    ann.react(room, card.id, "👍")
    goal.until("complete", 60)

    assert ran(goal) == 1
    until_reads(goal, card, "→ Approved, this once.")
    headway.set_room(room, "reactions", "default")


def test_a_thumb_down_denies_where_reactions_count(headway: MatrixBot, ann: MatrixUser) -> None:
    plain = shared_room(ann, headway, name="The open pier")
    goal = headway.asked(ann, plain, "!goal Note the flood. !script runs_approved 1")
    card = goal.until_posted("decision")
    killed(headway)

    ann.react(plain, card.id, "👎")
    goal.until("complete", 60)

    assert ran(goal) == 0
    until_reads(goal, card, "→ Denied.")


def test_a_call_that_no_event_holds_is_a_file_with_its_hash_and_takes_its_number(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal Print the tides. !script long_call 24000")
    card = goal.until_posted("decision")
    headway.ask(do="settle")
    file = ann.until_seen(room, lambda seen: seen.body == "call.md")

    goal.say("approve")
    ann.until_said(room, "say it with its number, `approve 1`")
    assert goal.look().goal.state == "deciding"
    goal.say("approve 1")
    goal.until("complete", 60)

    whole = ann.download(file)
    assert hashlib.sha256(whole).hexdigest() in card.body
    assert b"tide-2999" in whole


def test_a_plan_is_changed_in_words_and_approved_after_kills(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal plan Paint the boat. !script plans 2")
    card = goal.until_posted("decision")
    killed(headway)

    goal.say("let it grow")
    goal.until_true(lambda look: look.goal.decisions == 2 and look.goal.state == "deciding", 60)
    until_reads(goal, card, "→ The goal moved on without it.")
    killed(headway)
    goal.say("approve")
    goal.until("complete", 60)

    last = goal.until_posted("decision")
    until_reads(goal, last, "→ Approved.")
    assert "the step that was asked for" in last.body


def test_a_plan_is_rejected_by_a_reaction_even_where_messages_are_encrypted(
    headway: MatrixBot, ann: MatrixUser, room: str
) -> None:
    goal = headway.asked(ann, room, "!goal plan Scrape the hull. !script plans 2")
    card = goal.until_posted("decision")

    ann.react(room, card.id, "❌")
    goal.until("blocked", 60)

    until_reads(goal, card, "→ Rejected.")
    assert "the plan was rejected" in goal.until_posted("blocked").body


def test_a_picture_of_cards_is_left_for_a_person_to_look_at(
    headway: MatrixBot, ann: MatrixUser, room: str, synapse: Synapse
) -> None:
    if browser() is None:
        pytest.skip("no Chromium here, and no right to install it: the picture is left out")

    def work() -> None:
        goal = headway.asked(ann, room, "!goal Note the neap tide. !script runs_approved 1")
        goal.until_posted("decision")
        planned = headway.asked(ann, room, "!goal plan Tar the boat. !script plans 2")
        planned.until_posted("decision")
        goal.say("approve")

    shown = shot(synapse, ann.account, "The sealed pier", "Tar the boat", "matrix-decisions", work)

    assert "Decision 1" in shown
