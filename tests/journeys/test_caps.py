"""Caps and queues in the real process: one post a room, nothing past the cap, each goal in its turn."""

import json
import signal
import time

import pytest

from tests.journeys.bot import Bot, Thread, headway, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = pytest.mark.process

Api = BlockingMessagesApi
PRICES = json.dumps(
    {name: {"input": 3, "output": 15} for name in ("claude-sonnet-5-5", "claude-haiku-5-5")}
)
CAPPED: dict[str, object] = {"prices": PRICES, "max_tokens": 1_000}
"""A call may cost some three cents."""


def caps_said(bot: Bot) -> list[str]:
    """The posts that a cap is reached, in the room."""
    return [post.text for post in bot.posts("") if post.key.startswith("cap:")]


def test_a_room_cap_of_five_cents_parks_two_goals_with_one_post_and_raising_it_lets_both_go_on(
    api: Api, begin: Begin
) -> None:
    bot = begin(api, **CAPPED)
    bot.say("/goal room cap_usd 0.05")
    bot.ask(do="settle")
    goals = [bot.goal(f"!script complete_after 6 # {n}") for n in range(2)]

    parked = [goal.until("waiting") for goal in goals]
    until(lambda: bool(caps_said(bot)), 10, bot.told)
    spent = sum(goal.goal().ledger.nano_usd for goal in goals)
    goals[0].say("hurry up")
    time.sleep(0.5)
    waits = goals[0].goal()

    assert {goal.reason for goal in parked} == {"cap:room"}
    assert len(caps_said(bot)) == 1
    assert "$0.05 for today" in caps_said(bot)[0]
    assert 0 < spent <= 50_000_000
    assert (waits.state, waits.has_unread) == ("waiting", True)
    bot.say("/goal room cap_usd 5")
    for goal in goals:
        goal.until("complete")
    assert len(caps_said(bot)) == 1


def test_the_fourth_goal_of_a_person_is_queued_says_so_and_starts_when_one_ends(
    api: Api, begin: Begin
) -> None:
    bot = begin(api, live_goals_person=3)
    live = [bot.goal(f"!script asks # {n}") for n in range(3)]
    for goal in live:
        goal.until("deciding")
    fourth = bot.goal("!script complete_after 2 # the fourth")

    queued = fourth.until("waiting")
    until(lambda: bool(shown(bot, fourth)), 10, bot.told)
    said = shown(bot, fourth)[-1]
    bot.say(f"/goal resume G{queued.number}")
    bot.say("cancel", live[0].id)
    bot.say("cancel yes", live[0].id)

    done = fourth.until("complete")
    assert queued.reason == "slot:person:3"
    assert said[0] == "Queued"
    assert "Queued: 3 of" in said[1]
    assert "It starts when one ends." in said[1]
    assert done.turn == 2
    answers = [post.text for post in bot.posts("") if post.kind == "reply"]
    assert any("waits in the queue" in answer for answer in answers)


def test_a_process_killed_while_a_cap_and_a_queue_hold_goals_holds_them_still(
    api: Api, begin: Begin
) -> None:
    bot = begin(api, cap_person_usd=0.05, live_goals_person=1, **CAPPED)
    capped = bot.goal("!script complete_after 6")
    capped.until("waiting")
    queued = bot.goal("!script complete_after 1")
    queued.until("waiting")
    bot.stop(signal.SIGKILL)

    same = begin(api, cap_person_usd=0.05, live_goals_person=1, **CAPPED)
    time.sleep(1.0)
    held = [Thread(same, goal.id).goal().state for goal in (capped, queued)]
    same.stop()
    raised = begin(api, cap_person_usd=5, live_goals_person=1, **CAPPED)

    assert held == ["waiting", "waiting"]
    for goal in (capped, queued):
        Thread(raised, goal.id).until("complete")
    rows = json.loads(headway("spend", "--by", "person", "--json", env=raised.env).stdout)
    ledgers = sum(goal.ledger.nano_usd for goal in raised.goals())
    assert rows[-1]["cost_usd"] == pytest.approx(ledgers / 1e9)


def test_spend_tells_it_by_goal_by_model_and_today(api: Api, begin: Begin) -> None:
    bot = begin(api, **CAPPED)
    goal = bot.goal("!script complete_after 2")
    goal.until("complete")

    bot.say("/goal spend")
    bot.say("spend", goal.id)
    bot.say("/goal spend model")
    bot.ask(do="settle")
    by_role = headway("spend", "--by", "role", "--since", "1d", env=bot.env)
    bad = headway("spend", "--since", "soon", env=bot.env)

    room = [post.text for post in bot.posts("") if post.kind == "reply"]
    assert "Spent today in this room:" in room[0]
    assert "**G1** $" in room[0]
    assert "Of today's caps: $" in room[0]
    assert "claude-haiku-5-5" in room[1]
    assert "Spent on G1:" in goal.posts()[-1].text
    assert "agent" in by_role.stdout
    assert bad.returncode == 2
    assert "Give a number and a unit" in bad.stderr


def shown(bot: Bot, thread: Thread) -> list[tuple[str, str]]:
    """The status messages of a thread: their word, and what they say is so now."""
    return [
        (post.shape["word"], post.shape.get("now", ""))
        for post in bot.posts(thread.id)
        if post.kind == "status"
    ]
