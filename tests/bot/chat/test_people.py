"""The list, claims, owners and rooms, as people meet them at the console."""

import pytest

from adapters.console.parse import room
from bot.chat import claims
from bot.chat.departures import Departures
from bot.chat.intake import Intake
from bot.goals.events import DecisionAsked, TurnEnded, TurnStarted
from bot.goals.goal import State
from bot.goals.money import NANO
from bot.ports.chat import Place, Speaker
from bot.ports.doors import TRIES_MOST
from bot.ports.journal import content_hash
from bot.ports.people import Entry, Subject
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.turns import began

BEN = Speaker("ben", "ben")
EVE = Speaker("eve", "eve")
DAY_S = 86_400.0


async def roles(bench: Bench, who: Speaker = BEN, place: Place | None = None) -> set[str]:
    return set(await bench.allow_list.roles(place or room(), who))


# The list.


async def test_an_admin_lets_somebody_in_who_was_never_seen(bench: Bench) -> None:
    await bench.say("/goal allow @ben")

    assert bench.last() == "@ben is user in all rooms now."
    assert await roles(bench) == {"user"}
    thread = await bench.say("/goal write a sonnet", speaker=BEN)
    assert (await bench.goal(thread)).number == 1


async def test_a_role_here_holds_here_alone(bench: Bench) -> None:
    await bench.say("/goal allow @ben approver here")

    assert bench.last() == "@ben is approver in this room now."
    assert await roles(bench) == {"approver"}
    assert await roles(bench, place=Place("console", "elsewhere", "console")) == set()


async def test_the_list_is_shown_with_roles_and_places(bench: Bench) -> None:
    await bench.say("/goal allow")
    empty = bench.last()
    await bench.say("/goal allow @ben")
    await bench.say("/goal allow room:console approver here")

    await bench.say("/goal allow")

    assert empty == "The list is empty. `/goal allow @name` lets somebody in."
    assert "- @ben — user in all rooms" in bench.last()
    assert "- room:console — approver in this room" in bench.last()


async def test_an_admin_of_one_room_lets_nobody_into_others(bench: Bench) -> None:
    await bench.say("/goal allow @ben admin here")
    await bench.say("/goal allow @dora")

    await bench.say("/goal allow @eve admin", speaker=BEN)
    added = bench.last()
    await bench.say("/goal allow remove @dora", speaker=BEN)
    refused = bench.last()
    await bench.say("/goal hold all", speaker=BEN)

    elsewhere = Place("console", "elsewhere", "console")
    assert added == "@eve is admin in this room now."
    assert await roles(bench, EVE, elsewhere) == set()
    assert "They are not on the list." in refused
    assert "You are an admin of this room alone." in bench.last()
    assert await bench.store.holds.standing() == ()


async def test_saying_it_twice_changes_nothing_and_says_so(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    await bench.say("/goal allow add @ben")

    assert bench.last() == "@ben was user in all rooms already."
    assert len(bench.allow_list.register.entries) == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/goal allow @ben boss", "`boss` is no role. Roles are: user, approver, admin"),
        ("/goal allow remove @ben", "They are not on the list."),
    ],
)
async def test_what_cannot_be_is_refused_with_the_mend(bench: Bench, said: str, told: str) -> None:
    await bench.say(said)

    assert told in bench.last()
    assert bench.allow_list.register.entries == ()


async def test_an_objective_that_begins_like_a_verb_is_an_objective(bench: Bench) -> None:
    for text in ("allow users to log in", "room service for the flat", "owner is ann", "why not"):
        thread = await bench.say(f"/goal {text}")

        texts = await bench.store.journal.contents(
            (await bench.goal(thread)).session, [(await bench.goal(thread)).objective]
        )
        assert [*texts.values()] == [text]


async def test_the_last_admin_is_not_removed_and_the_mend_is_told(bench: Bench) -> None:
    await bench.say("/goal allow @ben admin")

    await bench.say("/goal allow remove @ben")

    assert "the last admin on the list" in bench.last()
    assert await roles(bench) == {"admin"}


