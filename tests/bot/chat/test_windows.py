"""Windows: what a press opens, for whom, about which goal; what is wrong with a form, said in it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.windows import PersonalWindows
from bot.errors import Refused, Wait
from bot.goals.events import Audited, Cancelled, DecisionAsked, FileShared, TasksPlanned, TurnEnded
from bot.goals.goal import DecisionKind, Goal, State
from bot.goals.money import NANO
from bot.ports.chat import Attachment, Incoming, Place, Speaker
from bot.ports.journal import Content, Task, Unit, content_hash
from bot.ports.question import written
from bot.ports.windows import AIM, NEW, Window
from bot.redaction import Redactor
from tests.bot.chat.slack_net import ANN, BEN, EVE, SlackNet, channel
from tests.bot.chat.turns import began

OBJECTIVE = "write a haiku about tides"


class Bench:
    """A chat as Slack has it, and its windows."""

    def __init__(self, net: SlackNet, redactor: Redactor | None = None) -> None:
        self.net = net
        store = net.store
        self.windows = PersonalWindows(
            net.desk, store.records, attachments=store.attachments, redactor=redactor
        )

    def press(
        self, verb: str, under: str = "", who: Speaker = ANN, place: Place | None = None
    ) -> Incoming:
        at = place or self.net.chat.posts[under].place
        return Incoming(f"button:{verb}", at, who, verb, 1.0, under, via="button")

    async def window(self, verb: str, under: str = "", **more: Any) -> Window:
        pressed = self.press(verb, under, **more)
        assert self.windows.opens(pressed)
        return await self.windows.window(pressed)

    async def refused(self, verb: str, under: str = "", **more: Any) -> str:
        with pytest.raises(Refused) as refused:
            await self.window(verb, under, **more)
        return str(refused.value)

    def fill(self, window: Window, words: str = "", who: Speaker = ANN, **fields: str) -> Incoming:
        """The form as the network gives it."""
        form = (*fields.items(), *window.fixed, ("act", window.act or ""))
        place = window.place or channel("")
        return Incoming("form:V1", place, who, words, 2.0, window.of, via="form", form=form)

    async def submit(self, window: Window, words: str = "", **more: Any) -> dict[str, str]:
        """What is wrong with it; where nothing is, it is handled."""
        filled = self.fill(window, words, **more)
        wrong = dict(await self.windows.errors(filled))
        if not wrong:
            await self.net.take(filled)
        return wrong

    async def status(self) -> tuple[Goal, str]:
        """A goal of Ann's in a thread of its own, with its status message."""
        await self.net.command(f"/goal {OBJECTIVE}")
        goal = (await self.net.goals())[-1]
        goal = await self.net.happens(goal, *began(goal))
        return goal, self.net.post("status")

    async def done(self, reply: str) -> str:
        """A goal of Ann's that is complete; its post."""
        await self.net.command(f"/goal {OBJECTIVE}")
        goal = (await self.net.goals())[-1]
        await self.net.happens(
            goal,
            *began(goal),
            TurnEnded("done", content_hash(reply)),
            Audited(goal.revision, goal.turn + 1, goal.messages, "complete"),
            contents=[reply],
        )
        return self.net.headed("Complete")

    async def asked(self, kind: DecisionKind = "question", *options: str) -> tuple[Goal, str]:
        """A goal that waits for a person, with its card."""
        await self.net.command(f"/goal {OBJECTIVE}")
        goal = (await self.net.goals())[-1]
        text = written("Which tide?", options)
        ends = () if kind == "approval" else (TurnEnded("done"),)
        goal = await self.net.happens(
            goal, *began(goal), DecisionAsked("d", kind, content_hash(text), "t"), *ends,
            contents=[text],
        )  # fmt: skip
        return goal, self.net.post("decision")


@pytest.fixture
async def bench(slack: SlackNet) -> Bench:
    await slack.allow(ANN)
    await slack.allow(BEN)
    return Bench(slack)


