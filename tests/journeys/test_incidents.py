"""The operations room on the real process: each incident once, one line when it is over, and threads
hear nothing of it."""

import json
import signal

import pytest

from tests.journeys.bot import Bot, Post, headway, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import started

pytestmark = pytest.mark.process

OPS = {"operations_room": "console:console"}


def test_a_refused_key_is_told_once_in_the_operations_room_and_once_when_it_is_over(
    begin: Begin,
) -> None:
    with started() as api:
        bot = begin(api, clock_rate=20, **OPS)
        api.keys(revoke=(api.key,))
        goals = [bot.goal("!script complete_after 1") for _ in range(3)]
        until(lambda: len(_incidents(bot)) == 1, 20, bot.told)

        for _ in range(3):
            bot.stop(signal.SIGKILL)
            bot.start()
        listed = json.loads(headway("incidents", "--json", env=bot.env).stdout)
        during = [goal.kinds() for goal in goals]
        api.keys(accept=(api.key,))
        for goal in goals:
            goal.until("complete", 40)
        until(lambda: len(_recoveries(bot)) == 1, 20, bot.told)
        over = json.loads(headway("incidents", "--json", env=bot.env).stdout)

        [told], [ended] = _incidents(bot), _recoveries(bot)
        assert (told.thread, ended.thread) == ("", "")
        assert "does not take our key (auth)" in told.text
        assert "takes our calls" in ended.text
        assert during == [[], [], []]
        assert [goal.kinds() for goal in goals] == [["complete"]] * 3
        assert [(one["kind"], one["is_open"]) for one in listed] == [("key", True)]
        assert [(one["kind"], one["is_open"]) for one in over] == [("key", False)]


def _incidents(bot: Bot) -> list[Post]:
    return [post for post in bot.posts() if post.key.startswith("incident:")]


def _recoveries(bot: Bot) -> list[Post]:
    return [post for post in bot.posts() if post.key.startswith("recovered:")]