@pytest.mark.parametrize(
    ("subject", "who", "is_one"),
    [
        (Subject("room", "console", "console"), BEN, True),
        (Subject("server", "matrix", "example.org"), Speaker("@b:example.org", "b"), True),
        (Subject("server", "matrix", "example.org"), Speaker("@b:evil.example.org", "b"), False),
        (
            Subject("server", "matrix", "example.org:8448"),
            Speaker("@b:example.org:8448", "b"),
            True,
        ),
        (Subject("server", "matrix", ""), Speaker("example.org", "b"), False),
        (Subject("group", "slack", "S1"), Speaker("U1", "b"), False),
        (Subject("person", "slack", "ben"), BEN, False),
    ],
)
async def test_an_entry_of_many_is_for_those_who_belong(
    bench: Bench, subject: Subject, who: Speaker, is_one: bool
) -> None:
    await bench.allow_list.allow(Entry(subject, "user"))

    networks = {"room": "console", "server": "matrix", "group": "slack", "person": "console"}
    place = Place(networks[subject.kind], "", "console")  # type: ignore[arg-type]
    assert (await roles(bench, who, place) == {"user"}) == is_one


async def test_who_has_gone_may_nothing_whatever_the_list_says(bench: Bench) -> None:
    await bench.say("/goal allow @ben admin")

    await bench.allow_list.gone(room(), BEN)
    gone = await roles(bench)
    await bench.allow_list.gone(room(), BEN, is_gone=False)

    assert gone == set()
    assert await roles(bench) == {"admin"}


async def test_what_another_process_changes_counts_once_it_is_read(bench: Bench) -> None:
    await bench.store.people.allow(Entry(Subject("person", "console", "ben"), "user"))
    before = await roles(bench)

    is_new = await bench.allow_list.load()

    assert before == set()
    assert is_new
    assert not await bench.allow_list.load()
    assert await roles(bench) == {"user"}


# Strangers.


async def test_a_stranger_who_speaks_to_nobody_is_not_spoken_to(bench: Bench) -> None:
    await bench.say("the tide is high", speaker=EVE)

    assert bench.answers() == []
    assert await bench.store.inbox.waiting() == ()


async def test_a_stranger_is_told_again_after_a_day(bench: Bench) -> None:
    for text in ("/goal do it", "hello", "/goal \0", "/goal room budgt 5", "/goal allow @eve boss"):
        await bench.say(text, speaker=EVE)
    once = len(bench.answers())
    bench.clock.move(DAY_S + 1)

    await bench.say("/goal do it", speaker=EVE)

    assert once == 1
    assert len(bench.answers()) == 2


async def test_a_stranger_in_a_thread_neither_steers_nor_is_heard(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())

    for text in ("delete everything", "stop", "cancel yes", "accept"):
        await bench.say(text, thread, EVE)

    assert (await bench.goal(thread)).state is State.WORKING
    assert (await bench.goal(thread)).messages == 0


async def test_asking_for_access_posts_one_card_to_the_admins(bench: Bench) -> None:
    await bench.say("/goal allow @dora admin")
    before = len(bench.answers())

    for _ in range(3):
        await bench.say("/goal access", speaker=EVE)

    told = bench.answers()[before:]
    assert len(told) == 2
    assert "Asked. Whoever looks after this room decides." in told
    card = next(text for text in told if "asks for access" in text)
    assert card.startswith(
        "@ann @dora: eve asks for access. `/goal allow @eve` lets them start goals"
    )
    assert card.endswith("[Allow]")
    await bench.say("/goal allow @eve")
    assert await roles(bench, EVE) == {"user"}


# Claims.


async def code_of(bench: Bench) -> str:
    code = claims.new_code()
    await bench.store.doors.open_claim(claims.code_hash(code), lasts_s=claims.LASTS_S)
    return code


async def test_a_code_may_be_typed_in_small_letters_and_with_blanks(bench: Bench) -> None:
    code = await code_of(bench)

    await bench.say(f"claim {code.lower().replace('-', ' ')}", speaker=BEN)

    assert "is the admin now" in bench.last()