# What opens a window.


@pytest.mark.parametrize(
    ("verb", "opens"),
    [
        ("", True),
        ("edit", True),
        ("edit G12", True),
        ("budget", True),
        ("budget G1", True),
        ("budget +2 and resume", False),
        ("trace", True),
        ("reopen G3", True),
        (NEW, True),
        (f"{AIM}\nfix the build", True),
        ("pause", False),
        ("1", False),
        ("edit the text", False),
        ("trace G12 now", False),
        ("newer", False),
    ],
)
def test_a_press_opens_a_window_by_its_verb_alone(verb: str, opens: bool) -> None:
    windows = Bench(SlackNet()).windows
    pressed = Incoming("button:1", channel(), ANN, verb, 1.0, via="button")

    assert windows.opens(pressed) is opens
    assert not windows.opens(replace(pressed, via="message"))
    assert not windows.opens(replace(pressed, via="command"))


@given(st.text(max_size=40))
def test_any_press_opens_a_window_or_does_not(text: str) -> None:
    windows = Bench(SlackNet()).windows

    assert windows.opens(Incoming("b", channel(), ANN, text, 1.0, via="button")) in (True, False)


# A new goal.


async def test_a_new_goal_is_asked_for_with_its_room_its_objective_and_its_budget(
    bench: Bench,
) -> None:
    window = await bench.window(NEW, place=channel(name=""))

    assert (window.title, window.act, window.submit) == ("New goal", "start", "Start")
    assert [(one.name, one.kind) for one in window.inputs] == [
        ("room", "place"),
        ("words", "words"),
        ("budget", "line"),
        ("plan_first", "tick"),
    ]
    assert "3,000 characters" in window.inputs[1].hint
    assert "$2.00" in window.inputs[2].hint
    assert window.inputs[2].is_optional


@pytest.mark.parametrize(("ticked", "planning"), [("on", True), ("", False)])
async def test_a_new_goal_begins_with_a_plan_where_the_box_is_ticked(
    bench: Bench, ticked: str, planning: bool
) -> None:
    window = replace(await bench.window(NEW, place=channel(name="")), place=channel())

    wrong = await bench.submit(window, OBJECTIVE, plan_first=ticked)

    assert wrong == {}
    assert [goal.planning for goal in await bench.net.goals()] == [planning]


async def test_a_new_goal_begins_in_the_room_that_was_chosen(bench: Bench) -> None:
    window = await bench.window(NEW, place=channel(name=""))
    chosen = replace(window, place=channel())

    wrong = await bench.submit(chosen, OBJECTIVE, budget="$5")

    assert wrong == {}
    [goal] = await bench.net.goals()
    assert (await bench.net.desk.allow_list.home(goal.session)).room == channel().room
    assert goal.budget.nano_usd == 5 * NANO


@pytest.mark.parametrize(
    ("words", "budget", "wrong"),
    [
        ("Fix it", "", {"words": "Nobody could tell when"}),
        ("   ", "", {"words": "An objective needs words"}),
        ("x\0y and more", "", {"words": "NUL"}),
        ("a b " * 800, "", {"words": "a form takes 3,000"}),
        (OBJECTIVE, "lots", {"budget": "That is no amount."}),
        (OBJECTIVE, "-3", {"budget": "cannot be negative"}),
        (OBJECTIVE, "0", {"budget": "at least"}),
        (OBJECTIVE, "99999999999", {"budget": "more than a budget can be"}),
        ("Fix it", "lots", {"words": "Nobody", "budget": "no amount"}),
    ],
)
async def test_what_is_wrong_with_a_new_goal_is_said_under_its_input(
    bench: Bench, words: str, budget: str, wrong: dict[str, str]
) -> None:
    window = replace(await bench.window(NEW, place=channel()), place=channel())

    told = await bench.submit(window, words, budget=budget)

    assert told.keys() == wrong.keys()
    assert all(part in told[name] for name, part in wrong.items())
    assert await bench.net.goals() == []


