"""A goal from its objective to each of its ends, in the real process over real HTTP."""

import getpass
import json

import pytest

from tests.journeys.bot import Bot, assert_sound, headway
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = pytest.mark.process

Api = BlockingMessagesApi


def test_an_objective_is_worked_at_for_five_turns_and_completed(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script complete_after 5")

    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert (done.turn, done.continuations) == (5, 4)
    assert [event.verdict for event in look.events("Audited")] == ["continue"] * 4 + ["complete"]
    assert "Turn 5 of 5" in goal.posts()[0].text


def test_show_says_what_the_journal_and_the_server_know(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script complete_after 2")
    done = goal.until("complete")

    shown = json.loads(headway("show", f"G{done.number}", "--json", env=bot.env).stdout)

    served = api.totals(user=done.id)
    assert (shown["state"], shown["turns"], shown["calls"]) == ("complete", 2, served["served"])
    assert shown["tokens"] == sum(served["tokens"].values())
    assert sum(bill["output"] for bill in shown["spend"]) == served["tokens"]["output"]


def test_a_goal_done_in_its_first_turn_posts_its_answer_and_nothing_else(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("Say it. !script echo")

    done = goal.until("complete")

    assert done.turn == 1
    assert_sound(api, goal, "complete")
    assert [post.kind for post in bot.posts(goal.id)] == ["complete"]


def test_three_blocked_audits_in_a_row_block(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script blocked")

    ended = goal.until("blocked")

    look = assert_sound(api, goal, "blocked")
    assert (ended.reason, ended.turn) == ("audits", 3)
    assert [event.verdict for event in look.events("Audited")] == ["blocked"] * 3
    assert "The access that it needs is missing. (3 audits in a row)" in goal.posts()[0].text


@pytest.mark.parametrize(
    ("kind", "failure", "said"),
    [
        ("refusal", "refusal", "declined twice in a row"),
        ("unreadable", "unreadable", "two unreadable answers in a row"),
        ("silent", "unreadable", "two unreadable answers in a row"),
        ("hangs", "timeout", "no answer in time"),
        ("400", "invalid_request", "invalid request"),
    ],
)
def test_two_failed_audits_in_a_row_block_and_name_their_class(
    bot: Bot, api: Api, kind: str, failure: str, said: str
) -> None:
    goal = bot.goal(f"!script audit_fails {kind}")

    ended = goal.until("blocked")

    look = assert_sound(api, goal, "blocked", lost=2 if kind == "hangs" else 0)
    assert (ended.reason, ended.turn) == (f"audit:{failure}", 2)
    assert [event.failure for event in look.events("AuditFailed")] == [failure] * 2
    assert said in goal.posts()[0].text


def test_one_failed_audit_is_tolerated(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script audit_fails_once refusal")

    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert "unaudited" in look.rules()
    assert done.audit_failures == 0


@pytest.mark.parametrize(
    ("script", "reason", "said"),
    [
        ("stalls", "stall:same_reply", "the same reply three times in a row"),
        ("idles", "stall:no_tool", "looked at nothing and changed nothing"),
    ],
)
def test_a_stall_blocks_and_says_which(
    bot: Bot, api: Api, script: str, reason: str, said: str
) -> None:
    goal = bot.goal(f"!script {script}")

    ended = goal.until("blocked")

    assert_sound(api, goal, "blocked")
    assert ended.reason == reason
    assert said in goal.posts()[0].text


def test_the_cap_of_continuations_blocks_and_resume_gives_a_fresh_allowance(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script complete_after 9")
    capped = goal.until("blocked")
    assert (capped.reason, capped.turn, capped.continuations) == ("continuations", 7, 6)
    assert_sound(api, goal, "blocked")

    goal.say("resume")
    done = goal.until("complete")

    assert_sound(api, goal, "blocked", "reply", "complete")
    assert done.turn == 9


def test_progress_raises_the_cap(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script writes 20")

    capped = goal.until("blocked")

    assert_sound(api, goal, "blocked")
    assert (capped.reason, capped.turn, capped.continuations) == ("continuations", 10, 9)


def test_a_crossed_budget_is_wrapped_up_once_and_raised_it_goes_on(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script spends 90000 5")
    over = goal.until("over_budget")
    look = assert_sound(api, goal, "over_budget")
    assert over.turn == 4, "three turns and the wrap-up"
    wrap_ups = [event for event in look.events("CallStarted") if event.role == "wrap_up"]
    assert look.rules().count("wrap_up_ended") == 1
    assert 1 <= len(wrap_ups) <= 3

    goal.say("resume")
    goal.until_posted("reply")
    assert goal.goal().state == "over_budget"
    goal.say("budget 1M tokens and resume")
    done = goal.until("complete")

    look = assert_sound(api, goal, "over_budget", "reply", "reply", "complete")
    assert look.rules().count("wrap_up_ended") == 1
    assert done.budget.tokens == 1_000_000


def test_a_wait_for_a_time_parks_the_goal_and_wakes_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 1.5")
    goal.until("waiting")
    calls = api.totals(user=goal.goal().id)["calls"]

    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert look.rules().count("wait_fired") == 1
    assert calls == 2
    assert done.turn == 2


def test_a_wait_for_a_probe_wakes_when_the_command_succeeds(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600 probe ls${IFS}drafts/flag")
    waiting = goal.until("waiting")
    goal.until_true(lambda look: "wait_checked" in look.rules())
    assert api.totals(user=waiting.id)["calls"] == 2

    (bot.state_dir / "workspaces" / waiting.session / "drafts" / "flag").touch()
    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert look.events("WaitFired")[0].why == "came"


def test_a_wait_for_a_message_wakes_by_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600 message reply")
    goal.until("waiting")

    goal.say("here it is")
    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert "wait_fired" in look.rules()


def test_an_audit_may_park_the_goal(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits_by_audit 1")

    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert "audit_waits" in look.rules()
    assert done.turn == 2


@pytest.mark.parametrize(
    ("said", "answer", "acted"),
    [("1", "yes", "yes"), ("no", "no", "no"), ("do not", "do not", "no")],
)
def test_a_question_is_answered_by_number_by_option_and_in_words(
    bot: Bot, api: Api, said: str, answer: str, acted: str
) -> None:
    goal = bot.goal("!script asks")
    goal.until("deciding")
    card = goal.until_posted("decision")
    assert card.shape["options"] == ["yes", "no"]

    goal.say(said)
    goal.until("complete")

    look = assert_sound(api, goal, "decision", "complete")
    assert f"the answer was {acted}" in goal.posts()[-1].text
    assert [row.state for row in look.trace.decisions] == ["answered"]
    edits = [post for post in bot.posts(goal.id) if post.kind == "card"]
    assert [edit.shape["now"] for edit in edits] == [f"→ {answer}"]


def test_a_sign_off_asked_by_the_audit_is_given_by_its_exact_word(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks_by_audit sign_off")
    goal.until("deciding")

    goal.say("accept")
    goal.until_true(lambda look: "signed_off" in look.rules())

    assert goal.kinds()[0] == "decision"


def test_a_question_asked_by_the_audit_opens_the_next_turn(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks_by_audit question")
    goal.until("deciding")

    goal.say("yes, like this")
    done = goal.until("complete")

    assert_sound(api, goal, "decision", "complete")
    assert done.turn == 2


@pytest.mark.parametrize("script", ["thinks", "pauses", "cut", "compacts 1", "many 5"])
def test_every_way_a_reply_can_stop_is_gone_on_from(bot: Bot, api: Api, script: str) -> None:
    goal = bot.goal(f"!script {script}")

    goal.until("complete", 30)

    assert_sound(api, goal, "complete")


def test_a_reply_that_never_fits_is_made_room_for_and_in_the_end_a_stall(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script overflows")

    ended = goal.until("blocked", 30)

    assert_sound(api, goal, "blocked")
    assert ended.reason == "stall:same_reply"


def test_a_refusal_blocks_with_the_true_cause(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script refuses")

    ended = goal.until("blocked")

    assert_sound(api, goal, "blocked")
    assert ended.reason == "failed:refusal"
    assert "the model declined to do this" in goal.posts()[0].text


def test_an_invalid_request_blocks_with_the_true_cause(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script invalid")

    ended = goal.until("blocked")

    assert_sound(api, goal, "blocked")
    assert ended.reason == "failed:invalid_request"
    assert "refused the request as invalid" in goal.posts()[0].text


def test_a_question_is_reminded_of_once_and_its_expiry_blocks(begin: Begin, api: Api) -> None:
    bot = begin(
        api,
        clock_rate=600,
        lease_s=6000,
        renew_s=2000,
        budget_hours=100,
        limits__question_expires_s=1800,
    )
    goal = bot.goal("!script asks")
    goal.until("deciding")

    ended = goal.until("blocked")

    look = assert_sound(api, goal, "decision", "reminder", "blocked")
    assert ended.reason == "no_answer"
    assert [row.state for row in look.trace.decisions] == ["expired"]
    assert f"no answer from {getpass.getuser()}" in goal.posts()[-1].text

    goal.say("yes")
    goal.until("complete")

    assert goal.kinds() == ["decision", "reminder", "blocked", "complete"]


def test_a_model_that_cannot_compact_is_compacted_by_us(begin: Begin, api: Api) -> None:
    bot = begin(api, model="claude-3-haiku-20240307", compact_at=20_000)
    goal = bot.goal("!script fills 25000")

    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert look.events("Compacted")
    assert [b for b in look.events("CallStarted") if b.role == "compaction"]