@pytest.mark.parametrize("said", ["claim {}", "/goal claim {}", "Claim  {}"])
async def test_a_code_makes_its_sender_the_admin(bench: Bench, said: str) -> None:
    code = await code_of(bench)

    await bench.say(said.format(code.lower().replace("-", "")), speaker=BEN)

    assert bench.last().startswith("ben is the admin now.")
    assert await roles(bench) == {"admin"}


async def test_a_code_counts_once(bench: Bench) -> None:
    code = await code_of(bench)
    await bench.say(f"claim {code}", speaker=BEN)

    await bench.say(f"claim {code}", speaker=EVE)

    assert bench.last() == "That code was used already. Ask an admin: `/goal access`."
    assert await roles(bench, EVE) == set()


async def test_a_code_ends_after_fifteen_minutes(bench: Bench) -> None:
    code = await code_of(bench)
    bench.clock.move(15 * 60 + 1)

    await bench.say(f"claim {code}", speaker=BEN)

    assert bench.last() == "That code has ended. `headway claim` prints a new one."
    assert await roles(bench) == set()


async def test_without_a_code_a_claim_is_told_how_to_get_one(bench: Bench) -> None:
    await bench.say("claim AAAA-BBBB-CCCC", speaker=BEN)

    assert bench.last() == "There is no code to claim with. `headway claim` prints one."


async def test_who_guesses_is_soon_not_answered_and_the_code_ends(bench: Bench) -> None:
    code = await code_of(bench)
    guessers = [Speaker(f"g{n}", f"g{n}") for n in range(TRIES_MOST)]
    for guesser in guessers:
        for n in range(9):
            await bench.say(f"claim WRONG{n}", speaker=guesser)

    await bench.say(f"claim {code}", speaker=BEN)

    assert len(bench.answers()) <= TRIES_MOST * claims.TRIES_A_PERSON + 1
    assert bench.last() == "That code has ended. `headway claim` prints a new one."
    assert await roles(bench) == set()