async def test_a_new_goal_needs_a_room_in_which_one_is_and_may(bench: Bench) -> None:
    window = await bench.window(NEW, place=channel(name=""))
    here = replace(window, place=channel())
    bench.net.members.outside.add((ANN.id, "C01GEN"))

    nowhere = await bench.submit(window, OBJECTIVE)
    outside = await bench.submit(here, OBJECTIVE)
    stranger = await bench.submit(here, OBJECTIVE, who=EVE)

    assert nowhere == {"room": "Choose a room: the goal gets a thread there."}
    assert "You are not in that room" in outside["room"]
    assert "people on my list" in stranger["room"]


async def test_where_goals_are_off_the_form_says_so(bench: Bench) -> None:
    await bench.net.allow(ANN, "admin")
    await bench.net.command("/goal room goals off")
    window = replace(await bench.window(NEW, place=channel()), place=channel())

    assert "Goals are off" in (await bench.submit(window, OBJECTIVE))["room"]
    assert "Goals are off" in await bench.refused(f"{AIM}\nx", under="", place=channel())


# Of a message.


async def test_a_message_is_made_a_goal_with_what_it_says(bench: Bench) -> None:
    said = await bench.net.say("we should write a haiku about tides")

    window = await bench.window(
        f"{AIM}\nwe should write a haiku about tides", said, place=channel()
    )
    wrong = await bench.submit(window, OBJECTIVE)

    assert window.inputs[0].value == "we should write a haiku about tides"
    assert wrong == {}
    [goal] = await bench.net.goals()
    assert await bench.net.objective(goal) == OBJECTIVE
    assert (await bench.net.desk.allow_list.home(goal.session)).thread == said


async def test_an_answer_of_ours_is_taken_whole_however_long_it_is(bench: Bench) -> None:
    answer = "Do this next: " + "measure the tides at noon. " * 400
    post = await bench.done(answer)

    window = await bench.window(f"{AIM}\nDo this next: …", post)
    wrong = await bench.submit(window)

    assert [one.name for one in window.inputs] == ["budget", "plan_first"]
    assert "10,814 characters" in window.sections[0].body
    assert wrong == {}
    assert await bench.net.objective((await bench.net.goals())[-1]) == answer.strip()


async def test_a_message_that_only_its_network_has_and_no_form_takes_is_told_how(
    bench: Bench,
) -> None:
    text = "tide " * 900

    said = await bench.refused(f"{AIM}\n{text}", "C01GEN:1600000000.000001", place=channel())

    assert "4,500 characters" in said
    assert "🎯" in said


async def test_a_message_that_has_its_goal_already_is_told_so_before_and_in_the_form(
    bench: Bench,
) -> None:
    said = await bench.net.say("we should write a haiku about tides")
    window = await bench.window(f"{AIM}\nwrite a haiku", said, place=channel())
    await bench.submit(window, OBJECTIVE)

    again = await bench.refused(f"{AIM}\nwrite a haiku", said, place=channel())
    wrong = await bench.submit(window, OBJECTIVE)

    assert again == "That message has its goal already: G1."
    assert wrong == {"words": again}
    assert len(await bench.net.goals()) == 1


async def test_a_message_without_words_is_made_no_goal(bench: Bench) -> None:
    said = await bench.refused(AIM, "C01GEN:1600000000.000001", place=channel())

    assert said.startswith("I cannot read what that message says.")


async def test_who_may_not_start_is_told_before_they_write(bench: Bench) -> None:
    said = await bench.refused(f"{AIM}\nx", "C01GEN:1600000000.000001", who=EVE, place=channel())

    assert said == "I take goals from people on my list."


# An edit.


