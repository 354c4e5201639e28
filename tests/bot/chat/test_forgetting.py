"""`forget me`, and messages that are taken back."""

from dataclasses import dataclass, field, replace

import pytest

from adapters.console.parse import room
from bot.chat.intake import Intake
from bot.chat.texts import Texts
from bot.goals.events import TurnStarted
from bot.ports.chat import Changed, Speaker
from bot.ports.forgetting import Wanted
from bot.ports.people import NOTHING, Answer
from tests.bot.chat.conftest import ANN, Bench

texts = Texts()


@dataclass
class Wants:
    """Who was asked to be forgotten. The one method of the port that chat calls."""

    bench: Bench
    wanted: list[tuple[Wanted, float]] = field(default_factory=list)

    async def want(self, wanted: Wanted, in_s: float = 0.0, answer: Answer = NOTHING) -> None:
        self.wanted.append((wanted, in_s))
        for note in answer.notes:
            await self.bench.store.outbox.say(note.session, note.key, note.text, answer.handled)
        if not answer.notes:
            await self.bench.store.inbox.handled(*answer.handled)


@pytest.fixture
def wants(bench: Bench) -> Wants:
    wants = Wants(bench)
    bench.desk = replace(bench.desk, forgetting=wants)  # type: ignore[arg-type]
    bench.intake = Intake(bench.desk, bench.allow_list.of)
    return wants


async def take_back(bench: Bench, id: str, thread: str = "", who: Speaker = ANN) -> None:
    """Somebody takes a message back at the console; that is handled."""
    await bench.console.remove(who, id, thread)
    bench.console._catch_up()
    await bench.console._give(bench.intake.receive)
    await bench.deliver()


async def test_forget_me_asks_once_and_names_what_it_ends(bench: Bench, wants: Wants) -> None:
    await bench.start("one thing")
    await bench.start("another thing")

    await bench.say("/goal forget me")

    assert "It cancels G1, G2." in bench.last()
    assert "forget me yes" in bench.last()
    assert wants.wanted == []


async def test_the_yes_is_written_down_and_leaves_the_answer_time_to_arrive(
    bench: Bench, wants: Wants
) -> None:
    _, goal = await bench.start()

    await bench.say("/goal forget me yes")

    [(wanted, in_s)] = wants.wanted
    assert wanted == Wanted(goal.owner)
    assert 0 < in_s < 30
    assert bench.last() == texts("said.forgetting")


async def test_whoever_has_no_goals_is_told_of_none(bench: Bench, wants: Wants) -> None:
    await bench.say("/goal forget me")

    assert "It cancels" not in bench.last()


async def test_forget_with_other_words_is_an_objective(bench: Bench, wants: Wants) -> None:
    _, goal = await bench.start("forget the tides and write of dunes")

    assert wants.wanted == []
    assert goal.number == 1


async def test_a_stranger_may_be_forgotten_as_well(bench: Bench, wants: Wants) -> None:
    await bench.say("/goal forget me yes", speaker=Speaker("eve", "eve"))

    assert len(wants.wanted) == 1


async def test_a_stranger_who_floods_is_heard_and_gets_no_flood_of_answers(
    bench: Bench, wants: Wants
) -> None:
    for text in ("/goal forget me", "/goal forget me yes"):
        for _ in range(9):
            await bench.say(text, speaker=Speaker("eve", "eve"))

    assert len(wants.wanted) == 9
    assert len(bench.answers()) == 2


async def test_a_deleted_objective_pauses_its_goal_and_asks_the_owner(bench: Bench) -> None:
    thread, goal = await bench.start("write of the secret dunes")
    await bench.happens(goal, TurnStarted())

    await take_back(bench, thread)

    now = await bench.goal(thread)
    assert now.state == "paused"
    assert await bench.store.journal.contents(goal.session, [goal.objective]) == {}
    assert "@ann: the message with the objective of G1 was deleted" in bench.last(thread)
    assert "secret dunes" not in "".join(bench.answers(thread))
    assert bench.woken[-1][0] == goal.id


