"""Files at the console in the real process: one given, read in the sandbox, and one shared back."""

from pathlib import Path

import pytest

from tests.journeys.bot import Bot, Thread, assert_sound, headway
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
BOATS = "boat,length\nânn,7\n".encode() + bytes(range(256)) * 10_000
"""2.5 MB, more than goes through the sandbox's wall at once."""


@pytest.fixture
def boats(tmp_path: Path) -> Path:
    path = tmp_path / "harbour boats.csv"
    path.write_bytes(BOATS)
    return path


def shown(goal: Thread) -> bytes:
    """What lies where the post of its file says."""
    post = goal.until_posted("file")
    return Path(post.shape["now"]).read_bytes()


def test_a_file_that_comes_with_the_goal_is_worked_at_and_given_back(
    bot: Bot, api: Api, boats: Path
) -> None:
    file = bot.ask(do="attach", path=str(boats))
    id = bot.ask(do="say", text="/goal !script returns", files=[file])["id"]
    goal = Thread(bot, str(id))

    goal.until("complete")

    look = assert_sound(api, goal, "file", "complete")
    assert shown(goal) == BOATS
    assert [event.file for event in look.events("FileShared")] == [file["hash"]]
    assert "Files: harbour boats.csv" in goal.posts()[-1].text


def test_a_file_that_steers_a_goal_is_there_for_its_next_turn(
    bot: Bot, api: Api, boats: Path
) -> None:
    goal = bot.goal("!script returns")
    goal.until("complete")
    file = bot.ask(do="attach", path=str(boats))
    goal.say("reopen the file is still missing")
    bot.ask(do="say", text="here it is", thread=goal.id, files=[file])

    goal.until_posted("file")
    goal.until("complete")

    assert shown(goal) == BOATS


def test_files_go_with_a_chat_that_ends_when_the_goal_has(
    begin: Begin, api: Api, boats: Path
) -> None:
    bot = begin(api)

    done = headway("chat", "!script returns", "--file", str(boats), "--until-settled", env=bot.env)

    assert done.returncode == 0, done.stderr
    assert "📎 harbour boats.csv · G1 · 2.6 MB" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if "/console/files/" in line]
    assert Path(line.strip()).read_bytes() == BOATS


def test_a_file_that_cannot_be_taken_is_refused_before_anything_starts(
    begin: Begin, api: Api, boats: Path
) -> None:
    bot = begin(api, file_most_mb=1)

    large = headway("chat", "!script returns", "--file", str(boats), env=bot.env)
    none = headway("chat", "!script returns", "--file", f"{boats}.none", env=bot.env)

    assert (large.returncode, none.returncode) == (2, 2)
    assert "larger than 1.0 MB" in large.stderr
    assert "Check the path" in none.stderr
    assert bot.goals() == []


def test_after_a_kill_a_file_that_was_given_is_there_and_given_back_once(
    begin: Begin, api: Api, boats: Path
) -> None:
    bot = begin(api)
    file = bot.ask(do="attach", path=str(boats))
    goal = Thread(bot, str(bot.ask(do="say", text="/goal !script returns", files=[file])["id"]))
    goal.until_true(lambda look: bool(look.events("TurnStarted")))
    bot.end()

    bot.start()
    goal.until("complete")

    assert goal.kinds() == ["file", "complete"]
    assert shown(goal) == BOATS