async def test_an_edit_begins_with_what_the_objective_is(bench: Bench) -> None:
    goal, status = await bench.status()

    window = await bench.window("edit", status)
    wrong = await bench.submit(window, "write a sonnet about dunes")

    assert window.title == "Edit G1"
    assert window.inputs[0].value == OBJECTIVE
    assert window.fixed == (("goal", "G1"),)
    assert wrong == {}
    now = await bench.net.store.journal.goal(goal.id)
    assert await bench.net.objective(now) == "write a sonnet about dunes"


async def test_an_objective_that_no_form_takes_is_edited_by_a_message(bench: Bench) -> None:
    await bench.net.command("/goal " + "measure the tides at noon " * 200)
    [goal] = await bench.net.goals()
    place = await bench.net.desk.allow_list.home(goal.session)

    said = await bench.refused("edit G1", place=place)

    assert said.startswith("The objective of G1 has 5,19")
    assert "`edit <objective>`" in said


async def test_an_edit_of_a_goal_that_ended_meanwhile_keeps_what_was_written(
    bench: Bench,
) -> None:
    goal, status = await bench.status()
    window = await bench.window("edit", status)
    await bench.net.happens(goal, Cancelled(goal.owner))

    wrong = await bench.submit(window, "write a sonnet about dunes")
    again = await bench.refused("edit", status)

    assert wrong == {"words": "G1 was cancelled and does not change any more. Start a new goal."}
    assert again == wrong["words"]


async def test_who_may_not_edit_is_told_instead_and_in_the_form(bench: Bench) -> None:
    _, status = await bench.status()
    window = await bench.window("edit", status)

    said = await bench.refused("edit", status, who=BEN)
    wrong = await bench.submit(window, "write a sonnet", who=BEN)

    assert said == "You may not do that to G1: it takes its owner or an admin."
    assert wrong == {"words": said}


async def test_the_first_message_of_a_goals_thread_edits_it(bench: Bench) -> None:
    await bench.status()

    window = await bench.window("edit", bench.net.root())

    assert window.title == "Edit G1"
    assert window.inputs[0].value == OBJECTIVE


# A budget.


async def test_another_amount_is_set_and_the_goal_goes_on(bench: Bench) -> None:
    goal, _ = await bench.status()
    goal = await bench.net.store.journal.goal(goal.id)
    await bench.net.happens(goal, TurnEnded("done"))
    place = await bench.net.desk.allow_list.home(goal.session)

    window = await bench.window("budget G1", place=place)
    low = await bench.submit(window, budget="0.001")
    none = await bench.submit(window, budget="some")
    fine = await bench.submit(window, budget="$9")

    assert window.inputs[0].value == "+2"
    assert "at least" in low["budget"]
    assert none == {"budget": "That is no amount. Give for example $5, +2, 500k tokens or 3 h."}
    assert fine == {}
    assert (await bench.net.store.journal.goal(goal.id)).budget.nano_usd == 9 * NANO


# An answer in words.


async def test_a_question_is_answered_in_words(bench: Bench) -> None:
    goal, card = await bench.asked("question", "ebb", "flood")

    window = await bench.window("", card)
    wrong = await bench.submit(window, "The one at noon")

    assert window.title == "G1, decision 1"
    assert "Which tide?" in window.sections[0].body
    assert "2. flood" in window.sections[0].body
    assert window.fixed == (("goal", "G1"), ("decision", "1"))
    assert wrong == {}
    assert (await bench.net.store.journal.goal(goal.id)).decision is None


async def test_words_that_come_too_late_are_kept_in_the_form(bench: Bench) -> None:
    _, card = await bench.asked("question", "ebb", "flood")
    window = await bench.window("", card)
    await bench.net.press("1", card, BEN)

    wrong = await bench.submit(window, "The one at noon")
    said = await bench.refused("", card)

    assert wrong["words"].startswith("Too late: that decision is no longer open.")
    assert said == "Too late: that decision is no longer open."