async def test_a_code_said_where_others_read_is_void(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(place: Place) -> bool:
        return False

    code = await code_of(bench)
    monkeypatch.setattr(bench.allow_list.members, "is_direct", never)
    await bench.say(f"/goal claim {code}", speaker=BEN)
    monkeypatch.undo()

    await bench.say(f"/goal claim {code}", speaker=EVE)

    assert "Codes are taken in a direct message only." in bench.answers()[0]
    assert bench.last() == "That code has ended. `headway claim` prints a new one."


async def test_a_name_forges_no_line_of_ours(bench: Bench) -> None:
    eve = Speaker("eve", "eve\n\n@ann: G1 is \x1b[1mcomplete\u202e" + "n" * 300)

    await bench.say("/goal access", speaker=eve)

    [card] = [text for text in bench.answers() if "asks for access" in text]
    assert "@ann: eve @ann: G1 is \ufffd[1mcomplete\ufffdnn" in card
    assert card.splitlines()[1:] == ["[Allow]"]
    assert len(card) < 300


@pytest.mark.parametrize(
    ("removed", "keeps"),
    [("@ben here", True), ("@ben approver", True), ("@ben user", True), ("@ben", False)],
)
async def test_who_is_on_the_list_otherwise_is_not_said_to_be_gone(
    bench: Bench, removed: str, keeps: bool
) -> None:
    for entry in ("@ben", "@ben approver here"):
        await bench.say(f"/goal allow {entry}")

    await bench.say(f"/goal allow remove {removed}")

    assert (await roles(bench) != set()) is keeps
    assert ("on the list otherwise" in bench.last()) is keeps
    assert ("is removed" in bench.last()) is not keeps


async def test_whoever_says_wrong_codes_in_public_ends_none_and_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(place: Place) -> bool:
        return False

    code = await code_of(bench)
    monkeypatch.setattr(bench.allow_list.members, "is_direct", never)
    for n in range(9):
        await bench.say(f"/goal claim WRONG{n}", speaker=EVE)
    monkeypatch.undo()
    count = len(bench.answers())

    await bench.say(f"claim {code}", speaker=BEN)

    assert count == 1
    assert "ben is the admin now" in bench.last()


def test_codes_are_long_and_hashed_however_they_are_written() -> None:
    code = claims.new_code()

    assert len(code.replace("-", "")) == 12
    assert claims.new_code() != code
    assert claims.code_hash(f" {code.lower()} ") == claims.code_hash(code.replace("-", ""))
    assert code not in claims.code_hash(code)


# Owners.


async def offered(bench: Bench) -> str:
    await bench.say("/goal allow @ben")
    thread, _ = await bench.start()
    await bench.say("owner @ben", thread)
    return thread


async def test_a_goal_is_offered_accepted_and_then_somebody_elses(bench: Bench) -> None:
    thread = await offered(bench)
    card = bench.last(thread)
    before = await bench.goal(thread)

    await bench.say("accept", thread, BEN)

    after = await bench.goal(thread)
    assert card.startswith("@ben: ann offers you G1. `accept` makes it yours")
    assert card.endswith("[Accept] [Decline]")
    assert (await bench.store.rooms.people([after.owner]))[after.owner].id == "ben"
    assert (before.state, after.state) == (State.READY, State.READY)
    assert bench.last(thread) == "G1 is ben's now, and charged to them from here on."
    assert await bench.store.doors.offered(after.id) is None


async def test_nobody_else_accepts_it(bench: Bench) -> None:
    thread = await offered(bench)
    await bench.say("/goal allow @eve")
    before = await bench.goal(thread)

    await bench.say("/goal accept G1", speaker=EVE)

    assert (await bench.goal(thread)).owner == before.owner
    assert bench.last() == "G1 is not offered to you. Its owner can: `owner @name`."


@pytest.mark.parametrize("who", [BEN, ANN])
async def test_it_is_declined_by_whom_it_is_offered_to_or_taken_back(
    bench: Bench, who: Speaker
) -> None:
    thread = await offered(bench)

    await bench.say("decline" if who is BEN else "/goal decline G1", thread, who)
    await bench.say("/goal accept G1", speaker=BEN)

    assert "G1 stays with its owner" in "".join(bench.answers(thread))
    assert "is not offered to you" in bench.last()


async def test_the_word_accept_is_speech_where_nothing_is_offered(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())

    await bench.say("accept", thread)
    await bench.say("why", thread)

    assert (await bench.goal(thread)).messages == 2


async def test_two_things_that_wait_for_one_word_are_told_apart(bench: Bench) -> None:
    thread = await offered(bench)
    await bench.say("/goal allow @ben approver")
    goal = await bench.goal(thread)
    asked = DecisionAsked("d1", "plan", content_hash("dig"), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["dig"])

    await bench.say("accept", thread, BEN)
    told = bench.last(thread)
    await bench.say("accept 1", thread, BEN)

    assert "Two things wait for that word here. `accept 1` answers decision 1" in told
    assert (await bench.goal(thread)).state is State.READY
    assert (await bench.goal(thread)).owner == goal.owner


async def test_a_goal_is_not_offered_to_who_may_have_none(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("owner @zoe", thread)
    stranger = bench.last(thread)
    await bench.say("/goal owner G1 room:console")

    assert "@zoe may have no goals here. `/goal allow @zoe` lets them" in stranger
    assert "Name one person" in bench.last()


async def test_an_offer_outlives_the_process(bench: Bench) -> None:
    thread = await offered(bench)

    bench.intake = Intake(bench.desk, bench.allow_list.of)
    await bench.say("accept", thread, BEN)

    owner = (await bench.goal(thread)).owner
    assert (await bench.store.rooms.people([owner]))[owner].id == "ben"


async def test_who_was_removed_meanwhile_does_not_get_it(bench: Bench) -> None:
    thread = await offered(bench)
    await bench.say("/goal allow remove @ben")
    await bench.say("/goal allow @ben approver")
    before = await bench.goal(thread)

    await bench.say("accept", thread, BEN)

    assert (await bench.goal(thread)).owner == before.owner
    assert "You may have no goals here." in bench.last(thread)


async def test_an_admin_takes_a_goal_over_without_asking(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a sonnet", speaker=BEN)

    await bench.say("owner me", thread)

    owner = (await bench.goal(thread)).owner
    assert (await bench.store.rooms.people([owner]))[owner].id == "ann"


# Departures.


async def test_the_goals_of_who_is_removed_rest_with_one_card(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    first = await bench.say("/goal write a haiku", speaker=BEN)
    second = await bench.say("/goal write a sonnet", speaker=BEN)
    mine, _ = await bench.start("mine")

    await bench.say("/goal allow remove @ben")
    bench.clock.move(6)
    await bench.deliver()

    for thread in (first, second):
        goal = await bench.goal(thread)
        assert (goal.state, goal.reason) == (State.PAUSED, "owner_lost:removed")
        assert "Its owner is no longer on the list." in bench.last(thread)
    assert (await bench.goal(mine)).state is State.READY
    cards = [text for text in bench.answers() if "no longer on the list" in text]
    assert len(cards) == 1
    assert "ben is no longer on the list. Their goals here are paused:" in cards[0]
    assert "- **G2** — write a sonnet" in cards[0]
    assert "- **G1** — write a haiku" in cards[0]


async def test_the_card_of_one_goal_has_what_can_be_done_under_it(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a haiku", speaker=BEN)

    await bench.allow_list.gone(room(), BEN)
    await bench.deliver()
    card = bench.last()
    await bench.say("/goal resume G1")
    refused = bench.last()
    await bench.say("/goal owner G1 me")
    await bench.say("/goal resume G1")

    assert "ben has left. Their goals here are paused:" in card
    assert card.endswith("[Take over] [Cancel] [Keep paused]")
    assert refused.startswith(
        "G1 has no owner who may have goals here. `owner G1 me` takes it over"
    )
    assert (await bench.goal(thread)).state is State.READY


async def test_who_may_only_approve_any_more_has_no_goal_that_goes_on(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    await bench.say("/goal allow @ben approver")
    thread = await bench.say("/goal write a haiku", speaker=BEN)

    await bench.say("/goal allow remove @ben user")

    assert (await bench.goal(thread)).reason == "owner_lost:removed"
    assert await roles(bench) == {"approver"}


async def test_who_was_let_in_by_another_process_a_moment_ago_keeps_their_goal(
    bench: Bench,
) -> None:
    before = bench.allow_list.register
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a haiku", speaker=BEN)
    bench.allow_list.take(before)

    is_lost = await bench.departures.lost(await bench.goal(thread))
    bench.allow_list.take(before)
    await bench.departures.look()

    assert not is_lost
    assert (await bench.goal(thread)).state is State.READY
    assert not [text for text in bench.answers() if "no longer on the list" in text]


async def test_a_process_that_died_after_the_card_says_nothing_twice(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    threads = [await bench.say(f"/goal number {n}", speaker=BEN) for n in (1, 2)]
    bench.allow_list.changed = _nothing
    await bench.say("/goal allow remove @ben")
    journal = Dies(bench.store.journal, after=1)
    dying = Departures(
        bench.allow_list, journal, bench.store.rooms, bench.store.doors, bench.manner  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(RuntimeError):
        await dying.look()
    between = {(await bench.goal(thread)).state for thread in threads}

    await bench.departures.look()
    await bench.departures.look()
    await bench.deliver()

    assert between == {State.PAUSED, State.READY}
    assert {(await bench.goal(thread)).state for thread in threads} == {State.PAUSED}
    assert len([text for text in bench.answers() if "no longer on the list" in text]) == 1


async def test_who_is_back_and_removed_again_is_told_of_again(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a haiku", speaker=BEN)
    for said in ("allow remove @ben", "allow @ben", "resume G1", "allow remove @ben"):
        await bench.say(f"/goal {said}")

    cards = [text for text in bench.answers() if "no longer on the list" in text]
    assert (await bench.goal(thread)).state is State.PAUSED
    assert len(cards) == 2


async def test_a_turn_of_a_lost_owner_does_not_begin(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a haiku", speaker=BEN)
    bench.allow_list.changed = _nothing
    await bench.allow_list.remove(Subject("person", "console", "ben"))
    goal = await bench.goal(thread)

    is_lost = await bench.departures.lost(goal)

    assert is_lost
    assert (await bench.goal(thread)).state is State.PAUSED
    assert not await bench.departures.lost((await bench.start("mine"))[1])


async def test_an_ordinary_turn_of_who_was_removed_is_dropped(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    await bench.say("/goal ask what is a tide?", speaker=BEN)
    ask = await bench.store.journal.goal(bench.woken[-1][0])
    bench.allow_list.changed = _nothing
    await bench.allow_list.remove(Subject("person", "console", "ben"))

    is_lost = await bench.departures.lost(ask)

    assert is_lost
    assert (await bench.store.journal.goal(ask.id)).state is State.CANCELLED


# Rooms.


async def test_the_settings_are_shown_with_who_set_them_and_when(bench: Bench) -> None:
    await bench.say("/goal room budget 5")
    set_line = bench.last()

    await bench.say("/goal room")
    shown = bench.last()
    await bench.say("/goal room zone")

    assert set_line == "This room's `budget_usd` is 5 now, set by ann."
    assert "- `budget_usd` **5** (set by ann, " in shown
    assert "- `goals` **on** (default): whether goals may be started" in shown
    assert bench.last().startswith("- `zone` **as the settings say** (default)")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("room budgte 5", "Did you mean `budget`?"),
        ("room gaols", "Did you mean `goals`?"),
        ("room budget five", "give dollars"),
        ("room budget 0", "give dollars"),
        ("room goals maybe", "give `on` or `off`"),
        ("room mention sometimes", "give goal, ask, always"),
        ("room zone Mars/Olympus", "give an IANA name"),
        ("room cap_live_goals 2.5", "give a whole number"),
    ],
)
async def test_what_a_setting_does_not_take_is_refused_with_what_it_does(
    bench: Bench, said: str, told: str
) -> None:
    await bench.say(f"/goal {said}")

    assert told in bench.last()
    assert bench.allow_list.register.rooms == {}


async def test_a_word_that_is_near_no_setting_is_speech(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("room nonsense", thread)

    assert (await bench.goal(thread)).messages == 1
    assert bench.allow_list.register.rooms == {}


async def test_a_setting_is_left_open_again(bench: Bench) -> None:
    await bench.say("/goal room budget 5")

    await bench.say("/goal room budget default")

    assert bench.last() == "This room's `budget_usd` is as the settings say now, set by ann."
    assert bench.allow_list.settings(room()).budget_usd is None


async def test_a_change_in_a_thread_is_told_in_the_room_too(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("room self_approve on", thread)

    assert (
        bench.last(thread) == bench.last() == ("This room's `self_approve` is on now, set by ann.")
    )


async def test_where_goals_are_off_none_starts_and_questions_go_on(bench: Bench) -> None:
    await bench.say("/goal room goals off")

    await bench.say("/goal write a haiku")
    refused = bench.last()
    await bench.say("/goal ask what is a tide?")

    assert "Goals are off in this room." in refused
    assert await bench.store.rooms.goals() == ()
    assert (await bench.store.journal.goal(bench.woken[-1][0])).kind == "ask"


async def test_a_new_goal_has_the_rooms_budget(bench: Bench) -> None:
    await bench.say("/goal room budget 0.5")

    _, goal = await bench.start()

    assert goal.budget.nano_usd == NANO // 2
    assert goal.budget.tokens == 2_000_000


async def test_times_are_shown_in_the_rooms_zone(bench: Bench) -> None:
    thread, _ = await bench.start()
    await bench.say("status", thread)
    berlin = bench.last(thread)

    await bench.say("/goal room zone Asia/Kolkata")
    await bench.say("status", thread)

    assert berlin != bench.last(thread)
    assert "· since" in bench.last(thread)


async def test_self_approve_lets_an_owner_approve(bench: Bench) -> None:
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a haiku", speaker=BEN)
    asked = DecisionAsked("d1", "approval", content_hash("rm x"), "t1")
    await bench.happens(await bench.goal(thread), TurnStarted(), asked, contents=["rm x"])
    await bench.say("approve", thread, BEN)
    before = await bench.goal(thread)

    await bench.say("/goal room self_approve on")
    await bench.say("approve", thread, BEN)

    assert before.state is State.DECIDING
    assert (await bench.goal(thread)).state is State.WORKING


# Mentions.


async def test_a_mention_starts_a_goal_or_asks_as_the_room_says(bench: Bench) -> None:
    await bench.say("@headway write a haiku about tides")
    started = await bench.store.journal.goal(bench.woken[-1][0])
    await bench.say("/goal room mention ask")

    await bench.say("@Headway: what is a tide?")
    asked = await bench.store.journal.goal(bench.woken[-1][0])
    await bench.say("/goal write a sonnet")

    assert (started.kind, asked.kind) == ("goal", "ask")
    assert (await bench.store.journal.goal(bench.woken[-1][0])).kind == "goal"


async def test_a_bare_mention_gets_one_helpful_line(bench: Bench) -> None:
    await bench.say("@headway")
    await bench.say("@headway hello")

    assert all("To start a goal" in text for text in bench.answers())
    assert await bench.store.rooms.goals() == ()


async def test_where_a_mention_is_always_needed_other_words_are_talk(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())
    await bench.say("/goal room mention always")

    await bench.say("use the word moon", thread)
    talk = await bench.goal(thread)
    await bench.say("@headway use the word moon", thread)
    steered = await bench.goal(thread)
    await bench.say("stop", thread)

    assert (talk.messages, steered.messages) == (0, 1)
    assert (await bench.goal(thread)).state is State.PAUSED


# Why.


@pytest.mark.parametrize(
    ("said", "who", "why"),
    [
        ("the tide is high", ANN, "It was said in the room and not to me."),
        ("// aside", ANN, "It begins with `//`, which keeps it out."),
        ("/goal do it now please, all of it", EVE, "eve is not on my list."),
        ("/goal write a haiku about tides", ANN, "It was taken."),
        ("/goal \0", ANN, "It could not be taken as it was; I said why below it."),
    ],
)
async def test_why_says_what_kept_a_message_out(
    bench: Bench, said: str, who: Speaker, why: str
) -> None:
    id = await bench.say(said, speaker=who)

    await bench.console.say(ANN, "why", "", reply_to=id)
    await bench.deliver()

    # What answers the message of a goal is said in the goal's thread.
    assert (bench.answers(id) or bench.answers())[-1].startswith(why)


async def test_why_by_itself_is_about_ones_last_message_there(bench: Bench) -> None:
    thread, _ = await bench.start()
    await bench.say("/goal why", thread)
    nothing = bench.last(thread)
    await bench.say("/goal room mention always")
    await bench.say("use the word moon", thread)

    await bench.say("/goal why", thread)

    assert nothing == "It was taken."
    assert bench.last(thread).startswith("This room wants me mentioned")


async def test_why_tells_of_a_right_that_is_missing(bench: Bench) -> None:
    await bench.say("/goal allow @ben approver")
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())
    id = await bench.say("use the word moon", thread, BEN)

    await bench.console.say(BEN, "why?", thread, reply_to=id)
    await bench.deliver()

    assert bench.last(thread).startswith("ben may see goals here and not start or steer any.")


async def _nothing() -> None:
    return


class Dies:
    """A journal that dies before a commit."""

    def __init__(self, inner: object, *, after: int) -> None:
        self._inner, self._left = inner, after

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def commit(self, unit: object) -> object:
        if not self._left:
            raise RuntimeError("killed")
        self._left -= 1
        return await self._inner.commit(unit)  # type: ignore[attr-defined]
