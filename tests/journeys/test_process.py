"""The process itself: stopped, started again, started twice, with a model that is slow or hangs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.journeys.bot import COMMAND, Bot, assert_sound, headway, until, until_called
from tests.journeys.conftest import Begin
from tests.peers.messages_api import ROOT, BlockingMessagesApi, started
from tests.peers.terminal import on_a_terminal

pytestmark = pytest.mark.process

Api = BlockingMessagesApi


def test_a_shutdown_in_the_middle_of_a_turn_lets_the_step_end_and_a_start_goes_on(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 0.6 2")
    until_called(api, goal)

    code, _ = bot.stop()
    left = goal.look()
    bot.start()
    goal.until("complete")

    assert code == 0
    assert left.goal.ledger.open == ()
    look = assert_sound(api, goal, "complete")
    assert look.goal.turn == 2


def test_a_shutdown_takes_at_most_ten_seconds_whatever_runs(begin: Begin, api: Api) -> None:
    bot = begin(api)
    slow = [bot.goal("!script slow 60"), bot.goal("!script sleeps 60")]
    until_called(api, slow[0])
    slow[1].until_true(lambda look: bool(look.events("ToolStarted")))

    code, took = bot.stop()

    assert code == 0
    assert took <= 10.0
    assert [event.reason for event in slow[0].look().events("CallLost")] == ["interrupted"]
    assert [event.outcome for event in slow[1].look().events("ToolEnded")] == ["interrupted"]
    assert all(thread.goal().state == "working" for thread in slow)


def test_a_shutdown_waits_for_no_endpoint(begin: Begin) -> None:
    with started() as api:
        api.fault({"status": 529}, count=None)
        bot = begin(api)
        goal = bot.goal("!script complete_after 1")
        until(lambda: api.totals(status=529)["calls"] >= 2, 30, bot.told)

        code, took = bot.stop()
        api.clear_faults()
        bot.start()
        goal.until("complete")

        assert code == 0
        assert took < 8, "the grace of a step that runs"
        assert_sound(api, goal, "complete")


def test_a_second_signal_ends_it_at_once_and_nothing_is_lost(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 1 2")
    until_called(api, goal)
    assert bot.process is not None

    bot.process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    code, took = bot.stop()
    bot.start()
    goal.until("complete")

    assert code == 130
    assert took < 8
    assert_sound(api, goal, "complete", lost=1)


def test_a_second_process_on_the_folder_is_refused_with_the_pid_of_the_first(
    bot: Bot, api: Api
) -> None:
    assert bot.process is not None

    second = headway("run", env=bot.env)

    assert second.returncode == 74
    assert f"pid {bot.process.pid}" in second.stderr
    assert "stop it, or give this one a state folder of its own" in second.stderr
    assert bot.ask(do="ping")["pid"] == bot.process.pid


def test_a_chat_beside_a_running_process_speaks_to_it(bot: Bot, api: Api) -> None:
    chat = headway("chat", "--until-settled", "!script complete_after 2", env=bot.env)

    assert chat.returncode == 0, chat.stderr
    assert chat.stdout.count("✅ Complete") == 1
    assert "Turn 2 of 2" in chat.stdout


def test_a_chat_in_a_pipe_asks_and_takes_the_answer(bot: Bot, api: Api) -> None:
    # The answer is handled while the input has ended already, and the goal goes on for a while.
    env, chat = bot.env, (*COMMAND, "chat", "--until-settled", "!script asks_slowly 0.5")
    with subprocess.Popen(
        chat, env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as talking:
        assert talking.stdin is not None
        assert talking.stdout is not None
        shown = ""
        while "Decision 1" not in shown:
            shown += talking.stdout.readline()
        talking.stdin.write("1\n")
        talking.stdin.close()
        shown += talking.stdout.read()

    assert talking.returncode == 0
    assert "the answer was yes" in shown
    assert shown.count("✅ Complete") == 1


def test_a_chat_in_a_pipe_whose_input_ends_says_that_a_person_is_needed(bot: Bot, api: Api) -> None:
    chat = headway("chat", "--until-settled", "!script asks", env=bot.env)

    assert chat.returncode == 6
    assert "waits for a person, and there is no more input" in chat.stderr


def test_a_chat_in_a_pipe_that_asks_ends_with_the_answer(bot: Bot) -> None:
    chat = headway("chat", "--until-settled", "ask how far is it? !script echo", env=bot.env)

    assert (chat.returncode, chat.stderr) == (0, "")
    assert "how far is it?" in chat.stdout


def test_a_model_that_hangs_holds_up_nobody_else_and_its_call_is_made_again(
    bot: Bot, api: Api
) -> None:
    api.fault({"kind": "hang"}, contains="the hung one")
    hung = bot.goal("the hung one !script complete_after 1")
    hung.until_true(lambda look: bool(look.events("CallStarted")))

    other = bot.goal("!script complete_after 2")
    other.until("complete")
    assert hung.goal().state == "working"
    api.ask("POST", "release")
    hung.until("complete")

    assert_sound(api, other, "complete")
    look = hung.look()
    assert hung.kinds() == ["complete"]
    assert len(look.events("CallLost")) == 1


@pytest.mark.parametrize("kind", ["cut_mid_stream", "reply_lost", "cut_before_headers"])
def test_a_reply_lost_in_flight_is_charged_marked_and_asked_for_again(
    bot: Bot, api: Api, kind: str
) -> None:
    api.fault({"kind": kind}, contains=f"lost by {kind}")
    goal = bot.goal(f"lost by {kind} !script complete_after 2")

    goal.until("complete")

    assert_sound(api, goal, "complete", lost=1)


def test_a_slow_model_is_waited_for(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow 1 1")

    goal.until("complete")

    assert_sound(api, goal, "complete")


def test_a_goal_that_takes_long_has_one_status_message_edited_in_place(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow 1 4")

    goal.until("complete", 30)

    assert_sound(api, goal, "complete")
    statuses = [post for post in bot.posts(goal.id) if post.kind == "status"]
    assert [post.is_edit for post in statuses][:2] == [False, True]
    assert sum(not post.is_edit for post in statuses) == 1
    assert statuses[-1].shape["state"] == "complete"


@pytest.mark.parametrize("seconds", [4000.0, -4000.0])
def test_a_clock_that_jumps_loses_no_goal(
    begin: Begin, api: Api, tmp_path: Path, seconds: float
) -> None:
    shift = tmp_path / "shift"
    shift.write_text("0")
    bot = begin(api, command=(sys.executable, "-m", "tests.journeys.shifted", str(shift)))
    works, waits = bot.goal("!script slow 0.5 3"), bot.goal("!script waits 3000")
    asks = bot.goal("!script asks")
    asks.until("deciding")
    waits.until("waiting")

    shift.write_text(str(seconds))
    works.until("complete")

    assert_sound(api, works, "complete")
    assert asks.goal().state == "deciding"
    if seconds > 0:
        waits.until("complete")
        assert_sound(api, waits, "complete")
    else:
        assert waits.goal().state == "waiting"
    asks.say("1")
    asks.until("complete")
    assert_sound(api, asks, "decision", "complete")


def test_two_chats_that_start_at_once_share_one_process(api: Api, begin: Begin) -> None:
    bot = begin(api)
    bot.stop()
    chats = [
        subprocess.Popen(
            [*COMMAND, "chat", "--until-settled", f"!script complete_after {turns}"],
            env=bot.env,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for turns in (2, 2)
    ]

    told = [chat.communicate(timeout=60) for chat in chats]

    # Who owned the folder may end, and let the other one's goal rest, before that is complete.
    codes = sorted(chat.returncode for chat in chats)
    assert codes in ([0, 0], [0, 1]), told
    assert all(b"Another process" not in error for _, error in told)
    if codes != [0, 0]:
        assert any(b"its goals rest" in error for _, error in told)


def test_a_chat_whose_process_ends_says_so_and_the_next_one_goes_on(api: Api, begin: Begin) -> None:
    bot = begin(api)
    goal = "!script slow 30 1"
    chat = subprocess.Popen(
        [*COMMAND, "chat", "--until-settled", goal],
        env=bot.env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: len(bot.goals()) == 1, 30, lambda: "no goal")

    assert bot.process is not None
    bot.process.kill()
    bot.process.wait(10)
    _, told = chat.communicate(timeout=30)

    assert b"its goals rest" in told
    assert chat.returncode == 1


def test_a_chat_on_a_terminal_ends_with_its_goal_though_nothing_is_typed(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    chat = [*COMMAND, "chat", "--until-settled", "!script complete_after 1"]

    code, screen = on_a_terminal(chat, bot.env, [], folder=ROOT)

    assert code == 0, screen
    assert "Complete" in screen
    assert "Fatal" not in screen