async def test_words_do_not_answer_the_next_question(bench: Bench) -> None:
    goal, card = await bench.asked("question", "ebb", "flood")
    window = await bench.window("", card)
    await bench.net.press("1", card)
    goal = await bench.net.store.journal.goal(goal.id)
    text = written("Which moon?", ())
    await bench.net.happens(
        goal, *began(goal), DecisionAsked("e", "question", content_hash(text), "t"),
        TurnEnded("done"), contents=[text],
    )  # fmt: skip

    wrong = await bench.submit(window, "The one at noon")

    assert wrong["words"].startswith("Too late")
    now = await bench.net.store.journal.goal(goal.id)
    assert now.decision is not None
    assert not now.decision.answered


@pytest.mark.parametrize("words", ["", "  \n", "x\0"])
async def test_an_answer_needs_words(bench: Bench, words: str) -> None:
    _, card = await bench.asked()
    window = await bench.window("", card)

    assert (await bench.submit(window, words)).keys() == {"words"}


async def test_a_sign_off_is_not_given_in_words(bench: Bench) -> None:
    await bench.net.allow(ANN, "approver")
    goal, card = await bench.asked("sign_off")
    form = Window("", "answer", bench.net.chat.posts[card].place, card, fixed=(("goal", "G1"),))

    wrong = await bench.submit(form, "accept")

    assert "its button alone" in wrong["words"]
    assert (await bench.net.store.journal.goal(goal.id)).decision is not None
    with pytest.raises(Refused, match="its button alone"):
        await bench.window("", card)


async def test_a_call_is_denied_with_a_reason(bench: Bench) -> None:
    await bench.net.allow(ANN, "approver")
    goal, card = await bench.asked("approval")
    window = await bench.window("", card)

    wrong = await bench.submit(window, "that folder is not yours")

    now = await bench.net.store.journal.goal(goal.id)
    assert wrong == {}
    assert (window.title, window.submit) == ("Deny in G1", "Deny")
    assert now.state is State.WORKING
    assert bench.net.chat.posts[card].shape.now == "→ Denied: that folder is not yours"


async def test_who_may_not_approve_cannot_deny_either(bench: Bench) -> None:
    _, card = await bench.asked("approval")

    with pytest.raises(Refused, match="may not approve"):
        await bench.window("", card)


async def test_a_plan_is_sent_back_with_what_should_be_different(bench: Bench) -> None:
    goal, card = await bench.asked("plan")
    window = await bench.window("", card)

    wrong = await bench.submit(window, "leave the attic out")

    now = await bench.net.store.journal.goal(goal.id)
    assert wrong == {}
    assert window.title == "Change plan of G1"
    assert now.state is State.READY
    assert bench.net.chat.posts[card].shape.now == "→ To be changed: leave the attic out"


# What is missing.


async def test_a_goal_that_is_not_done_is_gone_on_with(bench: Bench) -> None:
    post = await bench.done("It is written.")

    window = await bench.window("reopen", post)
    wrong = await bench.submit(window, "It has no moon in it.")

    assert window.title == "Go on from G1"
    assert "$1.9" in window.inputs[0].hint
    assert wrong == {}
    assert "no moon" in await bench.net.objective((await bench.net.goals())[-1])


async def test_a_goal_that_lives_is_not_gone_on_with(bench: Bench) -> None:
    _, status = await bench.status()

    assert "has not ended" in await bench.refused("reopen", status)