async def test_an_objective_that_was_edited_since_stays(bench: Bench) -> None:
    thread, goal = await bench.start("write of the dunes")
    await bench.say("edit write of the harbour", thread)
    answers = len(bench.answers(thread))

    await take_back(bench, thread)

    assert (await bench.goal(thread)).state == goal.state
    assert len(bench.answers(thread)) == answers


async def test_a_goal_that_rests_stays_where_it_is_and_its_owner_is_asked(bench: Bench) -> None:
    thread, _ = await bench.start()
    await bench.say("pause", thread)

    await take_back(bench, thread)

    assert (await bench.goal(thread)).state == "paused"
    assert "was deleted" in bench.last(thread)


async def test_a_deleted_word_of_steering_is_gone_and_the_goal_goes_on(bench: Bench) -> None:
    thread, goal = await bench.start()
    id = await bench.say("use the slip-of-mine", thread)
    answers = len(bench.answers(thread))

    await take_back(bench, id, thread)

    lines = await bench.store.journal.history(goal.session)
    said = lines[-1].entry.event
    assert await bench.store.journal.contents(goal.session, [said.content]) == {}  # type: ignore[union-attr]
    assert not (await bench.goal(thread)).is_final
    assert len(bench.answers(thread)) == answers


async def test_what_was_taken_back_before_it_was_handled_starts_nothing(bench: Bench) -> None:
    id = await bench.console.say(ANN, "/goal write of the dunes")

    await take_back(bench, id)

    assert await bench.store.rooms.goals() == ()
    assert await bench.store.inbox.waiting() == ()


async def test_a_removal_is_taken_once_however_often_it_is_told(bench: Bench) -> None:
    thread, _ = await bench.start()

    await take_back(bench, thread)
    answers = bench.answers(thread)
    await take_back(bench, thread)

    assert bench.answers(thread) == answers


async def edited(bench: Bench, id: str, text: str, who: Speaker = ANN) -> None:
    """Somebody edits a message where it stands; that is handled."""
    await bench.intake.receive(Changed(id, room(), who, text, 9.0))
    await bench.deliver()


async def test_an_edit_of_the_objective_by_its_owner_counts(bench: Bench) -> None:
    thread, goal = await bench.start("write of the dunes")

    await edited(bench, thread, "/goal write of the harbour")
    await edited(bench, thread, "/goal write of the harbour")

    now = await bench.goal(thread)
    texts_now = await bench.store.journal.contents(goal.session, [now.objective])
    assert list(texts_now.values()) == ["write of the harbour"]
    assert now.revision == goal.revision + 1
    assert "It was:\n> write of the dunes" in bench.last(thread)


async def test_an_edit_by_somebody_who_may_not_changes_nothing_and_shows_both(
    bench: Bench,
) -> None:
    ben = Speaker("ben", "ben")
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write of the dunes", speaker=ben)
    await bench.say("owner me", thread)
    goal = await bench.goal(thread)

    await edited(bench, thread, "/goal sell the dunes", Speaker("eve", "eve"))
    await edited(bench, thread, "/goal sell the dunes", ben)

    assert await bench.goal(thread) == goal
    told = bench.last(thread)
    assert told.startswith("@ann: ben edited the message with the objective of G1")
    assert "> write of the dunes" in told
    assert "> sell the dunes" in told


async def test_an_edit_that_gives_no_objective_or_has_no_goal_changes_nothing(
    bench: Bench,
) -> None:
    thread, goal = await bench.start("write of the dunes")

    for text in ("just talk", "/goal status", "/goal do it"):
        await bench.intake.receive(Changed(thread, room(), ANN, text, float(len(text))))
    await edited(bench, "unheard of", "/goal write of the harbour")

    assert await bench.goal(thread) == goal
    assert await bench.store.inbox.waiting() == ()


async def test_an_edit_whose_checks_are_too_many_is_told_which_bound_it_crosses(
    bench: Bench,
) -> None:
    thread, goal = await bench.start("write of the dunes")
    checks = "".join(f"\ncheck: make part-{number}" for number in range(11))

    await edited(bench, thread, f"/goal write of the dunes{checks}", ANN)

    assert await bench.goal(thread) == goal
    assert "An objective has at most 10 check lines" in bench.last(thread)
    assert await bench.store.inbox.waiting() == ()