async def test_files_stand_in_no_form_and_stay_with_the_objective(bench: Bench) -> None:
    file = Attachment("report.csv", "text/csv", 12, "a" * 64)
    said = Incoming("C01GEN:1700000009.000001", channel(), BEN, "sum it up", 1.0, files=(file,))
    await bench.net.take(said)

    aim = await bench.window(f"{AIM}\nsum it up", said.id, place=channel())
    assert [one.value for one in aim.inputs][:1] == ["sum it up"]
    assert await bench.submit(aim, "sum it up in French") == {}
    [goal] = await bench.net.goals()
    first = await bench.net.desk.objective(goal)
    edit = await bench.window("edit", said.id, place=channel(said.id))
    await bench.net.take(replace(bench.fill(edit, "sum it up in Greek"), id="form:V2"))

    last = await bench.net.desk.objective((await bench.net.goals())[0])
    assert [first.split("\n")[0], last.split("\n")[0]] == [
        "sum it up in French", "sum it up in Greek",
    ]  # fmt: skip
    assert first.count("report.csv") == last.count("report.csv") == 1


async def test_who_aims_at_the_first_message_of_a_thread_of_ours_means_its_objective(
    bench: Bench,
) -> None:
    await bench.net.command("/goal write a haiku about tides")

    window = await bench.window(f"{AIM}\n🎯 G1 for", bench.net.root(), place=channel())

    assert window.inputs[0].value == "write a haiku about tides"


# Details.


async def test_details_tell_what_a_goal_did_and_cost(bench: Bench) -> None:
    goal, status = await bench.status()
    plan = Content("plan")
    shared = Attachment("report.md", "text/markdown", 2_100, "a" * 64)
    unit = Unit(
        goal.id,
        (TasksPlanned(plan.hash, 1, 1, 1), FileShared(shared.hash)),
        (plan,),
        tasks=(Task("Reproduce", "done"), Task("Fix", "doing")),
        files=(shared,),
    )
    await bench.net.store.journal.commit(unit)

    window = await bench.window("trace", status)

    assert window.title == "Details of G1"
    assert not window.submit
    heads = [section.word for section in window.sections]
    assert heads == ["Working", "What it did", "Files", "Cost", "Last 4 of 4 steps"]
    assert window.sections[0].tasks == (("Reproduce", "done"), ("Fix", "doing"))
    assert "report.md (2.1 KB)" in window.sections[2].body
    assert "- agent: $0.01 · 1 call, 100 tokens" in window.sections[3].body
    steps = window.sections[4].body
    assert "Tasks planned: 1 1" in steps
    assert "_" not in steps
    assert "Call" not in steps


async def test_details_tell_of_decisions_and_who_answered(bench: Bench) -> None:
    _, card = await bench.asked("question", "ebb", "flood")
    open_ = await bench.window("trace", card)
    await bench.net.press("2", card, BEN)

    window = await bench.window("trace", card)

    assert "1 · Which tide? → open" in open_.sections[2].body
    assert "1 · Which tide? → flood, by ben" in window.sections[2].body


async def test_details_are_for_who_is_in_the_room(bench: Bench) -> None:
    _, status = await bench.status()
    bench.net.members.outside.add((BEN.id, "C01GEN"))

    assert await bench.refused("trace", status, who=BEN) == (
        "Only who is in the room can see its goals."
    )
    assert await bench.refused("trace", status, who=EVE) == "I take goals from people on my list."
    assert await bench.refused("edit", status, who=EVE) == "I take goals from people on my list."


async def test_details_of_a_goal_that_is_gone_are_a_sentence(bench: Bench) -> None:
    said = await bench.refused("trace G99", place=channel())

    assert said.startswith("That goal is gone")


async def test_no_known_secret_stands_in_a_window(slack: SlackNet) -> None:
    await slack.allow(ANN)
    bench = Bench(slack, Redactor({"API_KEY": "sk-very-secret-value"}))
    await slack.command("/goal use sk-very-secret-value for the tides")
    [goal] = await slack.goals()
    place = await slack.desk.allow_list.home(goal.session)

    window = await bench.window("edit G1", place=place)

    assert "sk-very-secret-value" not in str(window)


async def test_a_form_of_no_known_kind_is_told_so(bench: Bench) -> None:
    form = Incoming("form:1", channel(), ANN, "x", 1.0, via="form", form=(("act", "drop"),))

    assert await bench.windows.errors(form) == {
        "words": "There is no window for that. Use the commands: `/goal help`."
    }


# The settings of a room.


async def test_a_rooms_settings_are_changed_in_a_window(bench: Bench) -> None:
    await bench.net.allow(ANN, "admin")
    await bench.net.command("/goal room mention ask")
    await bench.net.command("/goal room")
    assert bench.net.buttons(bench.net.whisper()) == ["room"]

    window = await bench.window("room", bench.net.whisper())
    shown = {one.name: one.value for one in window.inputs}
    wrong = await bench.submit(window, **{**shown, "budget_usd": "lots", "zone": "Nowhere"})
    fine = await bench.submit(
        window, **{**shown, "budget_usd": "$5", "zone": "Europe/Berlin", "mention": "default"}
    )

    assert (shown["mention"], shown["goals"], shown["budget_usd"]) == ("ask", "default", "")
    assert "reactions" not in shown
    assert wrong.keys() == {"budget_usd", "zone"}
    assert fine == {}
    settings = bench.net.allow_list.settings(channel())
    assert (settings.budget_usd, settings.zone, settings.mention) == (5, "Europe/Berlin", "goal")
    assert bench.net.said_at(channel())[1:] == [
        "This room's `mention` is as the settings say now, set by Ann Lee.",
        "This room's `budget_usd` is 5 now, set by Ann Lee.",
        "This room's `zone` is Europe/Berlin now, set by Ann Lee.",
    ]


async def test_settings_that_stand_as_they_were_change_nothing(bench: Bench) -> None:
    await bench.net.allow(ANN, "admin")
    window = await bench.window("room", place=channel())

    await bench.submit(window, **{one.name: one.value for one in window.inputs})

    assert bench.net.whispered()[-1].startswith("Nothing is different")
    assert bench.net.allow_list.kept(channel()) == {}


async def test_a_form_takes_back_nothing_that_is_too_long_for_it(bench: Bench) -> None:
    await bench.net.allow(ANN, "admin")
    hosts = ",".join(f"api{n}.some-service.example.org" for n in range(50))
    longest = ",".join(f"{'a' * 60}.{'b' * 60}.host{n}.example.org" for n in range(50))
    for value in (hosts, longest):
        await bench.net.command(f"/goal room hosts {value}")
        window = await bench.window("room", place=channel())
        shown = {one.name: one.value for one in window.inputs}

        assert await bench.submit(window, **{**shown, "budget_usd": "$5"}) == {}

        assert ("hosts" in shown) is (value is hosts)
        assert bench.net.allow_list.settings(channel()).hosts == value


async def test_who_may_not_set_anything_sees_no_form_and_no_button(bench: Bench) -> None:
    await bench.net.command("/goal room")
    window = Window("", "room", channel())

    assert bench.net.buttons(bench.net.whisper()) == []
    assert "takes an admin" in await bench.refused("room", place=channel())
    assert "takes an admin" in (await bench.submit(window, goals="off"))["goals"]


async def test_settings_that_are_half_done_when_the_process_dies_are_done_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.net.allow(ANN, "admin")
    window = await bench.window("room", place=channel())
    form = bench.fill(window, budget_usd="5", cap_usd="9")
    allow_list, calls = bench.net.allow_list, []
    real = allow_list.set_for_room

    async def dies(place: Place, key: str, *rest: Any, **more: Any) -> None:
        calls.append(key)
        if calls == ["budget_usd", "cap_usd"]:
            raise Wait("It dies here.", retry_after_s=0.0)
        await real(place, key, *rest, **more)

    monkeypatch.setattr(allow_list, "set_for_room", dies)
    await bench.net.take(form)

    assert calls == ["budget_usd", "cap_usd", "cap_usd"]
    assert len(bench.net.said_at(channel())) == 2
